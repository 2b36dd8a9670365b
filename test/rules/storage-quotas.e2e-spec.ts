import type { Role } from '../../apps/api/src/auth/permissions.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { registrationBody } from '../support/given.js';
import { callTool, mcpClient } from '../support/mcp-client.js';
import { OPERATION_BOUNDS, ROUTE_BOUNDS, type StorageBound, TOOL_BOUNDS } from '../support/quota-census.js';

const A2A = { 'a2a-version': '1.0' };
const CAPABILITY = 'storage.quota';
/** Limits of namespaces and of shares are checked by the function that checks the limit of the credential, and tested in other suites. */
const ELSEWHERE = new Set(['kilobytesPerMinuteOfNamespace', 'queuedRunsOfNamespace', 'budgetShare']);
/** One object of each kind is the whole quota. `echo` is the only definition. */
const ONE_OF_EACH =
  'agents=1,reservations=1,webhooks=1,contracts=1,queuedRuns=1,pushConfigs=1,definitions=1,kilobytesPerMinute=0,kilobytesPerMinuteOfNamespace=0';
const NOTHING_LEFT = 'kilobytesPerMinute=1';

/** A credential whose quota is used up, and what its requests need. */
interface Door {
  readonly on: TestApi;
  readonly key: string;
  /** A cancelled run of the credential. */
  readonly run: string;
}

/** Sends one request that would store an object, and returns the answer. */
type Send = (door: Door) => Promise<unknown>;

let api: TestApi;
let replicas: Record<'counts' | 'rate', TestApi>;
beforeAll(async () => {
  const environment = {
    ROLLCALL_HEARTBEAT_EVERY: '10m', // the agents send none

    ROLLCALL_RUNS_MAX: '0',
    ROLLCALL_SEALING_KEY: 'a'.repeat(32),
    ROLLCALL_AGENT: JSON.stringify({ description: 'Echoes.' }),
  };
  api = await startApi(environment);
  const content = { description: 'Echoes.' };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
  await api.given.agent({ agentId: 'silent', capabilities: [CAPABILITY] });
  replicas = {
    counts: await api.replica({ ...environment, ROLLCALL_QUOTAS: ONE_OF_EACH }),
    rate: await api.replica({ ...environment, ROLLCALL_QUOTAS: NOTHING_LEFT }),
  };
});
afterAll(async () => {
  await Promise.all(Object.values(replicas).map(async (replica) => await replica.stop()));
  await api.stop();
});

const unique = (): string => crypto.randomUUID();
const message = (more: object = {}): object => ({
  messageId: unique(),
  role: 'ROLE_USER',
  parts: [{ text: 'Hello.' }],
  ...more,
});
const post =
  (path: string, bodyOf: (door: Door) => object, method = 'POST', headers?: Record<string, string>): Send =>
  async (door) =>
    await door.on.call(method, path.replace('{run}', door.run), { key: door.key, body: bodyOf(door), headers });
const rpc = (method: string, paramsOf: (door: Door) => object): Send =>
  post('/a2a/agents/echo', (door) => ({ jsonrpc: '2.0', id: 1, method, params: paramsOf(door) }), 'POST', A2A);
const tool =
  (name: string, inputOf: (door: Door) => Record<string, unknown>): Send =>
  async (door) => {
    const client = await mcpClient(`${door.on.url}/mcp`, door.key);
    try {
      return await callTool(client, name, inputOf(door));
    } finally {
      await client.close();
    }
  };

const card = (name: string): object => ({
  name,
  description: 'Echoes.',
  version: '1',
  skills: [{ id: 'echo', name: 'Echo', description: 'Echoes.', tags: [] }],
  supportedInterfaces: [{ url: 'https://agents.example.com/', protocolBinding: 'JSONRPC' }],
});
const entry = (name: string): object => ({
  identifier: `urn:air:example.com:agent:${name}`,
  displayName: name,
  type: 'application/a2a-agent-card+json',
  data: card(name),
});
const push = { url: 'https://hooks.example.com/' };
const auction = { capabilities: [CAPABILITY], prefer: 'contract-net' };
const sent = (): object => ({ message: message(), configuration: { returnImmediately: true } });

/** A2A over HTTP, at one of its addresses. */
const a2aDoors = (base: string, address: string): Record<string, Send> => ({
  [`POST ${base}/message::send`]: post(`${address}/message:send`, sent, 'POST', A2A),
  [`POST ${base}/message::stream`]: post(`${address}/message:stream`, sent, 'POST', A2A),
  [`POST ${base}/tasks/:id/pushNotificationConfigs`]: post(
    `${address}/tasks/{run}/pushNotificationConfigs`,
    () => push,
    'POST',
    A2A,
  ),
});

