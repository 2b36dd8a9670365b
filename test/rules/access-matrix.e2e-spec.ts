import { PERMISSIONS_OF_METHODS } from '../../apps/api/src/a2a/wire/rpc.request.js';
import { type Role, ROLES } from '../../apps/api/src/auth/permissions.js';
import { AccessKeys, OWN } from '../support/access-keys.js';
import { ACCESS, type AccessRow, type Target, type TargetKind } from '../support/access-matrix.js';
import { AccessTargets, pathTo } from '../support/access-targets.js';
import { startApi, type TestApi } from '../support/api.js';
import { rawRequest } from '../support/mcp-client.js';
import {
  A2A_METHODS,
  MCP_TOOLS,
  type OperationRow,
  type OperationTable,
  resultOf,
} from '../support/operation-matrix.js';
import { declaredRoutes, served } from '../support/route-census.js';

let api: TestApi;
let keys: AccessKeys;
let targets: AccessTargets;

beforeAll(async () => {
  const settings = {
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
    ROLLCALL_SEALING_KEY: 'x'.repeat(32),
    ROLLCALL_TRUSTED_PROXIES: '127.0.0.1', // each request has its own address, see `AccessKeys.headers`
  };
  api = await startApi({ ...settings, ROLLCALL_RUNS_MAX: '0' }); // runs stay in the queue
  keys = await AccessKeys.issue(api);
  targets = new AccessTargets(api, (key) => (key === keys.of('caller') ? keys.colleague : key));
});
afterAll(async () => await api.stop());

