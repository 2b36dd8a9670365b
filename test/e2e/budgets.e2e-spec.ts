import { until } from '#rollcall/test-support';
import { LangfuseServer } from '#rollcall/providers/testing';
import type { BudgetView } from '../../apps/api/src/budgets/budget.view.js';
import type { ForecastView, LedgerEntryView } from '../../apps/api/src/budgets/ledger.view.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import type { ReservationView } from '../../apps/api/src/budgets/reservations.dto.js';

let langfuse: LangfuseServer;
let api: TestApi;

beforeAll(async () => {
  langfuse = await LangfuseServer.start();
  api = await startApi({
    LANGFUSE_BASE_URL: langfuse.url,
    LANGFUSE_PUBLIC_KEY: langfuse.keys.publicKey,
    LANGFUSE_SECRET_KEY: langfuse.keys.secretKey,
    ROLLCALL_LANGFUSE_REFRESH_EVERY: '100ms',
    ROLLCALL_QUOTAS: 'budgetShare=0', // shares are tested in budget-shares
    ROLLCALL_MODELS: JSON.stringify({
      default: 'priced',
      presets: { priced: { vendor: 'scripted', model: 'echo', usdPerMillionTokens: { input: 3, output: 15 } } },
    }),
  });
});
afterAll(async () => {
  await api.stop();
  await langfuse.close();
});

const open = async (body: object, key?: string): Promise<{ status: number; body: BudgetView & { code?: string } }> =>
  await api.call('POST', '/v1/budgets', { body, key });
const reserve = async (
  body: object,
  key?: string,
): Promise<{ status: number; body: ReservationView & { code?: string } }> =>
  await api.call('POST', '/v1/budgets/reservations', { body, key });

async function registerWithBudget(agentId: string, budget: object): Promise<void> {
  await api.given.agent({ agentId, capabilities: [agentId], budget });
}

async function candidates(capability: string): Promise<unknown[]> {
  const { body } = await api.call<{ candidates: unknown[] }>('POST', '/v1/agents/query', {
    body: { capabilities: [capability] },
  });
  return body.candidates;
}

