import { mock } from 'node:test';
import type { Database } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import type { AgentRecord } from '../agents/agent.record.js';
import { given } from '../testing/given.js';
import type { GivenAgent } from '../testing/given-agents.js';
import { testBudgets } from '../testing/test-budgets.js';
import { testRegistry, type TestRegistry } from '../testing/test-registry.js';
import { TwoReplicas } from '../testing/two-replicas.js';
import type { BudgetSource } from './usage.refresher.js';

let replicas: TwoReplicas;
let db: Database;
let here: TestRegistry;
let there: TestRegistry;

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  ({ here, there } = replicas);
  db = replicas.database.db;
});
afterEach(async () => await replicas.stop());

async function register(
  agentId: string,
  totalTokens: number | null,
  source = 'ledger',
  leaseToken?: string,
): Promise<GivenAgent> {
  return await here.given.agent({ agentId, leaseToken, budget: { totalTokens, usedTokens: 0, source } });
}

async function charge(agentId: string, count: number): Promise<void> {
  const { owner, key } = await here.budgets.ledger.reserve(given.reservation(count, { agentId }));
  await here.budgets.ledger.settle({ owner, key }, { tokens: count, microUsd: 0 });
}

const ranked = (registry: TestRegistry): string[] =>
  registry.ranker.rank({ capabilities: ['build'], limit: 10 }, 0).candidates.map(({ agent }) => agent.agentId);
const budgetIn = (registry: TestRegistry, agentId: string): AgentRecord['budget'] | undefined =>
  registry.directory.find(agentId)?.record.budget;

async function budgetIdOf(agentId: string): Promise<number> {
  const [reading] = await here.budgets.budgets.of('agent', agentId);
  return reading?.budget.id ?? 0;
}

describe('an agent record', () => {
  it('S3.10 an agent record shows a charge immediately on the replica that charges, and on other replicas after they read the budgets', async () => {
    await register('builder', 500_000);
    await there.sync.load();
    await until('the agent is listed', () => budgetIn(here, 'builder') !== undefined);
    await charge('builder', 123_456);
    const budget = { totalTokens: 500_000, usedTokens: 123_456, remaining: 376_544, source: 'ledger' };
    expect(budgetIn(here, 'builder')).toEqual(budget);
    expect((await there.agents.get('builder')).budget).toEqual(budget);
    expect(budgetIn(there, 'builder')).toMatchObject({ usedTokens: 0 });
    expect(await there.sync.readBudgets()).toBe(1);
    expect(budgetIn(there, 'builder')).toEqual(budget);
    expect(await there.sync.readBudgets()).toBe(0);
  });

  it('S3.10 an agent record shows the binding budget if there are several', async () => {
    await register('builder', 500_000);
    const limit = { tokens: 1_000, microUsd: null };
    await here.budgets.budgets.open({ kind: 'agent', subject: 'builder', window: 'daily', limit, by: 'op' });
    await until('the agent is listed', () => budgetIn(here, 'builder') !== undefined);
    await charge('builder', 1_000);
    const budget = { totalTokens: 1_000, usedTokens: 1_000, remaining: 0 };
    expect((await here.agents.get('builder')).budget).toMatchObject(budget);
    expect(budgetIn(here, 'builder')).toMatchObject(budget);
    const { candidates, excluded } = here.ranker.rank(
      { capabilities: ['build'], explain: true },
      await here.budgets.store.now(),
    );
    expect(candidates).toEqual([]);
    expect(excluded?.[0]?.exclusions[0]).toMatchObject({
      code: 'budget_exhausted',
      text: 'its daily budget of 1000 tokens is used up',
      eligibleWhen: { inMs: expect.any(Number) as number },
    });
  });
});

describe('an agent with an exhausted budget', () => {
  it('S3.10 an agent with an exhausted budget stays registered, is excluded from rankings with a reason, and is ranked again after a top-up', async () => {
    await register('builder', 1_000);
    await there.sync.load();
    await until('the agent is listed', () => ranked(here).length === 1);
    await charge('builder', 1_000);
    expect(ranked(here)).toEqual([]);
    const { excluded } = here.ranker.rank({ capabilities: ['build'], explain: true }, 0);
    expect(excluded?.[0]?.exclusions[0]).toMatchObject({
      code: 'budget_exhausted',
      eligibleWhen: { text: 'its budget is topped up' },
    });
    expect((await here.agents.get('builder')).status).toBe('active');
    const [event] = await replicas.loggedEvents('budget.exhausted');
    expect(event).toMatchObject({ data: { agentId: 'builder', limit: 1_000, remaining: 0 }, capabilities: ['build'] });
    expect(await replicas.loggedEvents('agent.left')).toEqual([]);
    await there.sync.refresh(['builder']); // every replica does this when it receives the event
    expect(ranked(there)).toEqual([]);

    await here.budgets.budgets.topUp(await budgetIdOf('builder'), { tokens: 50_000 }, { by: 'op', note: null });
    expect(ranked(here)).toEqual(['builder']);
    expect(await replicas.loggedEvents('budget.replenished')).toHaveLength(1);
    await there.sync.refresh(['builder']);
    expect(ranked(there)).toEqual(['builder']);
  });

  it('S3.10 an agent with an exhausted budget leaves with the reason budget_exhausted', async () => {
    const { credential } = await register('builder', 10);
    await charge('builder', 10);
    await here.agents.deregister(credential);
    expect(await replicas.loggedEvents('agent.left')).toMatchObject([
      { subject: 'builder', data: { reason: 'budget_exhausted' } },
    ]);
  });

  it('S3.10 an agent that leaves and registers again gets no new budget', async () => {
    const { leaseToken } = await register('builder', 10);
    await charge('builder', 10);
    expect((await register('builder', 10, 'ledger', leaseToken)).record.budget).toMatchObject({
      usedTokens: 10,
      remaining: 0,
    });
    await here.agents.remove('builder', 'evicted');
    expect((await register('builder', 10)).record.budget).toMatchObject({ usedTokens: 10, remaining: 0 });
  });
});

