import type { Role } from '../../apps/api/src/auth/permissions.js';

/** The object that the path of a route names. */
export type TargetKind =
  | 'agent'
  | 'budget'
  | 'contract'
  | 'conversation'
  | 'definition'
  | 'delivery'
  | 'hosted'
  | 'key'
  | 'namespace'
  | 'reservation'
  | 'run'
  | 'webhook'
  | 'worker';

export interface Target {
  id: string;
  /** The parameter `:sequence`. */
  sequence?: string;
  /** Set if the object is an agent, or a contract that an agent is invited to. */
  leaseToken?: string;
  /** The agent of a run, or the agent that is invited to a contract. Not set for other objects. */
  agentId?: string;
}

/** The expected response status of one route in every situation. */
export interface AccessRow {
  /** The roles with the permission; every other role gets 403. */
  roles: string;
  /** The status for a role with the permission, if the caller owns the object. */
  ok: number;
  target?: TargetKind;
  body?: (target: Target) => unknown;
  query?: string;
  headers?: Record<string, string>;
  /** The status for an object of another principal in the same namespace, by role. Absent: the status `ok`. */
  others?: Partial<Record<Role, number>>;
  /** The route concerns the whole installation: a credential for all namespaces gets `ok`, any other credential 403. */
  installation?: true;
  /** The status with the lease token of the agent. Absent: 403, because a lease token does not permit the route. */
  lease?: number;
  /** The status with the lease token of another agent of the namespace. */
  otherLease?: number;
}

/** No server listens at this address. */
export const HOOK = 'http://127.0.0.1:8089/hook';
const ALL = 'admin operator agent caller viewer';
const NOBODY = '';
const OPERATORS = 'admin operator';
const REGISTERS = 'admin operator agent';
const CALLS = 'admin operator caller';
const SPENDS = 'admin operator agent caller';
const READS_MODELS = 'admin operator caller viewer';
const READS_EVENTS = 'admin operator viewer';

let sequence = 0;
const unique = (): string => `m-${(sequence += 1)}`;
const registration = (): object => ({ agentId: unique(), name: 'builder', capabilities: ['build'] });
const ofGeneration = (): object => ({ generation: 1 });
const content = (): object => ({ description: 'Reviews code.' });
const empty = (): object => ({});
const remotes = [{ type: 'streamable-http', url: 'https://1.1.1.1/mcp' }];
const toolbox = (): object => ({ server: { name: 'com.example/x', description: 'x', version: '1', remotes } });
const agent = { target: 'agent', otherLease: 403 } as const;
const ownAgent = { ...agent, roles: REGISTERS, others: { agent: 403 } } as const;
const ownTaskOfAgent = { ...ownAgent, target: 'worker', ok: 200, lease: 200 } as const;
const reservation = { target: 'reservation', roles: SPENDS, ok: 200, others: notFound(SPENDS) } as const;
const definition = { target: 'definition', roles: READS_MODELS, ok: 200 } as const;
const contract = { target: 'contract' } as const;
const ownContract = { ...contract, roles: CALLS, others: { caller: 403 } } as const;
const invited = { ...contract, roles: REGISTERS, others: { agent: 403 } } as const;
const run = { target: 'run', roles: READS_MODELS, ok: 200, others: { caller: 404 } } as const;
const ownRun = { ...run, roles: CALLS } as const;
const conversation = { ...run, target: 'conversation' } as const;
const webhook = { target: 'webhook', roles: OPERATORS, ok: 200 } as const;

const message = (): object => ({ messageId: unique(), role: 'ROLE_USER', parts: [{ text: 'Hello.' }] });
const sent = (): object => ({ message: message(), configuration: { returnImmediately: true } });
const card = (): object => ({ jsonrpc: '2.0', id: 1, method: 'GetExtendedAgentCard' });
const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
const initialize = (): object => ({ jsonrpc: '2.0', id: 1, method: 'initialize', params: client });
const mcp = {
  roles: ALL,
  ok: 200,
  body: initialize,
  headers: { accept: 'application/json, text/event-stream' },
} as const;
const version = { query: '?A2A-Version=1.0' } as const;
const task = { ...run, ...version } as const;
const push = { ...task, others: { caller: 404, viewer: 404 } } as const;
const ownTask = { ...task, roles: CALLS } as const;
const addressed = { target: 'definition', ...version } as const;