describe('budgets over REST', () => {
  it('S3.10 creates, reads, lists by cursor, tops up and adjusts budgets, and each change is in the audit log', async () => {
    const made = await open({ kind: 'caller', subject: 'key:x', window: 'daily', limit: { tokens: 100 } });
    expect(made).toMatchObject({
      status: 201,
      body: {
        kind: 'caller',
        subject: 'key:x',
        window: 'daily',
        limit: { tokens: 100, microUsd: null },
        usage: { own: { tokens: 0 }, subtree: { tokens: 0 } },
        condition: 'ample',
        freshness: null,
      },
    });
    const { id } = made.body;
    await open({ kind: 'caller', subject: 'key:x', window: 'monthly', limit: { microUsd: 5 } });
    const first = await api.call<{ items: BudgetView[]; nextCursor: string }>(
      'GET',
      '/v1/budgets?subject=key:x&limit=1',
    );
    const second = await api.call<{ items: BudgetView[]; nextCursor: null }>(
      'GET',
      `/v1/budgets?subject=key:x&limit=1&cursor=${first.body.nextCursor}`,
    );
    expect([first, second].flatMap(({ body }) => body.items.map(({ window }) => window))).toEqual(['daily', 'monthly']);
    expect(second.body.nextCursor).toBeNull();
    const topped = await api.call('POST', `/v1/budgets/${id}/topup`, { body: { tokens: 50, note: 'more' } });
    expect(topped.body).toMatchObject({ limit: { tokens: 150 } });
    const adjusted = await api.call('POST', `/v1/budgets/${id}/adjust`, {
      body: { limit: { microUsd: 7 }, used: { tokens: 149 }, note: 'as billed' },
    });
    expect(adjusted.body).toMatchObject({
      limit: { tokens: 150, microUsd: 7 },
      available: { tokens: 1 },
      condition: 'low',
    });
    const ledger = await api.call<{ items: LedgerEntryView[]; nextCursor: string }>(
      'GET',
      `/v1/budgets/${id}/ledger?limit=2`,
    );
    expect(ledger.body.items).toMatchObject([
      { kind: 'adjusted', tokens: 149, note: 'as billed', limit: { tokens: 150, microUsd: 7 } },
      { kind: 'topped_up', tokens: 0, note: 'more', limit: { tokens: 150, microUsd: null } },
    ]);
    const older = await api.call<{ items: LedgerEntryView[] }>(
      'GET',
      `/v1/budgets/${id}/ledger?cursor=${ledger.body.nextCursor}`,
    );
    expect(older.body.items.map(({ kind }) => kind)).toEqual(['opened']);
    const audit = await api.call<{ items: { action: string; target: string }[] }>('GET', '/v1/audit');
    expect(audit.body.items.filter(({ target }) => target === id).map(({ action }) => action)).toEqual([
      'budget.adjusted',
      'budget.topped_up',
      'budget.opened',
    ]);
    const forecast = await api.call<ForecastView>('GET', `/v1/budgets/${id}/forecast?hours=1`);
    expect(forecast.body).toMatchObject({ tokens: { perHour: 0, available: 1, runsOutAt: null }, runsOutAt: null });
  });

  it('S3.10 an external runtime can reserve an amount, settle it by the price list, or release it', async () => {
    const key = await api.given.key('caller');
    const agent = 'spender';
    await registerWithBudget(agent, { totalTokens: 10_000, source: 'ledger' });
    const run = await open({ kind: 'run', subject: 'run-1', limit: { microUsd: 50_000 } });
    const held = await reserve(
      { key: 'run-1/1', agentId: agent, runId: 'run-1', tokens: 4_000, microUsd: 40_000 },
      key,
    );
    expect(held).toMatchObject({ status: 201, body: { state: 'held', held: { tokens: 4_000, microUsd: 40_000 } } });
    expect(
      (await reserve({ key: 'run-1/1', agentId: agent, runId: 'run-1', tokens: 4_000, microUsd: 40_000 }, key)).status,
    ).toBe(201);
    const settled = await api.call<ReservationView>('POST', '/v1/budgets/reservations/run-1%2F1/settle', {
      key,
      body: { model: 'priced', usage: { inputTokens: 1_000, outputTokens: 500 } },
    });
    expect(settled.body).toMatchObject({
      state: 'settled',
      used: { tokens: 1_500, microUsd: 10_500 },
      overdraft: false,
    });
    const { body } = await api.call<BudgetView>('GET', `/v1/budgets/${run.body.id}`);
    expect(body).toMatchObject({ usage: { own: { microUsd: 10_500 } }, available: { microUsd: 39_500 } });
    await reserve({ key: 'run-1/2', agentId: agent, tokens: 8_500 }, key);
    const refused = await reserve({ key: 'run-1/3', agentId: agent, tokens: 1 }, key);
    expect(refused).toMatchObject({
      status: 402,
      body: {
        code: 'BUDGET_EXHAUSTED',
        asked: 1,
        budget: { subject: agent, limit: 10_000, used: 1_500, reserved: 8_500 },
      },
    });
    const released = await api.call('POST', '/v1/budgets/reservations/run-1%2F2/release', { key });
    expect(released).toMatchObject({ status: 200, body: { state: 'released' } });
    const byOther = await api.call('POST', '/v1/budgets/reservations/run-1%2F2/settle', { body: { tokens: 1 } });
    expect(byOther).toMatchObject({ status: 404, body: { code: 'RESERVATION_NOT_FOUND' } });
    const seen = await api.call('GET', `/v1/agents/${agent}/budget`);
    expect(seen.body).toMatchObject({
      agentId: agent,
      budget: { usedTokens: 1_500, remaining: 8_500 },
      budgets: [{ window: 'total' }],
    });
    expect((await api.call('GET', '/v1/budgets/reconciliation')).body).toMatchObject({ discrepancies: [] });
  });

  it('B2 a budget limits a tree of runs of an external runtime, and reports the own usage and the subtree usage of each run', async () => {
    const key = await api.given.key('caller');
    const openRun = async (body: object): Promise<BudgetView> =>
      (await api.call<BudgetView>('POST', '/v1/budgets/runs', { key, body })).body;
    const root = await openRun({ runId: 'tree', limit: { tokens: 100 } });
    const child = await openRun({ runId: 'tree/a', parentRunId: 'tree' });
    expect(await openRun({ runId: 'tree/a', parentRunId: 'tree' })).toEqual(child);
    expect((await reserve({ key: 'x', runId: 'tree/a', tokens: 101 }, key)).status).toBe(402);
    await reserve({ key: 'y', runId: 'tree/a', tokens: 60 }, key);
    await api.call('POST', '/v1/budgets/reservations/y/settle', { key, body: { tokens: 60 } });
    const { body } = await api.call<BudgetView>('GET', `/v1/budgets/${root.id}`);
    expect(body.usage).toMatchObject({ own: { tokens: 0 }, subtree: { tokens: 60 } });
    const below = await api.call<{ items: BudgetView[] }>('GET', `/v1/budgets?under=${root.id}`);
    expect(below.body.items).toMatchObject([{ subject: 'tree/a', usage: { own: { tokens: 60 } }, path: [root.id] }]);
  });

  it('B2 the owner of a reservation renews it; other callers cannot renew it', async () => {
    const held = await reserve({ key: 'long', tokens: 5, ttlSeconds: 60 });
    const renew = async (key?: string): Promise<Answer<ReservationView>> =>
      await api.call<ReservationView>('POST', '/v1/budgets/reservations/long/renew', {
        key,
        body: { ttlSeconds: 600 },
      });
    const { status, body } = await renew();
    expect([status, body.state]).toEqual([200, 'held']);
    const longer = Date.parse(body.expiresAt) - Date.parse(held.body.expiresAt);
    expect(longer).toBeGreaterThanOrEqual(540_000);
    expect(await renew(await api.given.key('caller'))).toMatchObject({ status: 404 });
    await api.call('POST', '/v1/budgets/reservations/long/release');
    expect(await renew()).toMatchObject({ status: 409, body: { code: 'RESERVATION_CLOSED' } });
  });

  it('S3.10 the budget of a caller limits only the requests with the key of this caller', async () => {
    const key = await api.given.key('caller');
    const me = await api.call<{ id: string }>('GET', '/v1/me', { key });
    await open({ kind: 'caller', subject: me.body.id, limit: { tokens: 5 } });
    expect((await reserve({ key: 'a', tokens: 5 }, key)).status).toBe(201);
    expect((await reserve({ key: 'b', tokens: 1 }, key)).status).toBe(402);
    expect((await reserve({ key: 'b', tokens: 1 })).status).toBe(201);
  });

  it('S3.10 an exhausted budget removes its agent from the ranking, and a top-up adds it again', async () => {
    await registerWithBudget('thrifty', { totalTokens: 100, source: 'ledger' });
    await until('the agent is found', async () => (await candidates('thrifty')).length === 1);
    await reserve({ key: 't', agentId: 'thrifty', tokens: 100 });
    await api.call('POST', '/v1/budgets/reservations/t/settle', { body: { tokens: 100 } });
    expect(await candidates('thrifty')).toEqual([]);
    const { body } = await api.call<{ budgets: BudgetView[] }>('GET', '/v1/agents/thrifty/budget');
    await api.call('POST', `/v1/budgets/${body.budgets[0]?.id}/topup`, { body: { tokens: 1_000_000 } });
    await until('the agent is found again', async () => (await candidates('thrifty')).length === 1);
  });

  it('S3.10 a charge on one replica changes the ranking on another', async () => {
    const other = await api.replica();
    await registerWithBudget('shared', { totalTokens: 100, source: 'ledger' });
    const foundByOther = async (): Promise<number> =>
      (await other.call<{ candidates: [] }>('POST', '/v1/agents/query', { body: { capabilities: ['shared'] } })).body
        .candidates.length;
    await until('the other replica finds the agent', async () => (await foundByOther()) === 1);
    await reserve({ key: 's', agentId: 'shared', tokens: 100 });
    await api.call('POST', '/v1/budgets/reservations/s/settle', { body: { tokens: 100 } });
    await until('the other replica no longer finds the agent', async () => (await foundByOther()) === 0);
    await other.stop();
  });

  it('S3.10 budgets with source langfuse are refreshed periodically and report their freshness', async () => {
    langfuse.traced.push({
      agentId: 'traced',
      totalTokens: 123_456,
      totalCost: 1.5,
      at: new Date('2026-02-24T10:00:00Z'),
    });
    await registerWithBudget('traced', { totalTokens: 500_000, source: 'langfuse' });
    type AgentBudgets = { budget: object; budgets: BudgetView[] };
    const read = async (): Promise<AgentBudgets> =>
      (await api.call<AgentBudgets>('GET', '/v1/agents/traced/budget')).body;
    await until('the budget is refreshed', async () => (await read()).budgets[0]?.freshness?.ageMs !== null);
    expect(await read()).toMatchObject({
      budget: { totalTokens: 500_000, usedTokens: 123_456, remaining: 376_544, source: 'langfuse' },
      budgets: [{ freshness: { error: null } }],
    });
    langfuse.fault = { status: 500 };
    await until('the error is reported', async () => (await read()).budgets[0]?.freshness?.error !== null);
    await until('the budget is stale', async () => (await read()).budgets[0]?.freshness?.stale === true);
    expect(await read()).toMatchObject({ budget: { usedTokens: 123_456 } });
    langfuse.fault = undefined;
    await until('the budget is fresh again', async () => (await read()).budgets[0]?.freshness?.error === null);
  });
});