describe('a declared limit', () => {
  it('S3.10 a declared limit changes with each registration until an operator changes the limit', async () => {
    const { leaseToken } = await register('builder', 100);
    expect((await register('builder', 200, 'ledger', leaseToken)).record.budget.totalTokens).toBe(200);
    await here.budgets.budgets.topUp(await budgetIdOf('builder'), { tokens: 50 }, { by: 'op', note: null });
    expect((await register('builder', 7, 'ledger', leaseToken)).record.budget.totalTokens).toBe(250);
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });
});

describe('usage that an agent reports', () => {
  it('S3.10 usage in a heartbeat is in the record immediately and in the ledger after the next sweep', async () => {
    const { credential } = await register('builder', 1_000, 'reported');
    await here.heartbeats.beatAll([{ ...credential, usedTokens: 600 }]);
    expect((await here.agents.get('builder')).budget).toMatchObject({ usedTokens: 600, remaining: 400 });
    expect(await here.budgets.sweeper.sweep()).toMatchObject({ reported: 1 });
    await here.heartbeats.beatAll([{ ...credential, usedTokens: 100 }]);
    expect(await here.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    const lines = await here.budgets.budgets.lines(await budgetIdOf('builder'), 10, undefined);
    expect(lines.map(({ kind, tokens }) => [kind, Number(tokens)])).toEqual([
      ['reported', 600],
      ['opened', 0],
    ]);
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });
});

describe('usage that agents report to several replicas', () => {
  it('S3.10 reported usage is charged by the replica that received it, or by the first sweep of a new replica', async () => {
    const { credential } = await register('builder', 1_000, 'reported');
    for (const replica of [here, there]) expect(await replica.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    await there.heartbeats.beatAll([{ ...credential, usedTokens: 300 }]);
    await there.heartbeats.beatAll([{ ...credential, usedTokens: 200 }]);
    expect(await here.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    expect(await there.budgets.sweeper.sweep()).toMatchObject({ reported: 1 });
    await there.heartbeats.beatAll([{ ...credential, usedTokens: 700 }]);
    const fresh = await testRegistry(await replicas.database.connectAgain());
    expect(await fresh.budgets.sweeper.sweep()).toMatchObject({ reported: 1 });
    expect(await there.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  it('S3.10 frequent reports of usage do not prolong a sweep', async () => {
    await register('builder', 1_000, 'reported');
    const { store, sweeper } = here.budgets;
    await sweeper.sweep();
    let used = 0;
    const read = mock.method(store, 'aheadOfLedger', async () => {
      if (used < 50) sweeper.onHeartbeats([{ agentId: 'builder', usedTokens: (used += 1) }]);
      return await Promise.resolve([]);
    });
    sweeper.onHeartbeats([{ agentId: 'builder', usedTokens: 1 }]);
    await sweeper.sweep();
    expect(read.mock.callCount()).toBe(1);
  });

  it('S3.10 if a sweep fails, the next sweep charges the usage', async () => {
    const { credential } = await register('builder', 1_000, 'reported');
    const { store, sweeper } = here.budgets;
    await sweeper.sweep();
    await here.heartbeats.beatAll([{ ...credential, usedTokens: 300 }]);
    const failure = async (): Promise<never> => await Promise.reject(new Error('Postgres is unavailable'));
    mock.method(store, 'aheadOfLedger', failure, { times: 1 });
    await expect(sweeper.sweep()).rejects.toThrow('Postgres is unavailable');
    expect(await sweeper.sweep()).toMatchObject({ reported: 1 });
  });
});

describe('usage from an external source', () => {
  const requests: unknown[] = [];
  const source = (usage: () => Record<string, number>): BudgetSource => ({
    name: 'langfuse',
    usage: async (request) => {
      requests.push(request);
      return new Map(Object.entries(usage()).map(([agentId, tokens]) => [agentId, { tokens, microUsd: tokens * 3 }]));
    },
  });
  beforeEach(() => void requests.splice(0));

  it('S3.10 usage from a source never lowers the count; one request serves all budgets whose windows start at the same time', async () => {
    await register('one', 1_000, 'langfuse');
    await register('two', 1_000, 'langfuse');
    await register('other', 1_000, 'reported');
    const limit = { tokens: 100, microUsd: null };
    await here.budgets.budgets.open({
      kind: 'agent',
      subject: 'one',
      window: 'daily',
      limit,
      source: 'langfuse',
      by: 'op',
    });
    expect(await here.budgets.refresher.refresh(source(() => ({ one: 40, two: 990 })))).toEqual({
      refreshed: 3,
      failures: [],
    });
    expect(requests).toEqual([
      { agentIds: ['one', 'two'], since: null },
      { agentIds: ['one'], since: expect.any(Date) as Date },
    ]);
    await here.budgets.refresher.refresh(source(() => ({ one: 30 })));
    expect((await here.agents.get('one')).budget).toMatchObject({ usedTokens: 40 });
    expect((await here.agents.get('two')).budget).toMatchObject({ usedTokens: 990, remaining: 10 });
    expect((await here.agents.get('other')).budget).toMatchObject({ usedTokens: 0 });
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  it('S3.10 a call that the source has counted before its settlement is not charged again on the total budget', async () => {
    await register('one', 1_000, 'langfuse');
    const request = given.reservation(100, { agentId: 'one' });
    await here.budgets.ledger.reserve(request);
    await here.budgets.refresher.refresh(source(() => ({ one: 140 })));
    await there.budgets.ledger.settle(request, { tokens: 90, microUsd: 0 });
    expect((await here.agents.get('one')).budget).toMatchObject({ usedTokens: 140 });
    await here.budgets.refresher.refresh(source(() => ({ one: 150 })));
    expect((await here.agents.get('one')).budget).toMatchObject({ usedTokens: 150 });
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  it('S3.10 usage of a window that ended during the request is not counted in the next window', async () => {
    await register('one', 1_000);
    const limit = { tokens: 100, microUsd: null };
    const facts = { kind: 'agent' as const, subject: 'one', window: 'daily' as const, source: 'langfuse', by: 'op' };
    const { id } = await here.budgets.budgets.open({ ...facts, limit });
    const tomorrow = (await here.budgets.store.now()) + 86_400_000;
    const { refresher } = await testBudgets(db, { clock: () => tomorrow });
    await refresher.refresh(source(() => ({ one: 90 })));
    expect(requests).toHaveLength(1);
    expect((await here.budgets.store.find(id))?.budget.used.tokens).toBe(0);
  });

  it('S3.10 a partial answer of the source is kept, and the agents without an answer are read first the next time', async () => {
    const agentIds = Array.from({ length: 220 }, (_, index) => `many-${index}`);
    await Promise.all(agentIds.map(async (agentId) => await register(agentId, null, 'langfuse')));
    const failingAfterFirst = (): BudgetSource => {
      let calls = 0;
      return {
        name: 'langfuse',
        usage: async ({ agentIds: wanted }) => {
          if (++calls > 1) throw new Error('too many requests');
          return new Map(wanted.map((agentId) => [agentId, { tokens: 7, microUsd: 0 }]));
        },
      };
    };
    const first = await here.budgets.refresher.refresh(failingAfterFirst());
    expect(first.refreshed).toBeGreaterThan(0);
    expect(first.failures).toMatchObject([{ budgets: 220 - first.refreshed }]);
    await here.budgets.refresher.refresh(failingAfterFirst());
    const counted = await db.query('SELECT 1 FROM budget WHERE used_tokens = 7');
    expect(counted).toHaveLength(220);
  });

  it('S3.10 usage stays unchanged during an outage of its source, and the budget shows when it was last refreshed', async () => {
    await register('one', 1_000, 'langfuse');
    await here.budgets.refresher.refresh(source(() => ({ one: 40 })));
    const [before] = await here.budgets.budgets.of('agent', 'one');
    const down = source(() => {
      throw new Error('Langfuse is unavailable');
    });
    expect((await here.budgets.refresher.refresh(down)).failures).toMatchObject([{ budgets: 1 }]);
    const [after] = await here.budgets.budgets.of('agent', 'one');
    expect(after).toMatchObject({ refreshedAt: before?.refreshedAt, refreshError: 'Langfuse is unavailable' });
    expect(after?.budget.used.tokens).toBe(40);
    await here.budgets.refresher.refresh(source(() => ({})));
    const [later] = await here.budgets.budgets.of('agent', 'one');
    expect(later).toMatchObject({ refreshError: null, budget: { used: { tokens: 40 } } });
  });
});
