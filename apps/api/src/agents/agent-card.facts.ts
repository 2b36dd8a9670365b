import { z } from 'zod';
import { capabilityFault, normaliseCapability } from '#rollcall/registry';
import { schemaFailed } from '../http/schema.error.js';
import { validationFailed } from '../http/validation.error.js';

/** What a registration takes from an A2A card. */
export interface CardFacts {
  readonly name: string;
  readonly endpoint: string;
  readonly version: string;
  /** The ids and the tags of the skills. */
  readonly capabilities: string[];
}

const MAX_CAPABILITIES = 200;
const text = z.string().trim().min(1);
const Skill = z.looseObject({ id: text, name: text, description: text, tags: z.array(z.string()) });
const Common = { name: text, description: text, version: text, skills: z.array(Skill).min(1) };
const Interface = z.looseObject({ url: z.url({ protocol: /^https?$/ }), protocolBinding: text });
const CurrentCard = z.looseObject({ ...Common, supportedInterfaces: z.array(Interface).min(1) });
/** The card of version 0.3 has one URL. */
const LegacyCard = z.looseObject({ ...Common, url: z.url({ protocol: /^https?$/ }) });

/** Reads a card of A2A 1.0 or 0.3. Rejects an invalid card with all its faults. */
export function factsOfCard(card: Readonly<Record<string, unknown>>): CardFacts {
  const isLegacy = card['supportedInterfaces'] === undefined && card['url'] !== undefined;
  const read = (isLegacy ? LegacyCard : CurrentCard).safeParse(card);
  if (!read.success) throw schemaFailed(read.error, { prefix: 'agentCard' });
  const { name, version, skills, supportedInterfaces, url } = read.data as z.infer<typeof CurrentCard> & {
    url?: string;
  };
  const endpoint = url !== undefined && isLegacy ? url : (supportedInterfaces[0]?.url ?? '');
  return { name, version, endpoint, capabilities: capabilitiesOf(skills) };
}

/** A tag that cannot be a capability, such as one with a comma, is left out. */
function capabilitiesOf(skills: readonly z.infer<typeof Skill>[]): string[] {
  const claims = new Map<string, string>();
  for (const claim of skills.flatMap(({ id, tags }) => [id, ...tags])) {
    const key = normaliseCapability(claim);
    if (capabilityFault(claim) === undefined && !claims.has(key)) claims.set(key, claim);
  }
  if (claims.size > 0) return [...claims.values()].slice(0, MAX_CAPABILITIES);
  const message = 'agentCard.skills: no skill has an id or a tag that is a valid capability. Send capabilities';
  throw validationFailed([{ field: 'agentCard.skills', message }]);
}
