import { type Role, ROLES } from '../../apps/api/src/auth/permissions.js';
import { until } from '#rollcall/test-support';
import { AccessKeys, OTHER, OWN } from '../support/access-keys.js';
import { startApi, type TestApi } from '../support/api.js';
import { CatalogHost } from '../support/catalog-host.js';
import {
  IMPORT_FIELD,
  type ImportRow,
  IMPORTS,
  type Listed,
  PUBLIC_ROUTES,
  type PublicRow,
  PUBLISHER,
  requestOf,
} from '../support/catalog-matrix.js';
import { documentOf, operationsOf } from '../support/openapi.js';
import { declaredRoutes, served } from '../support/route-census.js';

const AGENTS: readonly Listed[] = [
  { agentId: 'quartz', namespace: OWN, isPublic: true },
  { agentId: 'walnut', namespace: OTHER, isPublic: true },
  { agentId: 'falcon', namespace: OWN, isPublic: false },
  { agentId: 'meadow', namespace: OTHER, isPublic: false },
];

let api: TestApi;
/** A replica without the setting that makes agents public. */
let closed: TestApi;
let host: CatalogHost;
let keys: AccessKeys;
/** One credential of each kind, by its name. */
const credentials = new Map<string, string | null>();

beforeAll(async () => {
  host = await CatalogHost.start();
  api = await startApi({
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
    ROLLCALL_PUBLIC_URL: `https://${PUBLISHER}`,
    ROLLCALL_CATALOG_LABEL: 'visibility=public',
  });
  closed = await api.replica({ ROLLCALL_CATALOG_LABEL: '' });
  keys = await AccessKeys.issue(api);
  for (const role of ROLES) credentials.set(role, keys.of(role));
  const others = { none: null, 'all namespaces': api.adminKey, neighbour: keys.neighbour, ...keys.invalid };
  for (const [name, key] of Object.entries(others)) credentials.set(name, key);
  for (const agent of AGENTS) credentials.set(`lease of ${agent.agentId}`, await register(agent));
  for (const replica of [api, closed]) for (const agent of AGENTS) await known(agent, replica);
  const walnut = async (): Promise<boolean> => (await (await fetch(`${api.url}/ard/agents`)).text()).includes('walnut');
  await until('the catalog is current', walnut);
});
afterAll(async () => {
  await closed.stop();
  await api.stop();
  await host.stop();
});

/** Registers an agent, and returns its lease token. */
async function register({ agentId, namespace, isPublic }: Listed): Promise<string> {
  const labels = { visibility: isPublic ? 'public' : 'team' };
  const key = namespace === OWN ? keys.colleague : keys.neighbour;
  const body = { agentId, name: agentId, capabilities: [agentId], labels };
  return String((await api.call('POST', '/v1/agents', { key, body })).body['leaseToken']);
}

/** Waits until the directory of a replica has an agent. */
async function known({ agentId, namespace }: Listed, replica: TestApi): Promise<void> {
  const key = namespace === OWN ? keys.colleague : keys.neighbour;
  await until(`the replica knows ${agentId}`, async () => {
    const { body } = await replica.call('POST', '/v1/agents/query', { key, body: { capabilities: [agentId] } });
    return JSON.stringify(body['candidates'] ?? []).includes(agentId);
  });
}

/** The results of one request with each credential. */
async function withEach<Result>(ask: (key: string | null) => Promise<Result>): Promise<Record<string, Result>> {
  const results: Record<string, Result> = {};
  for (const [name, key] of credentials) results[name] = await ask(key);
  return results;
}

const always = <Result>(result: Result): Record<string, Result> =>
  Object.fromEntries([...credentials.keys()].map((name) => [name, result]));

interface Seen {
  status: number;
  /** The agents that a successful response mentions. */
  mentions: string[];
}

describe('the routes without a permission', () => {
  const ask = async (on: TestApi, route: string, row: PublicRow, agent: Listed, key: string | null): Promise<Seen> => {
    const { path, init } = requestOf(route, row, agent);
    const headers = { ...(init.headers as Record<string, string>), ...keys.headers(key) };
    const response = await fetch(on.url + path, { ...init, headers });
    const text = await response.text();
    const found = AGENTS.filter(({ agentId }) => response.ok && text.includes(agentId));
    return { status: response.status, mentions: found.map(({ agentId }) => agentId) };
  };
  /** What each credential gets, if the catalog lists these agents. */
  const wanted = (
    route: string,
    { about, status = 200 }: PublicRow,
    agent: Listed,
    listed: readonly Listed[],
  ): Seen => {
    const isFound = listed.includes(agent);
    if (about === 'one agent') return { status: isFound ? 200 : 404, mentions: isFound ? [agent.agentId] : [] };
    const named = route === 'POST /ard/search' ? listed.filter((one) => one === agent) : listed;
    return { status, mentions: about === 'no agent' ? [] : named.map(({ agentId }) => agentId) };
  };
  const ROWS = Object.entries(PUBLIC_ROUTES);

  it('S3.12 the matrix has a row for every route without a permission', () => {
    const routes = declaredRoutes(api.app, served).filter(({ access }) => access === 'public');
    expect(Object.keys(PUBLIC_ROUTES).toSorted()).toEqual(routes.map(({ route }) => route).toSorted());
  });

  it.each(ROWS)(
    'S3.12 %s: each credential gets the public agents of all namespaces, and no other',
    async (route, row) => {
      const listed = AGENTS.filter(({ isPublic }) => isPublic);
      for (const agent of AGENTS) {
        const seen = await withEach(async (key) => await ask(api, route, row, agent, key));
        expect(seen).toEqual(always(wanted(route, row, agent, listed)));
      }
    },
  );

  it.each(ROWS)('S3.12 %s: without the setting for public agents, no credential gets an agent', async (route, row) => {
    for (const agent of AGENTS) {
      const seen = await withEach(async (key) => await ask(closed, route, row, agent, key));
      expect(seen).toEqual(always(wanted(route, row, agent, [])));
    }
  });
});

