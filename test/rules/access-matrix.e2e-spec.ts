import { type Role, ROLES } from '../../apps/api/src/auth/permissions.js';
import { ACCESS, type AccessRow, type Target, type TargetKind } from '../support/access-matrix.js';
import { AccessTargets, pathTo } from '../support/access-targets.js';
import { startApi, type TestApi } from '../support/api.js';
import { declaredRoutes, served } from '../support/route-census.js';

const OWN = 'team-a';
const OTHER = 'team-b';
const HEADERS = { 'rollcall-namespace': OWN };

let api: TestApi;
/** One key in the namespace `OWN` for each role. */
const keys = new Map<Role, string>();
/** The key of another admin in the namespace `OWN`. */
let colleague: string;
/** The key of an admin in the namespace `OTHER`. */
let neighbour: string;
let invalid: Record<'revoked' | 'expired', string>;
let targets: AccessTargets;

beforeAll(async () => {
  const settings = { ROLLCALL_EGRESS_ALLOW: '127.0.0.1', ROLLCALL_SEALING_KEY: 'x'.repeat(32) };
  api = await startApi({ ...settings, ROLLCALL_RUNS_MAX: '0' }); // runs stay in the queue
  for (const name of [OWN, OTHER]) await api.call('POST', '/v1/namespaces', { body: { name } });
  for (const role of ROLES) keys.set(role, await api.issueKeyIn(OWN, role));
  colleague = await api.issueKeyIn(OWN, 'admin');
  neighbour = await api.issueKeyIn(OTHER, 'admin');
  targets = new AccessTargets(api, (key) => (key === keys.get('caller') ? colleague : key));
  invalid = { revoked: await invalidKey('revoked_at'), expired: await invalidKey('expires_at') };
});
afterAll(async () => await api.stop());

async function invalidKey(column: 'revoked_at' | 'expires_at'): Promise<string> {
  const key = await api.issueKeyIn(OWN, 'admin');
  await api.database.db.query(`UPDATE api_key SET ${column} = clock_timestamp() - interval '1 hour' WHERE id = $1`, [
    key.split('_')[1],
  ]);
  return key;
}

async function statusOf(route: string, row: AccessRow, target: Target, key: string | null): Promise<number> {
  const [method = '', pattern = ''] = route.split(' ');
  const body = row.body?.(target);
  const response = await fetch(api.url + pathTo(pattern, target) + (row.query ?? ''), {
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key === api.adminKey && HEADERS),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  await response.body?.cancel();
  return response.status;
}

const ROWS = Object.entries(ACCESS);
const NOTHING: Target = { id: 'none' };
const expected = (row: AccessRow, role: Role, status: number): number =>
  row.roles.split(' ').includes(role) && !row.installation ? status : 403;
/** A role that cannot create an object uses one that a colleague created. */
const ownKey = (row: AccessRow, role: Role): string =>
  row.roles.split(' ').includes(role) && canMake(row.target, role) ? (keys.get(role) ?? '') : colleague;

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
      actual[role] = await statusOf(route, row, target, keys.get(role) ?? '');
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
        const target = await targets.make(row.target ?? 'agent', colleague);
        const visible = row.target === 'namespace' ? 404 : (row.others?.[role] ?? row.ok);
        actual[role] = await statusOf(route, row, target, keys.get(role) ?? '');
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
        const target = await targets.make(row.target ?? 'agent', neighbour);
        actual[role] = await statusOf(route, row, target, keys.get(role) ?? '');
        wanted[role] = expected(row, role, isBatch ? 200 : 404);
      }
      expect(actual).toEqual(wanted);
    },
  );

  it.each(ROWS)(
    '%s: checks lease tokens, invalid and missing credentials, and a credential for all namespaces',
    async (route, row) => {
      const target = row.target ? await targets.make(row.target, colleague) : NOTHING;
      const lease = await targets.make('agent', colleague);
      const own = target.leaseToken ?? lease.leaseToken ?? '';
      const { revoked, expired } = invalid;
      const actual = {
        none: await statusOf(route, row, target, null),
        revoked: await statusOf(route, row, target, revoked),
        expired: await statusOf(route, row, target, expired),
        otherLease: await statusOf(route, row, target, lease.leaseToken ?? ''),
        lease: await statusOf(route, row, target, own),
        all: await statusOf(
          route,
          row,
          row.lease ? await targets.make(row.target ?? 'agent', colleague) : target,
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

async function makeOwn(row: AccessRow, role: Role): Promise<Target> {
  if (row.target === 'namespace') return { id: OWN };
  return await targets.make(row.target ?? 'agent', ownKey(row, role));
}