async function statusOf(route: string, row: AccessRow, target: Target, key: string | null): Promise<number> {
  const [method = '', pattern = ''] = route.split(' ');
  const body = row.body?.(target);
  const response = await fetch(api.url + pathTo(pattern, target) + (row.query ?? ''), {
    method,
    headers: {
      ...keys.headers(key),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...row.headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  await (isStream ? response.body?.cancel() : response.arrayBuffer()); // a snapshot counts as open until its end
  return response.status;
}

const ROWS = Object.entries(ACCESS);
const NOTHING: Target = { id: 'none' };
const expected = (row: AccessRow, role: Role, status: number): number =>
  row.roles.split(' ').includes(role) && !row.installation ? status : 403;
/** A role that cannot create an object uses one that a colleague created. */
const ownKey = (row: AccessRow, role: Role): string =>
  row.roles.split(' ').includes(role) && canMake(row.target, role) ? keys.of(role) : keys.colleague;

function canMake(kind: TargetKind | undefined, role: Role): boolean {
  if (kind === 'agent') return ['admin', 'operator', 'agent'].includes(role);
  if (kind === 'contract') return ['admin', 'operator', 'agent', 'caller'].includes(role);
  if (kind === 'run') return ['admin', 'operator', 'caller'].includes(role);
  if (kind === 'reservation') return ['admin', 'operator', 'agent', 'caller'].includes(role);
  return role === 'admin';
}

describe('the access matrix', () => {
  it('has a row for every route that requires a permission', () => {
    const routes = declaredRoutes(api.app, served).filter(({ access }) => access !== 'public');
    expect(Object.keys(ACCESS).toSorted()).toEqual(routes.map(({ route }) => route).toSorted());
  });

  it.each(ROWS)('%s: each role gets the expected status for its own object', async (route, row) => {
    const actual: Partial<Record<Role, number>> = {};
    const wanted: Partial<Record<Role, number>> = {};
    for (const role of ROLES) {
      const target = row.target ? await makeOwn(row, role) : NOTHING;
      actual[role] = await statusOf(route, row, target, keys.of(role));
      wanted[role] = expected(row, role, canMake(row.target, role) ? row.ok : (row.others?.[role] ?? row.ok));
    }
    expect(actual).toEqual(wanted);
  });

  it.each(ROWS.filter(([, { target }]) => target))(
    '%s: each role gets the expected status for an object of a colleague',
    async (route, row) => {
      const actual: Partial<Record<Role, number>> = {};
      const wanted: Partial<Record<Role, number>> = {};
      for (const role of ROLES) {
        const target = await targets.make(row.target ?? 'agent', keys.colleague);
        const visible = row.target === 'namespace' ? 404 : (row.others?.[role] ?? row.ok);
        actual[role] = await statusOf(route, row, target, keys.of(role));
        wanted[role] = expected(row, role, visible);
      }
      expect(actual).toEqual(wanted);
    },
  );

  it.each(ROWS.filter(([, { target }]) => target))(
    '%s: each role gets the expected status for an object of another namespace',
    async (route, row) => {
      const actual: Partial<Record<Role, number>> = {};
      const wanted: Partial<Record<Role, number>> = {};
      const isBatch = route === 'POST /v1/heartbeats'; // the status is 200, with a result for each agent
      for (const role of ROLES) {
        const target = await targets.make(row.target ?? 'agent', keys.neighbour);
        actual[role] = await statusOf(route, row, target, keys.of(role));
        wanted[role] = expected(row, role, isBatch ? 200 : 404);
      }
      expect(actual).toEqual(wanted);
    },
  );

  it.each(ROWS)(
    '%s: checks lease tokens, invalid and missing credentials, and a credential for all namespaces',
    async (route, row) => {
      const target = row.target ? await targets.make(row.target, keys.colleague) : NOTHING;
      const lease = await targets.make('agent', keys.colleague);
      const own = target.leaseToken ?? lease.leaseToken ?? '';
      const { revoked, expired } = keys.invalid;
      const actual = {
        none: await statusOf(route, row, target, null),
        revoked: await statusOf(route, row, target, revoked),
        expired: await statusOf(route, row, target, expired),
        otherLease: await statusOf(route, row, target, lease.leaseToken ?? ''),
        lease: await statusOf(route, row, target, own),
        all: await statusOf(
          route,
          row,
          row.lease ? await targets.make(row.target ?? 'agent', keys.colleague) : target,
          api.adminKey,
        ),
      };
      expect(actual).toEqual({
        none: 401,
        revoked: 401,
        expired: 401,
        otherLease: row.otherLease ?? 403,
        lease: row.lease ?? 403,
        all: row.target === 'reservation' ? 404 : row.ok,
      });
    },
  );
});

describe.each<[string, OperationTable]>([
  ['A2A over JSON-RPC', A2A_METHODS],
  ['MCP', MCP_TOOLS],
])('the operations of %s', (_protocol, { rows, request }) => {
  const result = async (operation: string, row: OperationRow, target: Target, key: string | null): Promise<string> => {
    const { path, headers, body } = request(operation, row.params(target));
    return await resultOf(
      await fetch(api.url + path, {
        method: 'POST',
        headers: { ...headers, ...keys.headers(key), 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );
  };
  /** The actual and the expected results of all roles, for objects that `make` creates. */
  const results = async (
    operation: string,
    make: (role: Role) => Promise<Target>,
    wanted: (role: Role) => string,
  ): Promise<[object, object]> => {
    const row = rows[operation];
    const actual: Partial<Record<Role, string>> = {};
    for (const role of ROLES) actual[role] = await result(operation, row, await make(role), keys.of(role));
    const may = (role: Role): boolean => row.roles.split(' ').includes(role);
    return [actual, Object.fromEntries(ROLES.map((role) => [role, may(role) ? wanted(role) : 'FORBIDDEN']))];
  };

  it.each(Object.entries(rows))('%s: each role gets the expected result', async (operation, row) => {
    const { target: kind, ok, others = {}, elsewhere = ok } = row;
    const madeBy = (maker: (role: Role) => string) => async (role: Role) =>
      kind ? await targets.make(kind, maker(role)) : NOTHING;
    const own = (role: Role): string => (canMake(kind, role) ? keys.of(role) : keys.colleague);
    const ofOwn = await results(operation, madeBy(own), (role) => (canMake(kind, role) ? ok : (others[role] ?? ok)));
    expect(ofOwn[0]).toEqual(ofOwn[1]);
    const foreign = await results(
      operation,
      madeBy(() => keys.colleague),
      (role) => others[role] ?? ok,
    );
    expect(foreign[0]).toEqual(foreign[1]);
    const outside = await results(
      operation,
      madeBy(() => keys.neighbour),
      () => elsewhere,
    );
    expect(outside[0]).toEqual(outside[1]);
    const invalidKeys = [null, keys.invalid.revoked, keys.invalid.expired];
    const target = kind ? await targets.make(kind, keys.colleague) : NOTHING;
    for (const key of invalidKeys) expect(await result(operation, row, target, key)).toBe('UNAUTHENTICATED');
  });
});

describe('the tables of operations', () => {
  it('have a row for every method of A2A and every tool of MCP', async () => {
    expect(Object.keys(A2A_METHODS.rows).toSorted()).toEqual(Object.keys(PERMISSIONS_OF_METHODS).toSorted());
    const { body, headers } = rawRequest('tools/list');
    const { result } = (await api.call<{ result: { tools: { name: string }[] } }>('POST', '/mcp', { body, headers }))
      .body;
    expect(Object.keys(MCP_TOOLS.rows)).toEqual(result.tools.map(({ name }) => name));
  });
});

async function makeOwn(row: AccessRow, role: Role): Promise<Target> {
  if (row.target === 'namespace') return { id: OWN };
  return await targets.make(row.target ?? 'agent', ownKey(row, role));
}