describe('the imports', () => {
  let made = 0;
  const nextId = (): string => `imported-${(made += 1)}`;
  const ROWS = IMPORTS.map((row) => [`${row.route} with ${row.field}`, row] as const);

  /** `ok`, or the code of the error of the request or of its one entry. */
  const result = async ({ route, body }: ImportRow, agentId: string, key: string | null): Promise<unknown> => {
    const [method = '', path = ''] = route.split(' ');
    const answer = await api.call(method, path, {
      key: null,
      headers: keys.headers(key),
      body: body(agentId, host),
    });
    const [entry] = (answer.body['entries'] ?? []) as { problem?: { code: string } }[];
    return answer.status < 300 ? (entry?.problem?.code ?? 'ok') : answer.body['code'];
  };
  const ofRoles = (row: ImportRow, ok: string, others: Partial<Record<Role, string>> = {}): Record<string, string> =>
    Object.fromEntries(
      ROLES.map((role) => {
        const isAllowed = row.roles.split(' ').includes(role) && !row.installation;
        return [role, isAllowed ? (others[role] ?? ok) : 'FORBIDDEN'];
      }),
    );
  const eachRole = async (row: ImportRow, make: (role: Role) => Promise<string> | string): Promise<object> => {
    const results: Record<string, unknown> = {};
    for (const role of ROLES) results[role] = await result(row, await make(role), keys.of(role));
    return results;
  };
  const registered = async (key: string): Promise<string> => {
    const agentId = nextId();
    await api.call('POST', '/v1/agents', { key, body: { agentId, name: 'x', capabilities: ['x'] } });
    return agentId;
  };

  it('S3.12 the matrix has a row for every field with a document of another publisher', async () => {
    const { components, ...document } = await documentOf(api);
    const fields = operationsOf({ components, ...document })
      .filter(({ method }) => method === 'POST')
      .flatMap(({ path, requestBody }) => {
        const reference = requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1) ?? '';
        const names = Object.keys(components.schemas[reference]?.properties ?? {});
        return names.filter((name) => IMPORT_FIELD.test(name)).map((name) => `POST ${path} with ${name}`);
      });
    expect(ROWS.map(([name]) => name).toSorted()).toEqual(fields.toSorted());
  });

  it.each(ROWS)('S3.12 %s: each role gets the expected result for a new agent', async (_name, row) => {
    expect(await eachRole(row, nextId)).toEqual(ofRoles(row, 'ok'));
  });

  it.each(ROWS)('S3.12 %s: each role gets the expected result for its own agent', async (_name, row) => {
    const own = async (role: Role): Promise<string> => await registered(keys.of(role));
    expect(await eachRole(row, own)).toEqual(ofRoles(row, 'ok'));
  });

  it.each(ROWS)('S3.12 %s: each role gets the expected result for the agent of a colleague', async (_name, row) => {
    const actual = await eachRole(row, async () => await registered(keys.colleague));
    expect(actual).toEqual(ofRoles(row, 'ok', { agent: 'AGENT_ALREADY_REGISTERED' }));
  });

  it.each(ROWS)('S3.12 %s: an agent of another namespace with the same id does not change', async (_name, row) => {
    const ids: string[] = [];
    const make = async (): Promise<string> => ids[ids.push(await registered(keys.neighbour)) - 1] ?? '';
    expect(await eachRole(row, make)).toEqual(ofRoles(row, 'ok'));
    for (const id of ids) {
      const { body } = await api.call('GET', `/v1/agents/${id}`, { key: keys.neighbour });
      expect(body).toMatchObject({ name: 'x', generation: 1, capabilities: ['x'] });
    }
  });

  it.each(ROWS)(
    'S3.12 %s: checks lease tokens, invalid and missing credentials, and all namespaces',
    async (_name, row) => {
      const others = ['none', 'revoked', 'expired', 'lease of quartz', 'all namespaces'];
      const actual: Record<string, unknown> = {};
      for (const name of others) actual[name] = await result(row, nextId(), credentials.get(name) ?? null);
      const [none, revoked, expired] = ['UNAUTHENTICATED', 'UNAUTHENTICATED', 'UNAUTHENTICATED'];
      expect(actual).toEqual({ none, revoked, expired, 'lease of quartz': 'FORBIDDEN', 'all namespaces': 'ok' });
    },
  );
});
