import type { Operation, Parameter, Schema } from './openapi.js';
import type { Random } from './random.js';
import { rawSlot, slot } from './slots.js';

/** A request as a structure, so that single parts can be changed before it is serialised. */
export interface Draft {
  method: string;
  segments: string[];
  query: [name: string, value: string][];
  headers: [name: string, value: string][];
  body?: unknown;
}

export const AGENTS = 8;
export const OTHERS = 4;
/** The names of definitions that exist, with a number at the end. */
export const DEFINITION_PREFIX = 'fuzz-definition-';
/** The definition that answers at once, and the one whose runs wait for the approval of a call. */
export const TALKER = 'fuzz-talker';
export const ASKER = 'fuzz-asker';
/** A conversation of a run that has ended. */
export const CONVERSATION = 'fuzz-talk';
/** A file in the workspace of each run. */
export const FILE = 'a.txt';
/** The number of the agent that takes its tasks. */
export const PULL_AGENT = AGENTS - 1;
/** The name of a skill in examples/skills. */
const SKILL = 'release-notes';
/** The MCP server of the fuzzer. */
export const MCP_SERVER = 'fake';

/** Valid values of fields by name. Values of other fields come from the schema. */
const FIELDS: Record<string, (random: Random) => unknown> = {
  agentId: (random) => slot('agent', random.below(AGENTS)),
  subject: (random) => random.pick([slot('agent', random.below(AGENTS)), `subject-${random.below(1e6)}`]),
  leaseToken: (random) => slot('lease', random.below(AGENTS)),
  generation: (random) => rawSlot('generation', random.below(AGENTS)),
  key: (random) => slot('reservation', random.below(OTHERS)),
  endpoint: () => 'https://127.0.0.1:5091/a2a',
  url: () => slot('receiver', 0),
  callId: (random) => slot('call', random.below(OTHERS)),
  inputHash: (random) => slot('inputHash', random.below(OTHERS)),
  hash: () => slot('pinHash', 0),
  definition: (random) => `${DEFINITION_PREFIX}${random.below(OTHERS)}`,
  runId: (random) => `run-${random.below(20)}`,
  parentRunId: (random) => `run-${random.below(20)}`,
  model: () => 'demo',
  adapter: (random) => random.pick(['copilot', 'openai']),
  path: () => FILE,
  waitMs: (random) => random.pick([0, 50]),
  expiresAt: () => '2040-01-01T00:00:00Z',
  after: (random) => random.pick(['oldest', 'latest', '1', '5', slot('sequence', 0)]),
  source: (random) => random.pick(['reported', 'ledger']),
};
/** All slots of agents in one request must refer to the same agent. A contract with this number has a bid of this agent. */
const SAME_AGENT = /\{\{(#?)(agent|lease|generation|contract):\d+\}\}/g;
/** All slots of runs in one request must refer to the same run. */
const SAME_RUN = /\{\{(#?)(run|call|inputHash|push):\d+\}\}/g;

/** The slot of a path parameter, by the path before it. */
const PATH_SLOTS: [pattern: RegExp, make: (random: Random) => string][] = [
  [/\/runtime\/agents\/$/, (random) => `${DEFINITION_PREFIX}${random.below(OTHERS)}`],
  [/^\/a2a\/.*\/tasks\/$/, () => slot('run', 0)],
  [/\/agents\/[^/]+\/tasks\/$/, () => slot('task', 0)],
  [/\/pushNotificationConfigs\/$/, () => slot('push', 0)],
  [/\/runs\/$/, () => slot('run', 0)],
  [/\/conversations\/$/, () => CONVERSATION],
  [/\/contracts\/$/, () => slot('contract', 0)],
  [/\/skills\/$/, () => SKILL],
  [/\/pins\/$/, () => MCP_SERVER],
  [/\/pins\/[^/]+\/$/, () => slot('pin', 0)],
  [/\/agents\/$/, (random) => slot('agent', random.below(AGENTS))],
  [/\/keys\/$/, (random) => slot('key', random.below(OTHERS))],
  [/\/reservations\/$/, (random) => slot('reservation', random.below(OTHERS))],
  [/\/budgets\/$/, (random) => slot('budget', random.below(OTHERS))],
  [/\/deliveries\/$/, () => slot('delivery', 0)],
  [/\/webhooks\/$/, (random) => slot('webhook', random.below(OTHERS))],
  [/\/namespaces\/$/, (random) => slot('namespace', random.below(OTHERS))],
  [/\/definitions\/$/, (random) => `${DEFINITION_PREFIX}${random.below(OTHERS)}`],
  [/\/revisions\/$/, () => '1'],
  [/\/sinks\/$/, (random) => slot('webhook', random.below(OTHERS))],
];

const AGENT = { agentId: slot('agent', 0), generation: rawSlot('generation', 0) };
const REPORT = { generation: rawSlot('generation', 0), text: 'Half of it is done.' };
/** Valid bodies of operations whose fields depend on each other. */
const BODIES: Record<string, unknown> = {
  'POST /v1/contracts/{id}/bids': { ...AGENT, price: 100, etaMs: 1_000, confidence: 0.9 },
  'POST /v1/contracts/{id}/confirm': AGENT,
  'POST /v1/agents/{id}/tasks/{callId}/progress': REPORT,
  'POST /v1/agents/{id}/tasks/{callId}/result': REPORT,
  'POST /v1/sessions/tickets/exchange': { ticket: slot('sessionTicket', 0) },
  'POST /v1/runs/{id}/approvals': { callId: slot('call', 0), inputHash: slot('inputHash', 0), approved: false },
};

/** The share of optional fields that a body has. */
const DEFAULT_SHARE = 0.4;

/**
 * Makes a request that is valid according to the OpenAPI document. With a share of 0, it has only what is required. `example` is the number of
 * a valid body of the operation, which replaces the generated body.
 */
export function validRequest(random: Random, operation: Operation, share = DEFAULT_SHARE, example?: number): Draft {
  const known = BODIES[operation.id];
  const bodies = known === undefined ? (operation.bodies ?? []) : [known];
  const draft: Draft = {
    method: operation.method,
    segments: pathOf(random, operation.path).split('/').slice(1),
    query: operation.query.flatMap((parameter) => queryPair(random, operation, parameter, share)),
    headers: [
      ...(operation.fixedHeaders ?? []),
      ...operation.headers.flatMap((parameter) => headerPair(random, parameter, share)),
    ],
  };
  if (operation.body && (operation.body.required?.length || random.chance(Math.max(0.8, share))))
    draft.body = valueFor(random, operation.body, '', share);
  if (bodies.length > 0 && (example !== undefined || !operation.body))
    draft.body = bodies[(example ?? random.below(bodies.length)) % bodies.length];
  return ofOneAgent(random, operation, draft);
}

/** The number of the contract whose winner is known, and of the one whose winner has confirmed. The others are open. */
export const AWARDED = 1;
export const CONFIRMED = 2;

/** The number of the task that gets no result. */
export const UNFINISHED = 1;

/** The number of the run whose call waits for a decision. Other operations do not use it, because they would end it. */
const UNDECIDED = OTHERS - 1;

/** The number of the contract for bids, and of the one that requests cancel. */
const OPEN = 0;
const CANCELLED = OTHERS - 1;
/** The agents that other operations must not change: a winner that registers again loses its award, and a worker its tasks. */
const KEPT = new Set([AWARDED, CONFIRMED, PULL_AGENT]);
const CHANGED = Array.from({ length: AGENTS }, (_, at) => at).filter((at) => !KEPT.has(at));

/** The number of the agent for an operation that needs an agent, or a contract, in a certain state. */
function agentFor(random: Random, path: string): number {
  if (path.includes('/tasks/')) return PULL_AGENT;
  if (path.endsWith('/confirm')) return AWARDED;
  if (path.endsWith('/outcome')) return CONFIRMED;
  if (path.endsWith('/bids')) return OPEN;
  if (path.includes('/contracts/')) return path.endsWith('/cancel') ? CANCELLED : random.below(OTHERS);
  return random.pick(CHANGED);
}

/** A draft whose slots refer to one agent and one run. */
function ofOneAgent(random: Random, { path }: Operation, draft: Draft): Draft {
  const agent = agentFor(random, path);
  const run = path.endsWith('/approvals') ? UNDECIDED : random.below(UNDECIDED);
  const numbered =
    (number: number) =>
    (_: string, raw: string, name: string): string =>
      `{{${raw}${name}:${number}}}`;
  const task = path.endsWith('/progress') ? UNFINISHED : 0;
  const text = JSON.stringify(draft)
    .replaceAll(slot('task', 0), slot('task', task))
    .replaceAll(SAME_AGENT, numbered(agent))
    .replaceAll(SAME_RUN, numbered(run));
  return JSON.parse(text) as Draft;
}

function pathOf(random: Random, path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, _name: string, at: number) => {
    const before = path.slice(0, at);
    const known = PATH_SLOTS.find(([pattern]) => pattern.test(before));
    return known ? known[1](random) : random.pick(['1', 'x', 'index.html', 'swagger-ui.css']);
  });
}

function queryPair(
  random: Random,
  operation: Operation,
  { name, required, schema }: Parameter,
  share: number,
): [string, string][] {
  if (!required && (share === 0 || random.chance(0.6))) return [];
  if (name === 'cursor') return [[name, slot('cursor', operation.path)]];
  const value = valueFor(random, schema ?? {}, name);
  const text = Array.isArray(value) ? value.join(',') : String(value);
  return [[name, text.startsWith('{{#') ? text.replace('#', '') : keepSlots(text)]];
}

/** Encodes a value for a URL, except for the slots in it. */
export function keepSlots(text: string): string {
  return encodeURIComponent(text).replaceAll('%7B%7B', '{{').replaceAll('%7D%7D', '}}').replaceAll('%3A', ':');
}

function headerPair(random: Random, { name, required, schema }: Parameter, share: number): [string, string][] {
  if (!required && (share === 0 || random.chance(0.7))) return [];
  if (/^idempotency-key$/i.test(name)) return [[name, `key-${random.below(1_000_000)}`]];
  return [[name, String(valueFor(random, schema ?? {}, name))]];
}

function valueFor(random: Random, schema: Schema, name: string, share = DEFAULT_SHARE): unknown {
  const known = FIELDS[name];
  if (known && schema.type !== 'array' && Object.hasOwn(FIELDS, name)) return known(random);
  if (schema.nullable && random.chance(0.1)) return null;
  if (schema.enum) return random.pick(schema.enum);
  if (schema.properties) return objectFor(random, schema, share);
  if (schema.example !== undefined && random.chance(0.7)) return schema.example;
  if (schema.oneOf) return valueFor(random, random.pick(schema.oneOf), name, share);
  if (schema.type === 'array') {
    const items = schema.items ?? {};
    return Array.from({ length: random.between(1, 3) }, () => valueFor(random, items, '', share));
  }
  return scalarFor(random, schema);
}

function objectFor(random: Random, { properties = {}, required = [] }: Schema, share: number): Record<string, unknown> {
  const wanted = Object.entries(properties).filter(([name]) => required.includes(name) || random.chance(share));
  return Object.fromEntries(wanted.map(([name, schema]) => [name, valueFor(random, schema, name, share)]));
}

function scalarFor(random: Random, { type, format, minimum = 0, maximum = 1_000, minLength = 1 }: Schema): unknown {
  if (type === 'boolean') return random.chance(0.5);
  if (type === 'number' || type === 'integer') {
    return random.pick([minimum, maximum, Math.min(maximum, minimum + 1), random.between(minimum, maximum)]);
  }
  if (format === 'date-time') return '2040-01-01T00:00:00Z';
  if (type === 'object') return { team: 'platform' };
  return 'text-'.repeat(Math.ceil(minLength / 5)) + String(random.below(100));
}
