import { Controller, Get, Post } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { Permit, ROUTE_ACCESS } from '../../apps/api/src/auth/route.access.js';
import { NO_LIMITS } from '#rollcall/platform';
import { loadConfig } from '../../apps/api/src/config/config.loader.js';
import { SocketAccess } from '../../apps/api/src/auth/sockets/socket.access.js';
import { METHODS } from '../support/a2a-client.js';
import { pathTo } from '../support/access-targets.js';
import { startApi, type TestApi } from '../support/api.js';
import { TOOLS } from '../support/mcp-client.js';
import { refusal } from '../support/socket-client.js';
import { OPERATION_BOUNDS, ROUTE_BOUNDS, TOOL_BOUNDS } from '../support/quota-census.js';
import { declaredRoutes, type RouteFacts, routesOf, served } from '../support/route-census.js';

/** The operations of the HTTP+JSON binding of A2A, at Rollcall itself, at one agent, and with an agent as the tenant. */
const A2A: RouteFacts[] = ['/a2a', '/a2a/agents/:agentId', '/a2a/:tenant'].flatMap((base): RouteFacts[] => [
  { route: `GET ${base}/extendedAgentCard`, access: 'agents:read' },
  { route: `GET ${base}/tasks`, access: 'runs:read' },
  { route: `GET ${base}/tasks/:id`, access: 'runs:read' },
  {
    route: `DELETE ${base}/tasks/:id/pushNotificationConfigs/:configId`,
    access: 'runs:start',
    mutation: 'run.push_deleted',
  },
  { route: `GET ${base}/tasks/:id/pushNotificationConfigs`, access: 'runs:read' },
  { route: `GET ${base}/tasks/:id/pushNotificationConfigs/:configId`, access: 'runs:read' },
  { route: `POST ${base}/tasks/:id/pushNotificationConfigs`, access: 'runs:start', mutation: 'run.push_created' },
  { route: `GET ${base}/tasks/:id(^[^:/]+)::subscribe`, access: 'runs:read' },
  { route: `POST ${base}/message::send`, access: 'agents:read', mutation: 'run.started' },
  { route: `POST ${base}/message::stream`, access: 'agents:read', mutation: 'run.started' },
  { route: `POST ${base}/tasks/:id(^[^:/]+)::cancel`, access: 'runs:start', mutation: 'run.cancelled' },
  { route: `POST ${base}/tasks/:id(^[^:/]+)::subscribe`, access: 'runs:read', mutation: 'repeatable' },
]);