describe('null in an optional field', () => {
  it('S3.10 null in an optional field means the same as a missing field: it is neither 0 nor an error', async () => {
    const made = await open({
      kind: 'run',
      subject: 'n-1',
      window: null,
      timeZone: null,
      source: null,
      limit: { tokens: 100 },
    });
    expect(made).toMatchObject({ status: 201, body: { window: 'total', timeZone: 'UTC', source: 'ledger' } });
    const run = await api.call('POST', '/v1/budgets/runs', { body: { runId: 'n-2', parentRunId: 'n-1', limit: null } });
    expect(run.status).toBe(201);
    const fields = { runId: 'n-1', microUsd: null, atLeastTokens: null, ttlSeconds: null };
    expect((await reserve({ key: 'n-1', ...fields, tokens: 101 })).status).toBe(402);
    expect((await reserve({ key: 'n-2', ...fields, tokens: 60 })).status).toBe(201);
    const usage = { inputTokens: null, outputTokens: 10 };
    const settled = await api.call('POST', '/v1/budgets/reservations/n-2/settle', { body: { model: null, usage } });
    expect(settled.body).toMatchObject({ used: { tokens: 60 }, estimated: true });
    const adjusted = await api.call('POST', `/v1/budgets/${made.body.id}/adjust`, {
      body: { note: 'as billed', used: { tokens: null, microUsd: 5 } },
    });
    expect(adjusted.body).toMatchObject({ usage: { subtree: { tokens: 60, microUsd: 5 } } });
  });
});

