import type { LabelledAgent, SearchableWords } from '#rollcall/registry';
import { examplesIn, queriesFor } from './representative.queries.js';

export const A2A_CARD = 'application/a2a-agent-card+json';
export const REGISTRY = 'application/ai-registry+json';

/** Facts that only a live registry knows. The keys are terms in the namespace of Rollcall. */
export type LiveFacts = Readonly<Record<string, string | number | boolean>>;

/** Something that a client can find: an agent of the registry, or Rollcall itself. All documents are views of entries. */
export interface CatalogEntry {
  readonly identifier: string;
  readonly displayName: string;
  /** The media type of the document at `url`. */
  readonly type: string;
  readonly url: string;
  readonly description: string;
  readonly version: string;
  /** When the agent registered. */
  readonly updatedAt?: string;
  readonly capabilities: readonly string[];
  readonly tags: readonly string[];
  readonly representativeQueries: readonly string[];
  readonly live: LiveFacts;
  readonly words: SearchableWords;
}

/** An entry without the fields that are computed from the others. */
export type EntryFacts = Omit<CatalogEntry, 'words'>;

/** An agent of the registry as an entry. Its endpoint, owner, budget and labels are not public. */
export function agentFacts(
  { record, routable }: LabelledAgent,
  { identifier, url, description }: Pick<EntryFacts, 'identifier' | 'url' | 'description'>,
): EntryFacts {
  const { name, capabilities, version, registeredAt, agentCard } = record;
  return {
    identifier,
    displayName: name,
    type: A2A_CARD,
    url,
    description,
    version: version ?? 'unversioned',
    updatedAt: registeredAt,
    capabilities,
    tags: tagsOf(capabilities),
    representativeQueries: queriesFor(name, capabilities, examplesIn(agentCard)),
    live: liveFacts(record, routable),
  };
}

function liveFacts(
  { namespace, status, health, load, costModel, latency }: LabelledAgent['record'],
  routable: boolean,
): LiveFacts {
  const facts = {
    namespace,
    routable,
    status,
    circuit: health.circuitBreakerState,
    load: load.ratio,
    usdPerTask: costModel.usdPerTask,
    usdPer1kTokens: costModel.usdPer1kTokens,
    latencyMs: latency.observedMs ?? latency.declaredMs,
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null)) as LiveFacts;
}

/** The levels of the capabilities: `code.build` has the tags `code` and `build`. */
function tagsOf(capabilities: readonly string[]): string[] {
  return [...new Set(capabilities.flatMap((capability) => capability.split('.')))].filter((tag) => tag !== '');
}