/** Every route, the permission it requires, and its action in the audit log. Add a new route here by hand. */
const CENSUS: RouteFacts[] = [
  ...A2A,
  { route: 'GET /.well-known/agent-card.json', access: 'public' },
  { route: 'GET /.well-known/ai-catalog.json', access: 'public' },
  { route: 'GET /.well-known/ard.json', access: 'public' },
  { route: 'GET /.well-known/jwks.json', access: 'public' },
  { route: 'GET /a2a/agents/:agentId', access: 'agents:read' },
  { route: 'GET /a2a/agents/:agentId/.well-known/agent-card.json', access: 'agents:read' },
  { route: 'GET /ard', access: 'public' },
  { route: 'GET /ard/agents', access: 'public' },
  { route: 'GET /ard/agents/:identifier', access: 'public' },
  { route: 'GET /ard/agents/:identifier/agent-card.json', access: 'public' },
  { route: 'GET /v0.1/servers', access: 'public' },
  { route: 'GET /v0.1/servers/:name/versions', access: 'public' },
  { route: 'GET /v0.1/servers/:name/versions/:version', access: 'public' },
  { route: 'POST /ard/explore', access: 'public', mutation: 'repeatable' },
  { route: 'POST /ard/search', access: 'public', mutation: 'repeatable' },
  { route: 'POST /a2a', access: 'agents:read', mutation: 'depends on the JSON-RPC method' },
  { route: 'POST /a2a/agents/:agentId', access: 'agents:read', mutation: 'depends on the JSON-RPC method' },
  { route: 'GET /.well-known/oauth-protected-resource/mcp', access: 'public' },
  { route: 'GET /mcp/server-card', access: 'public' },
  { route: 'POST /mcp', access: 'agents:read', mutation: 'depends on the MCP tool' },
  { route: 'POST /mcp/agents/:agentId', access: 'agents:read', mutation: 'depends on the MCP tool' },
  { route: 'DELETE /v1/agents/:id', access: 'agents:self', mutation: 'agent.deregistered' },
  { route: 'DELETE /v1/conversations/:id', access: 'runs:start', mutation: 'conversation.deleted' },
  { route: 'DELETE /v1/definitions/:name', access: 'definitions:write', mutation: 'definition.unregistered' },
  { route: 'DELETE /v1/keys/:id', access: 'keys:manage', mutation: 'key.revoked' },
  { route: 'DELETE /v1/namespaces/:name', access: 'namespaces:manage', mutation: 'namespace.deleted' },
  { route: 'DELETE /v1/runtime/agents/:name', access: 'agents:spawn', mutation: 'agent.shutdown' },
  { route: 'DELETE /v1/webhooks/:id', access: 'webhooks:manage', mutation: 'webhook.deleted' },
  { route: 'GET /health/live', access: 'public' },
  { route: 'GET /health/ready', access: 'public' },
  { route: 'GET /metrics', access: 'metrics:read' },
  { route: 'GET /v1/agents', access: 'agents:read' },
  { route: 'GET /v1/agents/:id', access: 'agents:read' },
  { route: 'GET /v1/agents/:id/budget', access: 'budgets:read' },
  { route: 'GET /v1/agents/:id/outcomes', access: 'agents:read' },
  { route: 'GET /v1/audit', access: 'audit:read' },
  { route: 'GET /v1/budgets', access: 'budgets:read' },
  { route: 'GET /v1/budgets/:id', access: 'budgets:read' },
  { route: 'GET /v1/budgets/:id/forecast', access: 'budgets:read' },
  { route: 'GET /v1/budgets/:id/ledger', access: 'budgets:read' },
  { route: 'GET /v1/budgets/reconciliation', access: 'budgets:read' },
  { route: 'GET /v1/budgets/reservations/:key', access: 'budgets:spend' },
  { route: 'GET /v1/contracts', access: 'contracts:read' },
  { route: 'GET /v1/contracts/:id', access: 'contracts:read' },
  { route: 'GET /v1/conversations', access: 'runs:read' },
  { route: 'GET /v1/conversations/:id', access: 'runs:read' },
  { route: 'GET /v1/definitions', access: 'definitions:read' },
  { route: 'GET /v1/definitions/:name', access: 'definitions:read' },
  { route: 'GET /v1/definitions/:name/capabilities', access: 'definitions:read' },
  { route: 'GET /v1/definitions/:name/diff', access: 'definitions:read' },
  { route: 'GET /v1/definitions/:name/effective', access: 'definitions:read' },
  { route: 'GET /v1/definitions/:name/revisions', access: 'definitions:read' },
  { route: 'GET /v1/definitions/:name/revisions/:revision', access: 'definitions:read' },
  { route: 'GET /v1/events', access: 'events:read' },
  { route: 'GET /v1/events/snapshot', access: 'agents:read' },
  { route: 'GET /v1/events/stream', access: 'events:read' },
  { route: 'GET /v1/keys', access: 'keys:manage' },
  { route: 'GET /v1/keys/:id', access: 'keys:manage' },
  { route: 'GET /v1/me', access: 'self:read' },
  { route: 'GET /v1/models', access: 'models:read' },
  { route: 'GET /v1/models/resolve', access: 'models:read' },
  { route: 'GET /v1/namespaces', access: 'namespaces:read' },
  { route: 'GET /v1/namespaces/:name', access: 'namespaces:read' },
  { route: 'GET /v1/runs', access: 'runs:read' },
  { route: 'GET /v1/runs/:id', access: 'runs:read' },
  { route: 'GET /v1/runs/:id/export', access: 'runs:read' },
  { route: 'GET /v1/runs/:id/files', access: 'runs:read' },
  { route: 'GET /v1/runs/:id/files/content', access: 'runs:read' },
  { route: 'GET /v1/runs/:id/steps', access: 'runs:read' },
  { route: 'GET /v1/runs/:id/stream', access: 'runs:read' },
  { route: 'GET /v1/runs/:id/tree', access: 'runs:read' },
  { route: 'GET /v1/runtime/agents', access: 'agents:read' },
  { route: 'GET /v1/runtime/agents/:name', access: 'agents:read' },
  { route: 'GET /v1/skills', access: 'tools:read' },
  { route: 'GET /v1/skills/:name', access: 'tools:read' },
  { route: 'GET /v1/plugins', access: 'tools:read' },
  { route: 'GET /v1/providers', access: 'models:read' },
  { route: 'GET /v1/registry/protection', access: 'agents:read' },
  { route: 'GET /v1/registry/summary', access: 'agents:read' },
  { route: 'GET /v1/usage', access: 'budgets:read' },
  { route: 'DELETE /v1/sessions/current', access: 'self:read', mutation: 'session.ended' },
  { route: 'POST /v1/sessions', access: 'self:read', mutation: 'session.opened' },
  { route: 'POST /v1/sessions/tickets', access: 'self:read', mutation: 'session.ticket_issued' },
  { route: 'POST /v1/sessions/tickets/exchange', access: 'public', mutation: 'not audited' },
  { route: 'PATCH /v1/agents/:id', access: 'agents:self', mutation: 'agent.updated' },
  { route: 'GET /v1/sinks', access: 'events:read' },
  { route: 'GET /v1/tools', access: 'tools:read' },
  { route: 'GET /v1/tools/pins', access: 'tools:read' },
  { route: 'GET /v1/webhooks', access: 'webhooks:manage' },
  { route: 'GET /v1/webhooks/:id', access: 'webhooks:manage' },
  { route: 'GET /v1/webhooks/:id/deliveries', access: 'webhooks:manage' },
  { route: 'GET /v1/webhooks/:id/deliveries/:sequence', access: 'webhooks:manage' },
  { route: 'PATCH /v1/namespaces/:name', access: 'namespaces:manage', mutation: 'namespace.changed' },
  { route: 'PATCH /v1/webhooks/:id', access: 'webhooks:manage', mutation: 'webhook.changed' },
  { route: 'POST /v1/agent-imports', access: 'agents:register', mutation: 'agents.imported' },
  { route: 'POST /v1/agents', access: 'agents:register', mutation: 'not audited' },
  { route: 'POST /v1/agents/:id/drain', access: 'agents:operate', mutation: 'agent.drained' },
  { route: 'POST /v1/agents/:id/evict', access: 'agents:operate', mutation: 'agent.evicted' },
  { route: 'POST /v1/agents/:id/heartbeat', access: 'agents:self', mutation: 'repeatable' },
  { route: 'POST /v1/agents/:id/outcomes', access: 'agents:report', mutation: 'not audited' },
  { route: 'POST /v1/agents/:id/probe', access: 'agents:report', mutation: 'not audited' },
  { route: 'POST /v1/agents/:id/quarantine', access: 'agents:operate', mutation: 'agent.quarantined' },
  { route: 'POST /v1/agents/:id/resume', access: 'agents:operate', mutation: 'agent.resumed' },
  { route: 'POST /v1/agents/:id/tasks/:callId/progress', access: 'agents:self', mutation: 'repeatable' },
  { route: 'POST /v1/agents/:id/tasks/:callId/result', access: 'agents:self', mutation: 'repeatable' },
  { route: 'POST /v1/agents/:id/tasks/take', access: 'agents:self', mutation: 'repeatable' },
  { route: 'POST /v1/agents/batch', access: 'agents:register', mutation: 'not audited' },
  { route: 'POST /v1/agents/query', access: 'agents:query', mutation: 'repeatable' },
  { route: 'POST /v1/budgets', access: 'budgets:write', mutation: 'budget.opened' },
  { route: 'POST /v1/budgets/:id/adjust', access: 'budgets:write', mutation: 'budget.adjusted' },
  { route: 'POST /v1/budgets/:id/topup', access: 'budgets:write', mutation: 'budget.topped_up' },
  { route: 'POST /v1/budgets/reservations', access: 'budgets:spend', mutation: 'not audited' },
  { route: 'POST /v1/budgets/reservations/:key/release', access: 'budgets:spend', mutation: 'not audited' },
  { route: 'POST /v1/budgets/reservations/:key/renew', access: 'budgets:spend', mutation: 'not audited' },
  { route: 'POST /v1/budgets/reservations/:key/settle', access: 'budgets:spend', mutation: 'not audited' },
  { route: 'POST /v1/budgets/runs', access: 'budgets:spend', mutation: 'not audited' },
  { route: 'POST /v1/definition-imports', access: 'definitions:write', mutation: 'definition.imported' },
  { route: 'POST /v1/definitions', access: 'definitions:write', mutation: 'definition.registered' },
  { route: 'POST /v1/definitions/effective', access: 'definitions:read', mutation: 'repeatable' },
  { route: 'POST /v1/events/tickets', access: 'events:read', mutation: 'not audited' },
  { route: 'POST /v1/contracts', access: 'contracts:announce', mutation: 'contract.announced' },
  { route: 'POST /v1/contracts/:id/bids', access: 'agents:self', mutation: 'repeatable' },
  { route: 'POST /v1/contracts/:id/cancel', access: 'contracts:announce', mutation: 'contract.cancelled' },
  { route: 'POST /v1/contracts/:id/confirm', access: 'agents:self', mutation: 'not audited' },
  { route: 'POST /v1/contracts/:id/outcome', access: 'contracts:announce', mutation: 'contract.completed' },
  { route: 'POST /v1/heartbeats', access: 'agents:register', mutation: 'repeatable' },
  { route: 'POST /v1/keys', access: 'keys:manage', mutation: 'key.issued' },
  { route: 'POST /v1/keys/:id/rotate', access: 'keys:manage', mutation: 'key.rotated' },
  { route: 'POST /v1/namespaces', access: 'namespaces:manage', mutation: 'namespace.created' },
  { route: 'POST /v1/runs', access: 'runs:start', mutation: 'run.started' },
  { route: 'POST /v1/runs/:id/approvals', access: 'runs:start', mutation: 'run.decided' },
  { route: 'POST /v1/runs/:id/cancel', access: 'runs:start', mutation: 'run.cancelled' },
  { route: 'POST /v1/runs/:id/messages', access: 'runs:start', mutation: 'run.continued' },
  { route: 'POST /v1/runs/:id/retry', access: 'runs:start', mutation: 'run.retried' },
  { route: 'POST /v1/runtime/agents', access: 'agents:spawn', mutation: 'agent.spawned' },
  { route: 'POST /v1/runtime/shutdown', access: 'agents:spawn', mutation: 'agents.shutdown' },
  { route: 'POST /v1/sinks/:id/replay', access: 'webhooks:manage', mutation: 'sink.replayed' },
  { route: 'POST /v1/toolbox-imports', access: 'tools:manage', mutation: 'repeatable' },
  { route: 'POST /v1/tools/pins/:server/:tool/accept', access: 'tools:manage', mutation: 'tool.accepted' },
  { route: 'POST /v1/webhooks', access: 'webhooks:manage', mutation: 'webhook.created' },
  {
    route: 'POST /v1/webhooks/:id/deliveries/:sequence/replay',
    access: 'webhooks:manage',
    mutation: 'webhook.delivery_replayed',
  },
  { route: 'POST /v1/webhooks/:id/replay', access: 'webhooks:manage', mutation: 'webhook.replayed' },
  { route: 'POST /v1/webhooks/:id/rotate', access: 'webhooks:manage', mutation: 'webhook.rotated' },
  { route: 'PUT /v1/definitions/:name', access: 'definitions:write', mutation: 'definition.replaced' },
  { route: 'PUT /v1/registry/protection', access: 'agents:operate', mutation: 'protection.overridden' },
];

