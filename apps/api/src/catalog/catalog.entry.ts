import type { LabelledAgent, SearchableWords } from '#rollcall/registry';
import type { PublicUrl } from '../http/public.url.js';
import { SERVER_CARD_TYPE } from '../mcp/metadata.controller.js';
import { VERSION, versionOf } from '../version.js';
import type { CatalogNames } from './catalog.names.js';

export const A2A_CARD = 'application/a2a-agent-card+json';
export const REGISTRY = 'application/ai-registry+json';

/** The base URL of the registry of ARD. */
export const ARD_BASE = '/ard';
export const MCP_PATH = '/mcp';
export const OWN_NAME = 'rollcall';
const ABOUT = 'Registry and runtime for agents.';

const MAX_QUERIES = 5;
const MIN_QUERIES = 2;
const MAX_QUERY_LENGTH = 500;
const MAX_CAPABILITIES = 3;

/** Facts that only a live registry knows. The keys are terms in the namespace of Rollcall. */
type LiveFacts = Readonly<Record<string, string | number | boolean>>;

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
    version: versionOf(version),
    updatedAt: registeredAt,
    capabilities,
    tags: tagsOf(capabilities),
    representativeQueries: queriesFor(name, capabilities, examplesIn(agentCard)),
    live: liveFacts(record, routable),
  };
}

/** The entries of Rollcall itself: its registry of ARD, its A2A card and its MCP server. */
export function ownFacts(names: CatalogNames, urls: PublicUrl): EntryFacts[] {
  const common = { version: VERSION, capabilities: [], live: {} };
  return [
    {
      ...common,
      identifier: names.identifierOf('registry', OWN_NAME),
      displayName: 'Rollcall registry',
      type: REGISTRY,
      url: urls.of(ARD_BASE),
      description: `${ABOUT} This is its registry of ARD: search, list and read the public agents.`,
      tags: ['registry', 'discovery'],
      representativeQueries: ['Which agents are available here?', 'Find an agent for a task.'],
    },
    {
      ...common,
      identifier: names.identifierOf('a2a', OWN_NAME),
      displayName: 'Rollcall',
      type: A2A_CARD,
      url: urls.of('/.well-known/agent-card.json'),
      description: `${ABOUT} It sends an A2A message to the best agent with the required capabilities.`,
      tags: ['routing', 'agents'],
      representativeQueries: ['Send this task to the best agent.', 'Route a message by capability.'],
    },
    {
      ...common,
      identifier: names.identifierOf('mcp', OWN_NAME),
      displayName: 'Rollcall MCP server',
      type: SERVER_CARD_TYPE,
      url: urls.of(`${MCP_PATH}/server-card`),
      description: `${ABOUT} Its MCP tools find agents, run them and answer their questions.`,
      tags: ['mcp', 'agents'],
      representativeQueries: ['Run an agent from an MCP client.', 'Which MCP server gives me agents as tools?'],
    },
  ];
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

/** The examples of the skills in the agent card. The card is not validated, so it can contain any values. */
function examplesIn(card: Readonly<Record<string, unknown>> | null): string[] {
  const skills: unknown = card?.['skills'];
  if (!Array.isArray(skills)) return [];
  const examples = skills.flatMap((skill: unknown) => (skill as { examples?: unknown } | null)?.examples ?? []);
  return examples.filter(
    (one): one is string => typeof one === 'string' && one.trim() !== '' && one.length <= MAX_QUERY_LENGTH,
  );
}

/** Two to five questions that lead to the agent: the examples in its card, or questions made from its capabilities and its name. */
function queriesFor(name: string, capabilities: readonly string[], examples: readonly string[]): string[] {
  const given = [...new Set(examples)].slice(0, MAX_QUERIES);
  if (given.length >= MIN_QUERIES) return given;
  const derived = capabilities.slice(0, MAX_CAPABILITIES).map((one) => `Which agent can do ${one}?`);
  return [...given, ...derived, `Send a task to ${name}.`, `What can ${name} do?`].slice(0, MAX_QUERIES);
}