/** The operations of A2A below a path, which can name an agent directly or as the tenant. */
const a2a = (base: string): Record<string, AccessRow> => ({
  [`GET ${base}/extendedAgentCard`]: { ...addressed, roles: ALL, ok: 200 },
  [`GET ${base}/tasks`]: { ...addressed, roles: READS_MODELS, ok: 200 },
  [`GET ${base}/tasks/:id`]: task,
  [`DELETE ${base}/tasks/:id/pushNotificationConfigs/:configId`]: { ...ownTask, ok: 204 },
  [`GET ${base}/tasks/:id/pushNotificationConfigs`]: push,
  [`GET ${base}/tasks/:id/pushNotificationConfigs/:configId`]: { ...push, ok: 404 }, // the task has no configuration
  [`GET ${base}/tasks/:id(^[^:/]+)::subscribe`]: task,
  [`POST ${base}/message::send`]: { ...addressed, roles: CALLS, ok: 200, body: sent },
  [`POST ${base}/message::stream`]: { ...addressed, roles: CALLS, ok: 200, body: sent },
  [`POST ${base}/tasks/:id/pushNotificationConfigs`]: { ...ownTask, ok: 201, body: () => ({ url: HOOK }) },
  [`POST ${base}/tasks/:id(^[^:/]+)::cancel`]: ownTask,
  [`POST ${base}/tasks/:id(^[^:/]+)::subscribe`]: task,
});