/** One request for each route, operation and tool of the census that has a quota. */
const SENDS: Record<string, Send> = {
  ...a2aDoors('/a2a', '/a2a'),
  ...a2aDoors('/a2a/agents/:agentId', '/a2a/agents/echo'),
  ...a2aDoors('/a2a/:tenant', '/a2a/echo'),
  'POST /v1/agent-imports': post('/v1/agent-imports', () => ({ catalog: { entries: [entry(unique())] } })),
  'POST /v1/agents': post('/v1/agents', () => registrationBody({ agentId: unique() })),
  'POST /v1/agents/batch': post('/v1/agents/batch', () => ({ agents: [registrationBody({ agentId: unique() })] })),
  'POST /v1/agents/query': post('/v1/agents/query', () => auction),
  'POST /v1/budgets/reservations': post('/v1/budgets/reservations', () => ({ key: unique(), tokens: 1 })),
  'POST /v1/budgets/runs': post('/v1/budgets/runs', () => ({ runId: unique() })),
  'POST /v1/contracts': post('/v1/contracts', () => ({
    capabilities: [CAPABILITY],
    task: 'Wait.',
    bidWithinMs: 600_000,
  })),
  'POST /v1/definition-imports': post('/v1/definition-imports', () => ({
    files: [{ path: 'a.md', content: `---\nname: n${unique()}\ndescription: x\n---\nx` }],
  })),
  'POST /v1/definitions': post('/v1/definitions', () => ({ name: `n${unique()}`, content: { description: 'x' } })),
  'PUT /v1/definitions/:name': post('/v1/definitions/echo', () => ({ content: { description: unique() } }), 'PUT'),
  'PATCH /v1/agents/:id': post('/v1/agents/silent', () => ({ version: unique() }), 'PATCH'),
  'POST /v1/runs': post('/v1/runs', () => ({ definition: 'echo', input: 'Hello.' })),
  'POST /v1/runs/:id/approvals': post('/v1/runs/{run}/approvals', () => ({
    callId: 'a',
    inputHash: 'b',
    approved: true,
  })),
  'POST /v1/runs/:id/messages': post('/v1/runs/{run}/messages', () => ({ input: 'Hello.' })),
  'POST /v1/runs/:id/retry': post('/v1/runs/{run}/retry', () => ({})),
  'POST /v1/runtime/agents': post('/v1/runtime/agents', () => ({ definition: 'echo', name: `n${unique()}` })),
  'POST /v1/webhooks': post('/v1/webhooks', () => push),
  SendMessage: rpc('SendMessage', sent),
  SendStreamingMessage: rpc('SendStreamingMessage', sent),
  CreateTaskPushNotificationConfig: rpc('CreateTaskPushNotificationConfig', ({ run }) => ({ taskId: run, ...push })),
  run_agent: tool('run_agent', () => ({ agent: 'echo', input: 'Hello.', waitMs: 0 })),
  answer_run: tool('answer_run', ({ run }) => ({ runId: run, input: 'Hello.', waitMs: 0 })),
  create_agent: tool('create_agent', () => ({ definition: 'echo', name: `n${unique()}` })),
};

/** The route that uses up each quota. */
const FILLS: Record<string, keyof typeof SENDS> = {
  agents: 'POST /v1/agents',
  reservations: 'POST /v1/budgets/reservations',
  webhooks: 'POST /v1/webhooks',
  contracts: 'POST /v1/contracts',
  queuedRuns: 'POST /v1/runs',
  pushConfigs: 'POST /a2a/tasks/:id/pushNotificationConfigs',
  kilobytesPerMinute: 'POST /v1/budgets/runs',
};

const quotasOf = (bound: StorageBound): readonly string[] => ('quota' in bound ? bound.quota : []);
const CASES = Object.entries({ ...ROUTE_BOUNDS, ...OPERATION_BOUNDS, ...TOOL_BOUNDS }).flatMap(([name, bound]) =>
  quotasOf(bound)
    .filter((quota) => !ELSEWHERE.has(quota))
    .map((quota): [string, string] => [name, quota]),
);

/** A credential of a role for each permission that the requests need, except the one to manage its own quotas. */
const ROLES: Role[] = ['operator', 'caller', 'agent'];

async function doorAt(on: TestApi): Promise<Door> {
  const key = await api.given.key(...ROLES);
  const started = await api.call('POST', '/v1/runs', { key, body: { definition: 'echo', input: 'Hello.' } });
  const run = String(started.body['id']);
  await api.call('POST', `/v1/runs/${run}/cancel`, { key, body: {} });
  return { on, key, run };
}

describe('a credential whose quota is used up', () => {
  it('S-13 the table has a request for each route, operation and tool with a quota', () => {
    expect(CASES.filter(([name]) => !(name in SENDS))).toEqual([]);
  });

  it.each(CASES)('S-13 %s is refused because of %s', async (name, quota) => {
    const door = await doorAt(quota === 'kilobytesPerMinute' ? replicas.rate : replicas.counts);
    const fill = FILLS[quota];
    if (fill !== undefined) {
      const filled = (await SENDS[fill]?.(door)) as Answer | undefined;
      expect(filled).toMatchObject({ status: fill === 'POST /v1/runs' ? 202 : 201 });
    }
    const answer = JSON.stringify(await SENDS[name]?.(door));
    expect(answer).toContain(`quotas.${quota} (ROLLCALL_QUOTAS)`);
    expect(answer).toMatch(/QUOTA_EXCEEDED|RATE_LIMITED|RUN_QUEUE_FULL/);
  });
});
