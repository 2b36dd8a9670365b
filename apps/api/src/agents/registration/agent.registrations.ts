import { A2A_PROTOCOL_VERSION, A2A_VERSION_HEADER, AGENT_CARD_PATH } from '@a2a-js/sdk';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { EndpointCheck } from '#rollcall/providers';
import {
  AgentsService,
  capabilityFault,
  type Joined,
  type JoinRequest,
  type LeasePolicy,
  normaliseCapability,
  type Registration,
} from '#rollcall/registry';
import { Authenticator } from '../../auth/credentials/authenticator.js';
import type { Principal } from '../../auth/principal.js';
import { StorageRate } from '../../limits/storage.rate.js';
import { schemaFailed, validationFailed } from '../../http/validation/validation.errors.js';
import { validated } from '../../http/validation/validation.pipe.js';
import { Effect } from '../../mutation/effect.js';
import { mayActForAll } from '../agent.credential.js';
import type { RegistrationView } from '../agent.view.js';
import { heartbeatPlan, LEASE_POLICY } from '../liveness/heartbeat.js';
import type { RegisterBody } from './registration.dto.js';
import { RemoteDocuments } from './remote.documents.js';

/** The headers of a request for a card. */
export const CARD_HEADERS = { [A2A_VERSION_HEADER]: A2A_PROTOCOL_VERSION };

/** Registers agents, for all protocols. Fields that a registration leaves out are taken from its A2A card (S3.2). */
@Injectable()
export class AgentRegistrations {
  constructor(
    private readonly agents: AgentsService,
    private readonly documents: RemoteDocuments,
    private readonly endpoints: EndpointCheck,
    private readonly authenticator: Authenticator,
    private readonly storage: StorageRate,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  /** Reads the card and checks the endpoint before the transaction, because both can be slow. The returned effect registers the agent. */
  async prepare(body: RegisterBody, caller: Principal): Promise<Effect<RegistrationView>> {
    const complete = await this.complete(body);
    return new Effect(async () => await this.join(complete, caller));
  }

  private async complete(body: RegisterBody): Promise<RegisterBody> {
    const { cardUrl } = body;
    if (cardUrl !== undefined) {
      body.agentCard = await this.fetchCard(cardUrl);
      if (body.work !== 'pull') body.endpoint ??= cardUrl; // calls to the agent read the card again
    }
    const complete = withCard(body);
    if (complete.endpoint) complete.endpoint = await this.endpoints.check(complete.endpoint);
    return complete;
  }

  /** `cardUrl` is the URL of a card, or of an agent with a card at the well-known path. */
  private async fetchCard(cardUrl: string): Promise<Record<string, unknown>> {
    const given = new URL(await this.endpoints.check(cardUrl));
    const { href: url } = given.pathname.endsWith('.json') ? given : new URL(AGENT_CARD_PATH, given);
    return await this.documents.read({ url, field: 'cardUrl', what: 'card', headers: CARD_HEADERS });
  }

  private async join(body: RegisterBody, caller: Principal): Promise<RegistrationView> {
    this.storage.take(caller, body, 0);
    const joined = await this.agents.register(toJoinRequest(body, caller));
    this.authenticator.cacheLease(joined.leaseToken, caller.namespace);
    return toRegistrationView(joined, this.lease);
  }
}

export function toRegistrationView({ record, leaseToken }: Joined, lease: LeasePolicy): RegistrationView {
  const heartbeat = heartbeatPlan(lease);
  return { agentId: record.agentId, generation: record.generation, leaseToken, heartbeat, agent: record };
}

export function toJoinRequest(body: RegisterBody, caller: Principal): JoinRequest {
  const { agentId = null, leaseToken = null, takeover } = body;
  const { namespace, owner: by } = caller;
  return {
    namespace,
    agentId,
    leaseToken,
    takeover,
    by,
    asOperator: mayActForAll(caller),
    mayUseReserved: caller.permissions.includes('definitions:write'),
    facts: toRegistration(body),
  };
}

const UNKNOWN_PROVIDER = { adapter: 'unknown', type: 'unknown', plan: null };

/** Every optional field gets its default here. */
function toRegistration(body: RegisterBody): Registration {
  const { provider, budget, costModel } = body;
  return {
    name: body.name,
    endpoint: body.endpoint ?? null,
    work: body.work ?? 'push',
    idempotent: body.idempotent ?? false,
    agentCard: body.agentCard ?? null,
    capabilities: body.capabilities.map((text) => text.trim()),
    sandboxLevel: body.sandboxLevel ?? 0,
    provider: provider
      ? { adapter: provider.adapter, type: provider.type, plan: provider.plan ?? null }
      : UNKNOWN_PROVIDER,
    budget: {
      totalTokens: budget?.totalTokens ?? null,
      usedTokens: budget?.usedTokens ?? 0,
      source: budget?.source ?? 'reported',
    },
    costModel: { usdPerTask: costModel?.usdPerTask ?? null, usdPer1kTokens: costModel?.usdPer1kTokens ?? null },
    capacity: body.capacity ?? null,
    declaredMs: body.declaredMs ?? null,
    typicalTokens: body.typicalTokens ?? null,
    version: body.version ?? null,
    definition: null,
    labels: body.labels ?? {},
  };
}

const ENDPOINT_OF_PULL = {
  field: 'endpoint',
  message: 'endpoint must be absent if work is pull, because such an agent takes its tasks and is never called',
};

/** Explicit fields take precedence over the card. If the body has a name and capabilities, the card is stored without validation. */
export function withCard(body: RegisterBody): RegisterBody {
  if (body.work === 'pull' && body.endpoint) throw validationFailed([ENDPOINT_OF_PULL]);
  const { agentCard } = body;
  const isComplete = body.name !== undefined && body.capabilities !== undefined;
  if (!agentCard || isComplete) return body;
  const { name, endpoint, version, capabilities } = factsOfCard(agentCard);
  body.name ??= name;
  if (body.work !== 'pull') body.endpoint ??= endpoint;
  body.version ??= version;
  body.capabilities ??= capabilities;
  return validated(body);
}

/** What a registration takes from an A2A card. */
interface CardFacts {
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
function factsOfCard(card: Readonly<Record<string, unknown>>): CardFacts {
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
  const capabilities = new Map<string, string>();
  for (const capability of skills.flatMap(({ id, tags }) => [id, ...tags])) {
    const key = normaliseCapability(capability);
    if (capabilityFault(capability) === undefined && !capabilities.has(key)) capabilities.set(key, capability);
  }
  if (capabilities.size > 0) return [...capabilities.values()].slice(0, MAX_CAPABILITIES);
  const message = 'agentCard.skills: no skill has an id or a tag that is a valid capability. Send capabilities';
  throw validationFailed([{ field: 'agentCard.skills', message }]);
}