describe('invalid budget input', () => {
  it.each([
    ['no limit', { kind: 'agent', subject: 'a' }, 400, 'VALIDATION_FAILED'],
    ['no subject', { kind: 'agent', limit: {} }, 400, 'VALIDATION_FAILED'],
    ['an unknown kind', { kind: 'planet', subject: 'a', limit: {} }, 400, 'VALIDATION_FAILED'],
    ['a fraction of a token', { kind: 'agent', subject: 'a', limit: { tokens: 0.5 } }, 400, 'VALIDATION_FAILED'],
    ['a negative limit', { kind: 'agent', subject: 'a', limit: { tokens: -1 } }, 400, 'VALIDATION_FAILED'],
    ['an unknown field', { kind: 'agent', subject: 'a', limit: {}, colour: 'red' }, 400, 'VALIDATION_FAILED'],
    ['an unknown time zone', { kind: 'namespace', window: 'daily', timeZone: 'X/Y', limit: {} }, 400, 'INVALID_BUDGET'],
    ['an unknown parent', { kind: 'run', subject: 'r', parentRunId: 'no', limit: {} }, 404, 'BUDGET_NOT_FOUND'],
  ])('S3.10 rejects a budget with %s', async (_, body, status, code) => {
    expect(await open(body)).toMatchObject({ status, body: { code } });
  });

  it('S3.10 rejects invalid ids, cursors and amounts, and lets no viewer reserve or create a budget', async () => {
    expect((await api.call('GET', '/v1/budgets/x')).status).toBe(400);
    expect((await api.call('GET', '/v1/budgets/999999')).body).toMatchObject({ code: 'BUDGET_NOT_FOUND' });
    expect((await api.call('GET', '/v1/budgets?cursor=abc')).body).toMatchObject({ code: 'CURSOR_INVALID' });
    expect((await reserve({ key: 'k', tokens: -1 })).status).toBe(400);
    expect((await reserve({ key: 'k', agentId: 'nobody', tokens: 1 })).body).toMatchObject({
      code: 'BUDGET_NOT_FOUND',
    });
    const viewer = await api.given.key('viewer');
    expect((await reserve({ key: 'k', tokens: 1 }, viewer)).status).toBe(403);
    expect((await open({ kind: 'namespace', limit: {} }, viewer)).status).toBe(403);
    expect((await open({ kind: 'namespace', limit: {} }, await api.given.key('caller'))).status).toBe(403);
  });
});
