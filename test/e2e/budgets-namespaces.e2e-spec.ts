import { until } from '#rollcall/test-support';
import type { BudgetView } from '../../apps/api/src/budgets/budget.view.js';
import type { LedgerEntryView } from '../../apps/api/src/budgets/ledger.view.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer, CallOptions } from '../support/call.js';
import { registrationBody } from '../support/given.js';
import type { ReservationView } from '../../apps/api/src/budgets/reservations.dto.js';

type Page<Item> = { items: Item[]; nextCursor: string | null };

let api: TestApi;
let other: TestApi;
/** Admin keys of the two teams. */
let keyOfA: string;
let keyOfB: string;

beforeAll(async () => {
  api = await startApi();
  other = await api.replica();
  for (const name of ['team-a', 'team-b']) await api.call('POST', '/v1/namespaces', { body: { name } });
  keyOfA = await api.issueKeyIn('team-a', 'admin');
  keyOfB = await api.issueKeyIn('team-b', 'admin');
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

const inNamespace = (namespace: string): CallOptions => ({ headers: { 'rollcall-namespace': namespace } });
const open = async (body: object, options: CallOptions = {}): Promise<Answer<BudgetView & { code?: string }>> =>
  await api.call('POST', '/v1/budgets', { body: { limit: {}, ...body }, ...options });
const openRun = async (body: object, key: string): Promise<Answer<BudgetView & { code?: string }>> =>
  await api.call('POST', '/v1/budgets/runs', { body, key });
const reserve = async (
  body: object,
  options: CallOptions = {},
): Promise<Answer<ReservationView & { code?: string; detail?: string }>> =>
  await api.call('POST', '/v1/budgets/reservations', { body, ...options });
const list = async (query: string, options: CallOptions = {}): Promise<BudgetView[]> =>
  (await api.call<Page<BudgetView>>('GET', `/v1/budgets?limit=200&${query}`, options)).body.items;

describe('budgets of a namespace', () => {
  it('have their own subjects: the same caller, run or agent has one budget in each namespace', async () => {
    for (const key of [keyOfA, keyOfB]) {
      const namespace = key === keyOfA ? 'team-a' : 'team-b';
      await api.call('POST', '/v1/agents', { key, body: registrationBody({ agentId: 'twin' }) });
      expect(await open({ kind: 'caller', subject: 'oidc:a/b' }, { key })).toMatchObject({
        status: 201,
        body: { namespace, kind: 'caller', subject: 'oidc:a/b' },
      });
      expect(await open({ kind: 'namespace', window: 'daily' }, { key })).toMatchObject({
        status: 201,
        body: { namespace, subject: namespace },
      });
      expect(await openRun({ runId: 'run-1' }, key)).toMatchObject({
        status: 201,
        body: { namespace, subject: 'run-1' },
      });
      expect(await open({ kind: 'agent', subject: 'twin', window: 'daily' }, { key })).toMatchObject({ status: 201 });
      expect(await open({ kind: 'caller', subject: 'oidc:a/b' }, { key })).toMatchObject({
        status: 409,
        body: { code: 'BUDGET_EXISTS', detail: expect.stringContaining('caller "oidc:a/b"') as unknown },
      });
    }
    const ofAgent = await api.call('GET', '/v1/agents/twin/budget', { key: keyOfA });
    expect(ofAgent.body).toMatchObject({
      namespace: 'team-a',
      agentId: 'twin',
      budgets: [
        { namespace: 'team-a', subject: 'twin', window: 'total' },
        { namespace: 'team-a', subject: 'twin', window: 'daily' },
      ],
    });
  });

  it('are listed only in their namespace, by their local subjects', async () => {
    for (const options of [{ key: keyOfA }, inNamespace('team-a')]) {
      const namespaces = new Set((await list('', options)).map(({ namespace }) => namespace));
      namespaces.delete('*');
      expect(namespaces).toEqual(new Set(['team-a']));
      expect(await list('subject=oidc:a/b', options)).toMatchObject([{ namespace: 'team-a', kind: 'caller' }]);
      expect(await list('kind=namespace&subject=team-a', options)).toMatchObject([{ namespace: 'team-a' }]);
      for (const foreign of ['team-b', 'team-b/run-1', 'team-b/twin', 'team-b/oidc:a/b', 'team-a/twin'])
        expect(await list(`subject=${encodeURIComponent(foreign)}`, options)).toEqual([]);
    }
    const everywhere = await list('kind=run', inNamespace('*'));
    expect(everywhere.map(({ namespace, subject }) => [namespace, subject])).toEqual([
      ['team-a', 'run-1'],
      ['team-b', 'run-1'],
    ]);
    expect(await api.call('GET', '/v1/budgets?subject=run-1', inNamespace('*'))).toMatchObject({
      status: 400,
      body: { code: 'NAMESPACE_REQUIRED' },
    });
  });

  it('are not found from another namespace, on any route or replica; the response is the same as for a missing budget', async () => {
    const foreign = (await list('kind=run', { key: keyOfB }))[0]?.id ?? '';
    const before = (await api.call<BudgetView>('GET', `/v1/budgets/${foreign}`, { key: keyOfB })).body;
    const missing = '999999999';
    const routes: [string, (id: string) => string, object?][] = [
      ['GET', (id) => `/v1/budgets/${id}`],
      ['GET', (id) => `/v1/budgets/${id}/ledger`],
      ['GET', (id) => `/v1/budgets/${id}/forecast`],
      ['GET', (id) => `/v1/budgets?under=${id}`],
      ['POST', (id) => `/v1/budgets/${id}/topup`, { tokens: 5 }],
      ['POST', (id) => `/v1/budgets/${id}/adjust`, { limit: { tokens: 5 }, note: 'mine' }],
    ];
    for (const [method, pathOf, body] of routes) {
      for (const options of [{ key: keyOfA }, inNamespace('team-a'), { key: await api.given.key('operator') }]) {
        const call = async (budgetId: string): Promise<Answer> =>
          await other.call(method, pathOf(budgetId), { key: api.adminKey, ...options, body });
        const [hidden, none] = [await call(foreign), await call(missing)];
        expect({ path: pathOf('id'), ...hidden }).toMatchObject({ status: 404, body: { code: 'BUDGET_NOT_FOUND' } });
        expect(String(hidden.body['detail']).replace(foreign, missing)).toBe(none.body['detail']);
      }
    }
    expect((await api.call('GET', `/v1/budgets/${foreign}`, { key: keyOfB })).body).toEqual(before);
  });

  it('agents and runs of another namespace cannot be charged, and its runs cannot be parents', async () => {
    await api.call('POST', '/v1/agents', { key: keyOfB, body: registrationBody({ agentId: 'only-b' }) });
    await openRun({ runId: 'only-b' }, keyOfB);
    for (const spelled of ['only-b', 'team-b/only-b']) {
      for (const field of ['agentId', 'runId']) {
        const refused = await reserve({ key: 'x', [field]: spelled, tokens: 1 }, { key: keyOfA });
        expect(refused).toMatchObject({ status: 404, body: { code: 'BUDGET_NOT_FOUND' } });
        const missing = await reserve({ key: 'x', [field]: 'no-such', tokens: 1 }, { key: keyOfA });
        expect(refused.body.detail?.replace(spelled, 'no-such')).toBe(missing.body.detail);
      }
      const child = await openRun({ runId: 'child', parentRunId: spelled }, keyOfA);
      expect(child).toMatchObject({ status: 404, body: { code: 'BUDGET_NOT_FOUND' } });
    }
    expect((await api.call('GET', '/v1/agents/only-b/budget', { key: keyOfA })).status).toBe(404);
  });

  it('an operator of one namespace reconciles only the budgets of that namespace', async () => {
    const checkedIn = async (options: CallOptions): Promise<unknown> =>
      (await api.call<{ checked: number }>('GET', '/v1/budgets/reconciliation', options)).body.checked;
    expect(await checkedIn({ key: keyOfA })).toBe((await list('', { key: keyOfA })).length);
    expect(await checkedIn(inNamespace('*'))).toBe((await list('', inNamespace('*'))).length);
    await api.database.db.query(
      `UPDATE budget SET used_tokens = used_tokens + 1 WHERE namespace = 'team-b' AND kind = 'run'`,
    );
    for (const [key, found] of [
      [keyOfA, 0],
      [keyOfB, 2],
    ] as const) {
      const { body } = await api.call<{ discrepancies: object[] }>('GET', '/v1/budgets/reconciliation', { key });
      expect(body.discrepancies).toHaveLength(found);
    }
    await api.database.db.query(
      `UPDATE budget SET used_tokens = used_tokens - 1 WHERE namespace = 'team-b' AND kind = 'run'`,
    );
  });
});

describe('reservations in a namespace', () => {
  it('one credential uses the same key in several namespaces, and settles each reservation in its own namespace', async () => {
    for (const [index, namespace] of ['team-a', 'team-b'].entries()) {
      const body = { key: 'call-1', runId: 'run-1', tokens: 10 + index };
      expect(await reserve(body, inNamespace(namespace))).toMatchObject({
        status: 201,
        body: { namespace, key: 'call-1', runId: 'run-1', held: { tokens: 10 + index } },
      });
    }
    const at = async (
      method: string,
      path: string,
      namespace: string,
      body?: object,
    ): Promise<Answer<ReservationView>> =>
      await other.call(method, `/v1/budgets/reservations/call-1${path}`, {
        key: api.adminKey,
        body,
        ...inNamespace(namespace),
      });
    expect((await at('POST', '/settle', 'team-a', { tokens: 4 })).body).toMatchObject({ state: 'settled' });
    expect((await at('GET', '', 'team-b')).body).toMatchObject({ state: 'held', namespace: 'team-b' });
    for (const [path, body] of [
      ['/settle', { tokens: 1 }],
      ['/release', undefined],
      ['/renew', {}],
    ] as const)
      expect(await at('POST', path, 'default', body)).toMatchObject({ status: 404 });
    expect(await at('GET', '', 'default')).toMatchObject({ status: 404 });
    const usage = async (key: string): Promise<unknown> => (await list('kind=run&subject=run-1', { key }))[0];
    expect(await usage(keyOfA)).toMatchObject({ usage: { own: { tokens: 4 } }, reserved: { tokens: 0 } });
    expect(await usage(keyOfB)).toMatchObject({ usage: { own: { tokens: 0 } }, reserved: { tokens: 11 } });
    await at('POST', '/release', 'team-b');
  });

  it('a namespace with held reservations cannot be deleted; a namespace with budgets can', async () => {
    await api.call('POST', '/v1/namespaces', { body: { name: 'brief' } });
    await open({ kind: 'namespace', limit: { tokens: 5 } }, inNamespace('brief'));
    await reserve({ key: 'x', tokens: 5 }, inNamespace('brief'));
    const described = await api.call('GET', '/v1/namespaces/brief');
    expect(described.body).toMatchObject({ use: { reservations: 1 } });
    expect(await api.call('DELETE', '/v1/namespaces/brief')).toMatchObject({
      status: 409,
      body: { code: 'NAMESPACE_NOT_EMPTY', contains: { reservations: 1 } },
    });
    await api.call('POST', '/v1/budgets/reservations/x/release', inNamespace('brief'));
    expect((await api.call('DELETE', '/v1/namespaces/brief')).status).toBe(204);
  });
});

describe('the budget of a namespace and of the fleet', () => {
  it('the subject of a budget of the kind namespace is the namespace of the request', async () => {
    expect(await open({ kind: 'namespace', subject: 'team-b' }, { key: keyOfA })).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED' },
    });
    expect(await open({ kind: 'namespace' }, inNamespace('*'))).toMatchObject({
      status: 400,
      body: { code: 'NAMESPACE_REQUIRED' },
    });
  });

  it('only a credential for all namespaces opens, sees and changes the budget of the fleet', async () => {
    for (const key of [keyOfA, await api.given.key('operator')]) {
      expect(await open({ kind: 'fleet' }, { key })).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    }
    const fleet = await open({ kind: 'fleet', limit: { tokens: 1_000 } }, inNamespace('*'));
    expect(fleet).toMatchObject({ status: 201, body: { namespace: '*', kind: 'fleet', subject: 'fleet' } });
    const path = `/v1/budgets/${fleet.body.id}`;
    expect(await list('kind=fleet', { key: keyOfA })).toEqual([]);
    expect((await list('kind=fleet')).length).toBe(1);
    for (const suffix of ['', '/ledger', '/forecast'])
      expect((await api.call('GET', path + suffix, { key: keyOfA })).status).toBe(404);
    const raise = { body: { tokens: 1 } };
    expect((await api.call('POST', `${path}/topup`, { key: keyOfA, ...raise })).status).toBe(404);
    expect((await api.call('POST', `${path}/topup`, raise)).body).toMatchObject({ limit: { tokens: 1_001 } });

    await reserve({ key: 'fleet-b', tokens: 987 }, { key: keyOfB });
    const refused = await reserve({ key: 'fleet-a', tokens: 15 }, { key: keyOfA });
    expect(refused).toMatchObject({ status: 402, body: { code: 'BUDGET_EXHAUSTED', budget: { kind: 'fleet' } } });
    expect(JSON.stringify(refused.body)).not.toMatch(/987|1001|team-b/);
    await api.call('POST', '/v1/budgets/reservations/fleet-b/settle', { key: keyOfB, body: { tokens: 3 } });
    const ledger = await api.call<Page<LedgerEntryView>>('GET', `${path}/ledger`, inNamespace('*'));
    expect(ledger.body.items[0]).toMatchObject({
      kind: 'charged',
      tokens: 3,
      by: expect.stringMatching(/^key:/) as unknown,
    });
    await api.call('POST', `${path}/adjust`, { body: { limit: { tokens: null }, note: 'end of the test' } });
  });

  it('an exhausted budget of one agent removes only this agent from queries, on both replicas', async () => {
    const budget = { totalTokens: 100, source: 'ledger' };
    for (const key of [keyOfA, keyOfB])
      await api.call('POST', '/v1/agents', {
        key,
        body: registrationBody({ agentId: 'thrifty', capabilities: ['thrift'], budget }),
      });
    const candidates = async (at: TestApi, key: string): Promise<number> => {
      const body = { capabilities: ['thrift'] };
      const answer = await at.call<{ candidates: object[] }>('POST', '/v1/agents/query', { key, body });
      return answer.body.candidates.length;
    };
    await until('the other replica finds the agents', async () => (await candidates(other, keyOfA)) === 1);
    await reserve({ key: 'thrift', agentId: 'thrifty', tokens: 100 }, { key: keyOfA });
    await api.call('POST', '/v1/budgets/reservations/thrift/settle', { key: keyOfA, body: { tokens: 100 } });
    expect(await candidates(api, keyOfA)).toBe(0);
    await until('the other replica excludes the agent', async () => (await candidates(other, keyOfA)) === 0);
    for (const at of [api, other]) expect(await candidates(at, keyOfB)).toBe(1);
  });
});
