import { until } from '#rollcall/test-support';
import type { BudgetView } from '../../apps/api/src/budgets/budget.view.js';
import type { LedgerEntryView } from '../../apps/api/src/budgets/ledger.view.js';
import { startApi, type TestApi } from '../support/api.js';
import type { GivenAgent } from '../support/given.js';

let api: TestApi;
let agent: GivenAgent;

beforeAll(async () => {
  api = await startApi();
  agent = await api.given.agent({ agentId: 'reporter', budget: { totalTokens: 2_000, source: 'reported' } });
});
afterAll(async () => await api.stop());

async function beat(usedTokens: number): Promise<void> {
  const { agentId, generation, leaseToken: key } = agent;
  const { status } = await api.call('POST', `/v1/agents/${agentId}/heartbeat`, {
    key,
    body: { generation, usedTokens },
  });
  expect(status).toBe(200);
}

async function reserve(key: string, tokens: number): Promise<number> {
  return (await api.call('POST', '/v1/budgets/reservations', { body: { key, agentId: 'reporter', tokens } })).status;
}

async function settle(key: string, tokens: number): Promise<unknown> {
  return (await api.call('POST', `/v1/budgets/reservations/${key}/settle`, { body: { tokens } })).body;
}

async function budget(): Promise<BudgetView> {
  const { body } = await api.call<{ budgets: [BudgetView] }>('GET', '/v1/agents/reporter/budget');
  return body.budgets[0];
}

async function ledger(): Promise<LedgerEntryView[]> {
  const { id } = await budget();
  return (await api.call<{ items: LedgerEntryView[] }>('GET', `/v1/budgets/${id}/ledger`)).body.items;
}

describe('an agent with source reported', () => {
  it('S3.10 a report before the settlement of a call and a report after it charge the call once', async () => {
    expect(await reserve('before', 400)).toBe(201);
    await beat(1_400);
    await until('the report is in the ledger', async () => (await ledger())[0]?.kind === 'reported');
    expect(await settle('before', 400)).toMatchObject({ state: 'settled', used: { tokens: 400 } });
    expect((await budget()).usage.own.tokens).toBe(1_400);

    expect(await reserve('after', 400)).toBe(201);
    await settle('after', 300);
    expect((await budget()).usage.own.tokens).toBe(1_700);
    await beat(1_750);
    await until('the second report is in the ledger', async () => (await ledger())[0]?.kind === 'reported');
    expect((await ledger()).map(({ kind, tokens, marks }) => [kind, tokens, marks])).toEqual([
      ['reported', 50, []],
      ['charged', 300, []],
      ['charged', 0, ['reported']],
      ['reported', 1_400, []],
      ['opened', 0, []],
    ]);
    expect(await reserve('too-much', 251)).toBe(402);
    expect((await api.call('GET', '/v1/budgets/reconciliation')).body).toMatchObject({ discrepancies: [] });
  });

  it('S3.10 a report does not undo an adjustment', async () => {
    const { id } = await budget();
    const body = { used: { tokens: 0 }, note: 'refund' };
    expect((await api.call('POST', `/v1/budgets/${id}/adjust`, { body })).status).toBe(200);
    await beat(1_800);
    await until('the report is in the ledger', async () => (await ledger())[0]?.kind === 'reported');
    expect((await budget()).usage.own.tokens).toBe(50);
    expect((await api.call('GET', '/v1/agents/reporter')).body).toMatchObject({ budget: { usedTokens: 50 } });
  });
});