/** Public routes without a controller: the documentation, the console, and the 426 response to a plain GET of a WebSocket path. */
const WITHOUT_CONTROLLER = [
  /^GET \/docs/,
  /^GET \/console/,
  /^GET \/(openapi|asyncapi)\.json$/,
  /^GET \/v1\/(agents|events)\/ws$/,
];

/** Public routes that name an entry of a catalog, or require a body. */
const NEEDS_INPUT =
  /^GET \/ard\/agents\/:|^GET \/v0\.1\/servers\/:|^POST \/ard\/|^POST \/v1\/sessions\/tickets\/exchange/;

/** Every WebSocket, and the permission it requires. */
const SOCKETS = [
  { path: '/v1/agents/ws', access: 'agents:self' },
  { path: '/v1/events/ws', access: 'events:read' },
];

let api: TestApi;
beforeAll(async () => void (api = await startApi()));
afterAll(async () => await api.stop());

describe('the census of routes', () => {
  it('lists every route with its permission', () => {
    expect(sorted(declaredRoutes(api.app, served))).toEqual(sorted(CENSUS));
  });

  it('lists every route that the server serves', () => {
    const all = api.app.routes
      .all()
      .filter((route) => !route.startsWith('HEAD ') && !WITHOUT_CONTROLLER.some((known) => known.test(route)));
    expect(all.toSorted()).toEqual(CENSUS.map(({ route }) => route).toSorted());
  });

  it('reports a route without a permission', () => {
    expect(undeclared(routesOf(IncompleteController, served))).toEqual(['GET /v1/incomplete']);
    expect(undeclared(CENSUS)).toEqual([]);
  });

  it('reports a write that is not declared as a mutation', () => {
    expect(unguarded(routesOf(IncompleteController, served))).toEqual(['POST /v1/incomplete']);
    expect(unguarded(CENSUS)).toEqual([]);
  });

  it('the census of routes matches the guard: without a credential, only the public routes succeed', async () => {
    for (const { route, access } of CENSUS) {
      const [method = '', path = ''] = route.split(' ');
      const { status } = await api.call(method, pathTo(path, { id: 'x' }), { key: null });
      const expected = access !== 'public' ? [401] : NEEDS_INPUT.test(route) ? [400, 404] : [200];
      expect({ route, status, expected }).toMatchObject({ route, status: expected.find((one) => one === status) });
    }
  });
});

