import { randomBytes } from 'node:crypto';

export interface HostileRequest {
  /** The finding that the request reproduces. */
  finding: string;
  bytes: Buffer;
}

/** Keys of the namespace of the hostile clients. */
export interface HostileKeys {
  agent: string;
  caller: string;
  viewer: string;
  operator: string;
}

interface Request {
  method: string;
  path: string;
  /** Absent: the request has no credential. */
  bearer?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

const CAPABILITIES = 200;
const LEVELS = 16;
const UNKNOWN_FIELDS = 28_000;
const VARIANTS = 20;
/** Levels of a schema in which each level refers twice to the next one. */
const BRANCHING_LEVELS = 25;
/** Characters of an input that a run stores. */
const LARGE_INPUT = 65_000;
const A2A = { 'a2a-version': '1.0' };

/** The requests of all findings, serialised once. They have variants, so that no cached result is used. */
export function hostileRequests(host: string, keys: HostileKeys): HostileRequest[] {
  return [...edgeRequests(host, keys), ...floodRequests(host, keys)];
}

/** The definition that the runs of the hostile clients use, and the capability of their agents. */
export const CROWD = { definition: 'worker', capability: 'crowd', namespace: 'crowd' };

/** The floods of the findings S-2, S-3, S-4, S-5 and S-13. */
function floodRequests(host: string, keys: HostileKeys): HostileRequest[] {
  const make = (finding: string, request: Request): HostileRequest => ({ finding, bytes: serialise(host, request) });
  const get = (finding: string, path: string, bearer?: string): HostileRequest =>
    make(finding, { method: 'GET', path, bearer });
  const post = (finding: string, path: string, body: unknown, bearer?: string, headers = {}): HostileRequest =>
    make(finding, { method: 'POST', path, body, bearer, headers });
  const { caller, viewer, operator } = keys;
  const call = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params });
  return Array.from({ length: VARIANTS }, (_, variant): HostileRequest[] => [
    post('S-2', '/v1/definitions', { name: `branching-${variant}`, content: branchingDefinition(variant) }, operator),
    post('S-2', '/v1/definitions', { name: `pattern-${variant}`, content: patternDefinition(variant) }, operator),
    post('S-3', '/ard/search', { query: { text: `I need someone to translate a text into language ${variant}` } }),
    get('S-3', '/openapi.json'),
    get('S-3', '/.well-known/ai-catalog.json'),
    get('S-3', '/.well-known/agent-card.json'),
    get('S-3', `/v0.1/servers?limit=100&search=agent-${variant}`),
    get('S-4', '/v1/runs?limit=200', viewer),
    post('S-4', '/a2a', call('ListTasks', { pageSize: 100, includeArtifacts: true }), caller, A2A),
    post('S-5', '/v1/runs', { definition: CROWD.definition, input: 'Read the clock 4 times.' }, caller),
    post('S-13', '/v1/runs', { definition: CROWD.definition, input: 'x'.repeat(LARGE_INPUT) }, caller),
    post('S-13', '/v1/contracts', announcement(variant), caller),
    post('S-13', '/v1/definitions', { name: `many-${variant}`, content: changingDefinition() }, operator),
  ]).flat();
}

/** Each level refers twice to the next one, so the schema has 2^25 paths. */
function branchingDefinition(variant: number): object {
  const level = (depth: number): object => {
    const next = { $ref: `#/$defs/l${depth + 1}` };
    return depth === BRANCHING_LEVELS ? { const: variant } : { anyOf: [next, next] };
  };
  const levels = Array.from({ length: BRANCHING_LEVELS + 1 }, (_, depth) => [`l${depth}`, level(depth)]);
  return { description: 'Branches.', outputSchema: { $defs: Object.fromEntries(levels), $ref: '#/$defs/l0' } };
}

function patternDefinition(variant: number): object {
  const pattern = `^(${'(a+)+'.repeat(50)})${variant}$`;
  return {
    description: 'Matches.',
    outputSchema: { type: 'object', properties: { text: { type: 'string', pattern } } },
  };
}

/** Each registration of it is a new revision. */
function changingDefinition(): object {
  return { description: randomBytes(8).toString('hex'), instructions: 'x'.repeat(20_000) };
}

function announcement(variant: number): object {
  return { task: `work ${variant}`, capabilities: [CROWD.capability], bidWithinMs: 5_000, confirmWithinMs: 5_000 };
}

/** The requests of the findings A1 to A8. */
function edgeRequests(host: string, keys: HostileKeys): HostileRequest[] {
  const make = (finding: string, request: Request): HostileRequest => ({ finding, bytes: serialise(host, request) });
  const fields = Object.fromEntries(
    Array.from({ length: UNKNOWN_FIELDS }, (_, index) => [`f${index.toString(36)}`, 1]),
  );
  return Array.from({ length: VARIANTS }, (_, variant): HostileRequest[] => [
    make('A1', {
      method: 'PATCH',
      path: '/v1/agents/nosuch',
      bearer: madeUpToken(),
      body: { generation: 1, capabilities: [`a${' '.repeat(120_000)}b`] },
    }),
    { finding: 'A2', bytes: Buffer.from(`GET /v1/nothing HTTP/1.1\r\n${upgrade(host)}\r\n`) },
    make('A3', { method: 'GET', path: '/v1/events/snapshot', bearer: keys.viewer }),
    make('A4', { method: 'POST', path: '/v1/agents', bearer: keys.agent, body: fields }),
    make('A5', {
      method: 'POST',
      path: '/v1/budgets/reservations',
      bearer: keys.caller,
      body: { key: `hostile-${variant}`, tokens: 1 },
    }),
    make('A5', {
      method: 'POST',
      path: `/v1/budgets/reservations/hostile-${variant}/settle`,
      bearer: keys.caller,
      body: { tokens: 1e12 },
    }),
    make('A6', { method: 'POST', path: '/v1/agents', bearer: keys.agent, body: deepAgent(variant) }),
    make('A7', {
      method: 'POST',
      path: `/v1/agents/victim/heartbeat`,
      bearer: madeUpToken(),
      body: { generation: 1 },
    }),
    make('A8', { method: 'GET', path: '/v1/events?after=0&limit=1000', bearer: keys.viewer }),
    make('A8', { method: 'GET', path: '/v1/events?after=0&agentIds=nobody', bearer: keys.viewer }),
  ]).flat();
}

function madeUpToken(): string {
  return `rl_${randomBytes(32).toString('base64url')}`;
}

function deepAgent(variant: number): Record<string, unknown> {
  const level = (capability: number): string =>
    Array.from({ length: LEVELS }, (_, depth) => `c${variant}x${capability}x${depth}`).join('.');
  const capabilities = Array.from({ length: CAPABILITIES }, (_, capability) => level(capability));
  return { name: `deep ${variant}`, capabilities };
}

function upgrade(host: string): string {
  return `Host: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;
}

function serialise(host: string, { method, path, bearer, headers = {}, body }: Request): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body);
  const head = [`${method} ${path} HTTP/1.1`, `Host: ${host}`];
  if (bearer !== undefined) head.push(`Authorization: Bearer ${bearer}`);
  for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`);
  if (text) head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`);
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`);
}
