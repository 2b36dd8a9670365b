import { isDeepStrictEqual } from 'node:util';
import type { Role } from '../../apps/api/src/auth/permissions.js';
import { ACCESS, type AccessRow, type Target } from '../support/access-matrix.js';
import { AccessTargets, pathTo } from '../support/access-targets.js';
import { startApi, type TestApi } from '../support/api.js';
import { StatementRecorder } from '../support/statement-recorder.js';

const OWN = 'team-a';
const OTHER = 'team-b';

let api: TestApi;
let targets: AccessTargets;
let recorder: StatementRecorder;
/** Sends the requests. */
let key: string;
/** Owns the objects, in another namespace. */
let neighbour: string;
let ownLease: string;

beforeAll(async () => {
  const settings = { ROLLCALL_EGRESS_ALLOW: '127.0.0.1', ROLLCALL_SEALING_KEY: 'x'.repeat(32) };
  api = await startApi({ ...settings, ROLLCALL_RUNS_MAX: '0' }); // runs stay in the queue
  recorder = new StatementRecorder(api);
  targets = new AccessTargets(api);
  for (const name of [OWN, OTHER]) await api.call('POST', '/v1/namespaces', { body: { name } });
  key = await api.issueKeyIn(OWN, 'admin');
  neighbour = await api.issueKeyIn(OTHER, 'admin');
  ownLease = (await targets.make('agent', key)).leaseToken ?? '';
});
afterAll(async () => await api.stop());

interface Request {
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  credential?: string;
}

/** What a client and the database see of a request. The id is replaced, and values that always differ are removed. */
interface Trace {
  status: number;
  body: string;
  headers: [string, string][];
  statements: string[];
}

/** The credential is cached for a short time, and its last use is stored once a minute, so not every request sends these statements. */
const OF_CREDENTIAL = /FROM (api_key WHERE hash = \$1|agent WHERE token_hash = ANY)|UPDATE api_key SET last_used_at/;
/** The head of the log advances by itself, when events are sequenced between two requests. */
const VARYING_FIELDS = /"(requestId|next|head)":"[^"]*"|"nextIntervalMs":\d+/g;
const VARYING = new Set(['date', 'content-length', 'x-request-id']);

async function trace({ method, path, body, headers, credential = key }: Request, id: string): Promise<Trace> {
  const { result, statements } = await recorder.during(async () => {
    const response = await fetch(api.url + path, {
      method,
      headers: {
        authorization: `Bearer ${credential}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { response, text: await response.text() };
  });
  const { response, text } = result;
  return {
    status: response.status,
    body: text.replaceAll(id, '<id>').replace(VARYING_FIELDS, ''),
    headers: [...response.headers].filter(([name]) => !VARYING.has(name)),
    statements: statements.filter((sql) => !OF_CREDENTIAL.test(sql)),
  };
}

/** An id of the same form that no object has. */
function unknownId(id: string): string {
  if (/^\d+$/.test(id)) return '999999';
  const prefix = id.startsWith('wh_') ? 3 : 2;
  return id.slice(0, prefix) + 'f'.repeat(id.length - prefix);
}

/**
 * Sends the request with the id of an object of another namespace, and with an unknown id. If a batch in the background commits the
 * writes of one request, its statements are not recorded, so only a difference that occurs three times counts.
 */
async function both(target: Target, request: (target: Target) => Request): Promise<{ foreign: Trace; unknown: Trace }> {
  const missing = { ...target, id: unknownId(target.id) };
  await trace(request(missing), missing.id); // fills the caches of the credential
  for (let tries = 1; ; tries++) {
    const foreign = await trace(request(target), target.id);
    const unknown = await trace(request(missing), missing.id);
    if (tries === 3 || isDeepStrictEqual(foreign, unknown)) return { foreign, unknown };
  }
}

function requestTo(route: string, row: AccessRow, target: Target): Request {
  const [method = '', pattern = ''] = route.split(' ');
  return { method, path: pathTo(pattern, target) + (row.query ?? ''), body: row.body?.(target) };
}

const admits = (row: AccessRow, role: Role): boolean => row.roles.split(' ').includes(role);
const WITH_TARGET = Object.entries(ACCESS).filter(([, row]) => row.target && admits(row, 'admin'));
const WITH_LEASE = WITH_TARGET.filter(([, row]) => row.target === 'agent');

describe('an id of another namespace and an unknown id', () => {
  it.each(WITH_TARGET)('%s: both ids have the same response and the same statements', async (route, row) => {
    const target = await targets.make(row.target ?? 'agent', neighbour);
    const { foreign, unknown } = await both(target, (one) => requestTo(route, row, one));
    expect(foreign).toEqual(unknown);
    if (!row.installation && route !== 'POST /v1/heartbeats') expect(foreign.status).toBe(404);
  });

  it.each(WITH_LEASE)(
    '%s: with a lease token, both ids have the same response and the same statements',
    async (route, row) => {
      const target = await targets.make('agent', neighbour);
      const { foreign, unknown } = await both(target, (one) => ({
        ...requestTo(route, row, one),
        credential: ownLease,
      }));
      expect(foreign).toEqual(unknown);
    },
  );

  const run = async (): Promise<Target> => {
    const id = 'run-of-b';
    await api.call('POST', '/v1/budgets/runs', { key: neighbour, body: { runId: id } });
    return { id };
  };
  it.each<[string, () => Promise<Target>, (target: Target) => Request]>([
    [
      'a filter by the budget of a run',
      async () => await targets.make('budget', neighbour),
      ({ id }) => ({ method: 'GET', path: `/v1/budgets?under=${id}` }),
    ],
    [
      'a parent run',
      run,
      ({ id }) => ({ method: 'POST', path: '/v1/budgets/runs', body: { runId: 'child', parentRunId: id } }),
    ],
    [
      'the run of a reservation',
      run,
      ({ id }) => ({ method: 'POST', path: '/v1/budgets/reservations', body: { key: 'k', runId: id, tokens: 1 } }),
    ],
    [
      'a filter by subject',
      async () => await targets.make('agent', neighbour),
      ({ id }) => ({ method: 'GET', path: `/v1/budgets?subject=${id}` }),
    ],
    [
      'a filter of events by agent',
      async () => await targets.make('agent', neighbour),
      ({ id }) => ({ method: 'GET', path: `/v1/events?agentIds=${id}&after=0&limit=1` }),
    ],
    [
      'the header Rollcall-Namespace',
      async () => ({ id: OTHER }),
      ({ id }) => ({ method: 'GET', path: '/v1/agents', headers: { 'rollcall-namespace': id } }),
    ],
  ])('%s: both ids have the same response and the same statements', async (_name, make, request) => {
    const { foreign, unknown } = await both(await make(), request);
    expect(foreign).toEqual(unknown);
  });

  it('the recorder records the statements of a request, and no other statements', async () => {
    const { statements } = await trace({ method: 'GET', path: '/v1/agents/none' }, 'none');
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.join()).not.toContain('event_staging');
  });
});