describe('the census of what callers can store', () => {
  it('S-13 every route, operation and tool that stores objects names its quota', () => {
    const creating = CENSUS.map(({ route }) => route).filter((route) => /^(POST|PUT|PATCH) /.test(route));
    expect(Object.keys(ROUTE_BOUNDS).toSorted()).toEqual([...new Set(creating)].toSorted());
    expect(Object.keys(OPERATION_BOUNDS).toSorted()).toEqual(Object.keys(METHODS).toSorted());
    expect(Object.keys(TOOL_BOUNDS).toSorted()).toEqual(Object.keys(TOOLS).toSorted());
  });

  it('S-13 every quota that the census names exists, and limits something', () => {
    const bounds = [ROUTE_BOUNDS, OPERATION_BOUNDS, TOOL_BOUNDS].flatMap((all) => Object.values(all));
    const named = new Set(bounds.flatMap((bound) => ('quota' in bound ? bound.quota : [])));
    const { quotas } = loadConfig({}, '/nowhere');
    expect([...named].toSorted()).toEqual(Object.keys(quotas).toSorted());
    const ofNamespaces = bounds.flatMap((bound) => ('namespace' in bound ? [bound.namespace] : []));
    for (const name of ofNamespaces) expect(NO_LIMITS).toHaveProperty(name);
  });
});

