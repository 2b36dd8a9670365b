import type { BudgetView } from '../../apps/api/src/budgets/budget.view.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import type { ReservationView } from '../../apps/api/src/budgets/reservations.dto.js';

type Rejectable<Body> = Answer<Body & { code?: string; limit?: number; detail?: string }>;

let api: TestApi;
let callerKey: string;
let operatorKey: string;

beforeAll(async () => {
  const limits = { largest: { tokens: 1_000_000, microUsd: 5_000_000 }, longestMs: 3_600_000 };
  api = await startApi({}, { constants: { budgets: { limits, runDepth: 4 } } });
  callerKey = await api.given.key('caller');
  operatorKey = await api.given.key('operator');
});
afterAll(async () => await api.stop());

const post = async <Body>(path: string, body: object, key: string): Promise<Rejectable<Body>> =>
  await api.call('POST', `/v1/budgets${path}`, { body, key });
const reserve = async (body: object, key = callerKey): Promise<Rejectable<ReservationView>> =>
  await post('/reservations', body, key);
const settle = async (reservation: string, body: object, key = callerKey): Promise<Rejectable<ReservationView>> =>
  await post(`/reservations/${reservation}/settle`, body, key);

async function namespaceBudget(): Promise<BudgetView | undefined> {
  const { body } = await api.call<{ items: BudgetView[] }>('GET', '/v1/budgets?kind=namespace');
  return body.items[0];
}

describe('spending with a caller key', () => {
  beforeAll(async () => {
    const { status } = await post(
      '',
      { kind: 'namespace', limit: { tokens: 1_000_000, microUsd: 9_000_000 } },
      operatorKey,
    );
    expect(status).toBe(201);
  });

  it('A5 rejects a settlement above ten times its reservation, and the reservation stays held', async () => {
    await reserve({ key: 'absurd', tokens: 1 });
    const refused = await settle('absurd', { tokens: 1_000_000_000_000 });
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'SETTLEMENT_TOO_LARGE', unit: 'tokens', reserved: 1, used: 1_000_000_000_000, limit: 10 },
    });
    expect(refused.body.detail).toContain('budgets:write');
    const { body } = await api.call<ReservationView>('GET', '/v1/budgets/reservations/absurd', { key: callerKey });
    expect(body).toMatchObject({ state: 'held', used: null });
    expect((await namespaceBudget())?.usage.subtree.tokens).toBe(0);
    expect(await reserve({ key: 'others', tokens: 10 }, operatorKey)).toMatchObject({ status: 201 });
    expect(await settle('absurd', { tokens: 10 })).toMatchObject({ status: 200, body: { overdraft: true } });
  });

  it('A5 if no money was reserved, the reserved tokens limit the money that can be settled', async () => {
    await reserve({ key: 'money', tokens: 10 });
    const refused = await settle('money', { tokens: 10, microUsd: 1_000_000_000_000 });
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'SETTLEMENT_TOO_LARGE', unit: 'microUsd', limit: 10_000 },
    });
    expect(await settle('money', { tokens: 10, microUsd: 6_000 })).toMatchObject({ status: 200 });
  });

  it('A5 rejects all concurrent settlements that are too large', async () => {
    await reserve({ key: 'raced', tokens: 2 });
    const before = (await namespaceBudget())?.usage.subtree.tokens ?? 0;
    const answers = await Promise.all(Array.from({ length: 20 }, async () => await settle('raced', { tokens: 21 })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
    expect((await namespaceBudget())?.usage.subtree.tokens).toBe(before);
  });

  it('A5 allows any settlement with budgets:write', async () => {
    await reserve({ key: 'operators', tokens: 1 }, operatorKey);
    expect(await settle('operators', { tokens: 5_000 }, operatorKey)).toMatchObject({
      status: 200,
      body: { state: 'settled', used: { tokens: 5_000 }, overdraft: true },
    });
  });

  it('A5 rejects a settlement that is too large each time, and does not store the rejection', async () => {
    await reserve({ key: 'keyed', tokens: 1 });
    const path = '/v1/budgets/reservations/keyed/settle';
    const send = async (tokens: number): Promise<Answer> =>
      await api.call('POST', path, {
        body: { tokens },
        key: callerKey,
        headers: { 'idempotency-key': `settle-${tokens}` },
      });
    expect([(await send(11)).status, (await send(11)).status, (await send(10)).status]).toEqual([403, 403, 200]);
  });

  it('A5 limits the size and the duration of a reservation', async () => {
    const tooMany = await reserve({ key: 'tokens', tokens: 1_000_001 });
    expect(tooMany).toMatchObject({
      status: 403,
      body: { code: 'RESERVATION_TOO_LARGE', field: 'tokens', limit: 1_000_000 },
    });
    expect(tooMany.body.detail).toContain('Reserve less, or use a credential that has budgets:write.');
    const tooDear = await reserve({ key: 'money-2', tokens: 1, microUsd: 5_000_001 });
    expect(tooDear).toMatchObject({ status: 403, body: { field: 'microUsd', limit: 5_000_000 } });
    const tooLong = await reserve({ key: 'long', tokens: 1, ttlSeconds: 3_601 });
    expect(tooLong).toMatchObject({ status: 403, body: { field: 'ttlSeconds', limit: 3_600 } });
    await reserve({ key: 'renewed', tokens: 1 });
    expect(await post('/reservations/renewed/renew', { ttlSeconds: 3_601 }, callerKey)).toMatchObject({ status: 403 });
    expect(await reserve({ key: 'long', tokens: 1, ttlSeconds: 3_601 }, operatorKey)).toMatchObject({ status: 201 });
  });
});

describe('a tree of runs', () => {
  const openRun = async (runId: string, parentRunId?: string): Promise<Rejectable<BudgetView>> =>
    await post('/runs', { runId, parentRunId }, callerKey);

  it('A18 rejects a run beyond the maximum depth', async () => {
    for (const level of [1, 2, 3, 4])
      expect((await openRun(`run-${level}`, level > 1 ? `run-${level - 1}` : undefined)).status).toBe(201);
    const refused = await openRun('run-5', 'run-4');
    expect(refused).toMatchObject({ status: 400, body: { code: 'RUN_TREE_TOO_DEEP', limit: 4 } });
    expect(refused.body.detail).toContain('the limit is 4. Delegate from a run nearer to the root.');
    const byOperator = { kind: 'run', subject: 'run-5', limit: {}, parentRunId: 'run-4' };
    expect(await post('', byOperator, operatorKey)).toMatchObject({ status: 400, body: { code: 'RUN_TREE_TOO_DEEP' } });
    expect((await openRun('run-2b', 'run-3')).status).toBe(201);
  });
});