/** Every route that requires a permission. A route without a row fails the test. */
export const ACCESS: Record<string, AccessRow> = {
  ...a2a('/a2a/agents/:agentId'),
  ...a2a('/a2a/:tenant'),
  ...a2a('/a2a'),
  'GET /a2a/extendedAgentCard': { ...version, roles: ALL, ok: 200 },
  'GET /a2a/tasks': { ...version, roles: READS_MODELS, ok: 200 },
  'POST /a2a/message::send': { ...addressed, roles: CALLS, ok: 200, body: ({ id }) => ({ ...sent(), tenant: id }) },
  'POST /a2a/message::stream': { ...addressed, roles: CALLS, ok: 200, body: ({ id }) => ({ ...sent(), tenant: id }) },
  'POST /a2a': { ...version, roles: ALL, ok: 200, body: card },
  'POST /a2a/agents/:agentId': { ...addressed, roles: ALL, ok: 200, body: card },
  'GET /a2a/agents/:agentId': { target: 'definition', roles: ALL, ok: 200 },
  'GET /a2a/agents/:agentId/.well-known/agent-card.json': { target: 'definition', roles: ALL, ok: 200 },
  'POST /mcp': mcp,
  'POST /mcp/agents/:agentId': { ...mcp, target: 'definition' },
  'DELETE /v1/agents/:id': { ...ownAgent, ok: 204, query: '?generation=1', lease: 204 },
  'DELETE /v1/conversations/:id': { ...conversation, roles: CALLS, ok: 204 },
  'DELETE /v1/definitions/:name': { ...definition, roles: OPERATORS, ok: 204 },
  'DELETE /v1/keys/:id': { roles: 'admin', ok: 200, target: 'key' },
  'DELETE /v1/namespaces/:name': { roles: 'admin', ok: 204, target: 'namespace', installation: true },
  'DELETE /v1/runtime/agents/:name': { roles: OPERATORS, ok: 200, target: 'hosted' },
  'DELETE /v1/webhooks/:id': { ...webhook, ok: 204 },
  'GET /metrics': { roles: READS_EVENTS, ok: 200, installation: true },
  'GET /v1/agents': { roles: ALL, ok: 200 },
  'GET /v1/agents/:id': { ...agent, roles: ALL, ok: 200 },
  'GET /v1/agents/:id/budget': { ...agent, roles: ALL, ok: 200 },
  'GET /v1/agents/:id/outcomes': { ...agent, roles: ALL, ok: 200 },
  'GET /v1/audit': { roles: OPERATORS, ok: 200 },
  'GET /v1/budgets': { roles: ALL, ok: 200 },
  'GET /v1/budgets/:id': { roles: ALL, ok: 200, target: 'budget' },
  'GET /v1/budgets/:id/forecast': { roles: ALL, ok: 200, target: 'budget' },
  'GET /v1/budgets/:id/ledger': { roles: ALL, ok: 200, target: 'budget' },
  'GET /v1/budgets/reconciliation': { roles: ALL, ok: 200 },
  'GET /v1/budgets/reservations/:key': reservation,
  'GET /v1/contracts': { roles: READS_MODELS, ok: 200 },
  'GET /v1/contracts/:id': { ...contract, roles: READS_MODELS, ok: 200, otherLease: 403 },
  'GET /v1/conversations': { roles: READS_MODELS, ok: 200 },
  'GET /v1/conversations/:id': conversation,
  'GET /v1/definitions': { roles: READS_MODELS, ok: 200 },
  'GET /v1/definitions/:name': definition,
  'GET /v1/definitions/:name/capabilities': definition,
  'GET /v1/definitions/:name/diff': { ...definition, query: '?from=1&to=1' },
  'GET /v1/definitions/:name/effective': definition,
  'GET /v1/definitions/:name/revisions': definition,
  'GET /v1/definitions/:name/revisions/:revision': definition,
  'GET /v1/events': { roles: READS_EVENTS, ok: 200 },
  'GET /v1/events/snapshot': { roles: ALL, ok: 200 },
  'GET /v1/events/stream': { roles: READS_EVENTS, ok: 200 },
  'GET /v1/keys': { roles: 'admin', ok: 200 },
  'GET /v1/keys/:id': { roles: 'admin', ok: 200, target: 'key' },
  'GET /v1/me': { roles: ALL, ok: 200 },
  'GET /v1/models': { roles: READS_MODELS, ok: 200 },
  'GET /v1/models/resolve': { roles: READS_MODELS, ok: 200, query: '?model=demo' },
  'GET /v1/namespaces': { roles: ALL, ok: 200, installation: true },
  'GET /v1/namespaces/:name': { roles: ALL, ok: 200, target: 'namespace' },
  'GET /v1/providers': { roles: READS_MODELS, ok: 200 },
  'GET /v1/registry/summary': { roles: ALL, ok: 200 },
  'GET /v1/usage': { roles: ALL, ok: 200, query: '?by=agent' },
  'DELETE /v1/sessions/current': { roles: NOBODY, ok: 403 }, // an API key is no session
  'POST /v1/sessions': { roles: ALL, ok: 201, body: empty },
  'POST /v1/sessions/tickets': { roles: ALL, ok: 201, body: empty },
  'GET /v1/registry/protection': { roles: ALL, ok: 200, installation: true },
  'GET /v1/runs': { roles: READS_MODELS, ok: 200 },
  'GET /v1/runs/:id': run,
  'GET /v1/runs/:id/export': run,
  'GET /v1/runs/:id/files': run,
  'GET /v1/runs/:id/files/content': { ...run, ok: 404, query: '?path=a' },
  'GET /v1/runs/:id/steps': run,
  'GET /v1/runs/:id/stream': run,
  'GET /v1/runs/:id/tree': run,
  'GET /v1/sinks': { roles: READS_EVENTS, ok: 200 },
  'GET /v1/runtime/agents': { roles: ALL, ok: 200 },
  'GET /v1/runtime/agents/:name': { roles: ALL, ok: 200, target: 'hosted' },
  'GET /v1/skills': { roles: READS_EVENTS, ok: 200 },
  'GET /v1/skills/:name': { roles: READS_EVENTS, ok: 404 },
  'GET /v1/plugins': { roles: READS_EVENTS, ok: 200 },
  'GET /v1/tools': { roles: READS_EVENTS, ok: 200 },
  'GET /v1/tools/pins': { roles: READS_EVENTS, ok: 200, installation: true },
  'GET /v1/webhooks': { roles: OPERATORS, ok: 200 },
  'GET /v1/webhooks/:id': webhook,
  'GET /v1/webhooks/:id/deliveries': webhook,
  'GET /v1/webhooks/:id/deliveries/:sequence': { ...webhook, target: 'delivery' },
  'PATCH /v1/agents/:id': { ...ownAgent, ok: 200, body: () => ({ ...ofGeneration(), version: unique() }), lease: 200 },
  'PATCH /v1/namespaces/:name': { roles: 'admin', ok: 200, target: 'namespace', body: empty, installation: true },
  'PATCH /v1/webhooks/:id': { ...webhook, body: () => ({ description: 'changed' }) },
  'POST /v1/agent-imports': { roles: REGISTERS, ok: 200, body: () => ({ catalog: { entries: [] } }) },
  'POST /v1/agents': { roles: REGISTERS, ok: 201, body: registration },
  'POST /v1/agents/:id/drain': { ...agent, roles: OPERATORS, ok: 200, body: empty },
  'POST /v1/agents/:id/evict': { ...agent, roles: OPERATORS, ok: 204, body: empty },
  'POST /v1/agents/:id/heartbeat': { ...ownAgent, ok: 200, body: ofGeneration, lease: 200 },
  'POST /v1/agents/:id/outcomes': { ...agent, roles: CALLS, ok: 200, body: () => ({ ok: true }) },
  'POST /v1/agents/:id/probe': { ...agent, roles: CALLS, ok: 200, body: () => ({ probeId: unique() }) },
  'POST /v1/agents/:id/quarantine': { ...agent, roles: OPERATORS, ok: 200, body: empty },
  'POST /v1/agents/:id/resume': { ...agent, roles: OPERATORS, ok: 200, body: empty },
  'POST /v1/agents/:id/tasks/:callId/progress': { ...ownTaskOfAgent, body: () => ({ ...ofGeneration(), text: 'x' }) },
  'POST /v1/agents/:id/tasks/:callId/result': { ...ownTaskOfAgent, body: ofGeneration },
  'POST /v1/agents/:id/tasks/take': { ...ownTaskOfAgent, body: ofGeneration },
  'POST /v1/agents/batch': { roles: REGISTERS, ok: 200, body: () => ({ agents: [registration()] }) },
  'POST /v1/agents/query': { roles: 'admin operator agent caller viewer', ok: 200, body: empty },
  'POST /v1/budgets': {
    roles: OPERATORS,
    ok: 201,
    body: () => ({ kind: 'agent', subject: unique(), limit: { tokens: 1 } }),
  },
  'POST /v1/budgets/:id/adjust': {
    roles: OPERATORS,
    ok: 200,
    target: 'budget',
    body: () => ({ limit: { tokens: 5_000 }, note: 'matrix' }),
  },
  'POST /v1/budgets/:id/topup': { roles: OPERATORS, ok: 200, target: 'budget', body: () => ({ tokens: 1 }) },
  'POST /v1/budgets/reservations': {
    ...agent,
    roles: SPENDS,
    ok: 201,
    others: { agent: 403 },
    body: ({ id }) => ({ key: unique(), agentId: id, tokens: 1 }),
  },
  'POST /v1/budgets/reservations/:key/release': { ...reservation, body: empty },
  'POST /v1/budgets/reservations/:key/renew': { ...reservation, body: empty },
  'POST /v1/budgets/reservations/:key/settle': { ...reservation, body: () => ({ tokens: 1 }) },
  'POST /v1/budgets/runs': { roles: SPENDS, ok: 201, body: () => ({ runId: unique() }) },
  'POST /v1/definition-imports': {
    roles: OPERATORS,
    ok: 200,
    body: () => ({ files: [{ path: 'a.md', content: `---\nname: ${unique()}\ndescription: x\n---\nx` }] }),
  },
  'POST /v1/definitions': { roles: OPERATORS, ok: 201, body: () => ({ name: unique(), content: content() }) },
  'POST /v1/definitions/effective': {
    roles: READS_MODELS,
    ok: 200,
    body: () => ({ name: unique(), content: content() }),
  },
  'POST /v1/events/tickets': { roles: READS_EVENTS, ok: 201, body: empty },
  'POST /v1/contracts': { roles: CALLS, ok: 201, body: () => ({ capabilities: ['build'], task: 'Build.' }) },
  'POST /v1/contracts/:id/bids': {
    ...invited,
    ok: 200,
    body: ({ agentId }) => ({ agentId, generation: 1, price: 1, etaMs: 1, confidence: 1 }),
    lease: 200,
  },
  'POST /v1/contracts/:id/cancel': { ...ownContract, ok: 200, body: empty },
  'POST /v1/contracts/:id/confirm': {
    ...invited,
    ok: 409,
    body: ({ agentId }) => ({ agentId, generation: 1 }),
    lease: 409,
  },
  'POST /v1/contracts/:id/outcome': { ...ownContract, ok: 409, body: () => ({ ok: true }) },
  'POST /v1/heartbeats': {
    ...agent,
    roles: REGISTERS,
    ok: 200,
    body: ({ id, leaseToken }) => ({ beats: [{ agentId: id, leaseToken, generation: 1 }] }),
  },
  'POST /v1/keys': { roles: 'admin', ok: 201, body: () => ({ name: 'key', roles: ['viewer'] }) },
  'POST /v1/keys/:id/rotate': { roles: 'admin', ok: 201, target: 'key', body: empty },
  'POST /v1/namespaces': { roles: 'admin', ok: 201, body: () => ({ name: unique() }), installation: true },
  'POST /v1/runs': {
    roles: CALLS,
    ok: 202,
    target: 'definition',
    body: ({ id }) => ({ definition: id, input: 'Hello.' }),
  },
  'POST /v1/runs/:id/approvals': {
    ...ownRun,
    ok: 409,
    body: () => ({ callId: 'call-1', inputHash: 'hash', approved: true }),
  },
  'POST /v1/runs/:id/cancel': { ...ownRun, body: empty },
  'POST /v1/runs/:id/messages': { ...ownRun, ok: 409, body: () => ({ input: 'Yes.' }) },
  'POST /v1/runs/:id/retry': { ...run, roles: CALLS, ok: 409, body: empty },
  'POST /v1/runtime/agents': { roles: OPERATORS, ok: 201, body: () => ({ name: unique(), content: content() }) },
  'POST /v1/runtime/shutdown': { roles: OPERATORS, ok: 200, body: empty },
  'POST /v1/sinks/:id/replay': { ...webhook, body: () => ({ after: '0' }) },
  'POST /v1/toolbox-imports': { roles: OPERATORS, ok: 200, installation: true, body: toolbox },
  'POST /v1/tools/pins/:server/:tool/accept': {
    roles: OPERATORS,
    ok: 404,
    body: () => ({ hash: '0'.repeat(64) }),
    installation: true,
  },
  'POST /v1/webhooks': { roles: OPERATORS, ok: 201, body: () => ({ url: 'http://127.0.0.1:8089/hook' }) },
  'POST /v1/webhooks/:id/deliveries/:sequence/replay': { ...webhook, target: 'delivery', body: empty },
  'POST /v1/webhooks/:id/replay': { ...webhook, body: empty },
  'POST /v1/webhooks/:id/rotate': { ...webhook, ok: 201, body: empty },
  'PUT /v1/definitions/:name': { ...definition, roles: OPERATORS, body: () => ({ content: content() }) },
  'PUT /v1/registry/protection': {
    roles: OPERATORS,
    ok: 200,
    body: () => ({ override: 'auto' }),
    installation: true,
  },
};

/** Returns 404 for each role, for objects that only the principal that created them can find. */
function notFound(roles: string): Partial<Record<Role, number>> {
  return Object.fromEntries(roles.split(' ').map((role) => [role, 404]));
}