describe('the census of WebSockets', () => {
  it('lists every WebSocket with its permission, which is checked again for each message', () => {
    const gateways = api.app.nest
      .get(DiscoveryService, { strict: false })
      .getProviders()
      .filter(({ metatype }) => metatype && Reflect.hasMetadata('websockets:is_gateway', metatype))
      .map(({ metatype }) => ({
        path: (Reflect.getMetadata('websockets:gateway_options', metatype as object) as { path: string }).path,
        access: Reflect.getMetadata(ROUTE_ACCESS, metatype as object) as string,
      }));
    expect(byPath(gateways)).toEqual(SOCKETS);
    expect(byPath(api.app.nest.get(SocketAccess, { strict: false }).all())).toEqual(SOCKETS);
  });

  it('the census of WebSockets matches the guard: without a credential, no WebSocket opens', async () => {
    for (const { path } of SOCKETS) {
      expect({ path, ...(await refusal(api.url, path)) }).toMatchObject({ path, status: 401, code: 'UNAUTHENTICATED' });
    }
  });
});

@Controller('incomplete')
class IncompleteController {
  @Get()
  get(): string {
    return 'no permission';
  }

  @Post()
  @Permit('self:read')
  post(): string {
    return 'no mutation';
  }
}

const sorted = (facts: RouteFacts[]): RouteFacts[] =>
  facts.toSorted((one, other) => (one.route < other.route ? -1 : 1));

const undeclared = (facts: RouteFacts[]): string[] =>
  facts.filter(({ access }) => access === 'UNDECLARED').map(({ route }) => route);

const unguarded = (facts: RouteFacts[]): string[] =>
  facts.filter(({ route, mutation }) => !route.startsWith('GET ') && mutation === undefined).map(({ route }) => route);

function byPath<T extends { path: string }>(sockets: T[]): T[] {
  return sockets.toSorted((one, other) => one.path.localeCompare(other.path));
}
