import { jest } from '@jest/globals';
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

async function join(
  agentId: string,
  totalTokens: number | null,
  source = 'ledger',
  leaseToken?: string,
): Promise<GivenAgent> {
  return await here.given.agent({ agentId, leaseToken, budget: { totalTokens, usedTokens: 0, source } });
}

async function spend(agentId: string, count: number): Promise<void> {
  const { owner, key } = await here.budgets.ledger.reserve(given.reservation(count, { agentId }));
  await here.budgets.ledger.settle({ owner, key }, { tokens: count, microUsd: 0 });
}

const ranked = (registry: TestRegistry): string[] =>
  registry.ranker.rank({ capabilities: ['build'], limit: 10 }, 0).candidates.map(({ agent }) => agent.agentId);
const seen = (registry: TestRegistry, agentId: string): AgentRecord['budget'] | undefined =>
  registry.directory.find(agentId)?.record.budget;

async function totalOf(agentId: string): Promise<number> {
  const [reading] = await here.budgets.budgets.of('agent', agentId);
  return reading?.budget.id ?? 0;
}

describe("an agent's record", () => {
  it('S3.10 shows what the ledger says, to this replica at once and to others when they look', async () => {
    await join('builder', 500_000);
    await there.sync.load();
    await until('it is listed', () => seen(here, 'builder') !== undefined);
    await spend('builder', 123_456);
    const budget = { totalTokens: 500_000, usedTokens: 123_456, remaining: 376_544, source: 'ledger' };
    expect(seen(here, 'builder')).toEqual(budget);
    expect((await there.agents.get('builder')).budget).toEqual(budget);
    expect(seen(there, 'builder')).toMatchObject({ usedTokens: 0 });
    expect(await there.sync.readBudgets()).toBe(1);
    expect(seen(there, 'builder')).toEqual(budget);
    expect(await there.sync.readBudgets()).toBe(0);
  });

  it('S3.10 shows the budget that binds, where there are several', async () => {
    await join('builder', 500_000);
    const limit = { tokens: 1_000, microUsd: null };
    await here.budgets.budgets.open({ kind: 'agent', subject: 'builder', window: 'daily', limit, by: 'op' });
    await until('it is listed', () => seen(here, 'builder') !== undefined);
    await spend('builder', 1_000);
    const budget = { totalTokens: 1_000, usedTokens: 1_000, remaining: 0 };
    expect((await here.agents.get('builder')).budget).toMatchObject(budget);
    expect(seen(here, 'builder')).toMatchObject(budget);
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

describe('an exhausted agent', () => {
  it('S3.10 leaves the ranking with a reason, stays registered, and topping up brings it back', async () => {
    await join('builder', 1_000);
    await there.sync.load();
    await until('it is listed', () => ranked(here).length === 1);
    await spend('builder', 1_000);
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
    await there.sync.refresh(['builder']); // as the event has every replica do
    expect(ranked(there)).toEqual([]);

    await here.budgets.budgets.topUp(await totalOf('builder'), { tokens: 50_000 }, { by: 'op', note: null });
    expect(ranked(here)).toEqual(['builder']);
    expect(await replicas.loggedEvents('budget.replenished')).toHaveLength(1);
    await there.sync.refresh(['builder']);
    expect(ranked(there)).toEqual(['builder']);
  });

  it('S3.10 that says goodbye has left for that reason', async () => {
    const { claim } = await join('builder', 10);
    await spend('builder', 10);
    await here.agents.deregister(claim);
    expect(await replicas.loggedEvents('agent.left')).toMatchObject([
      { subject: 'builder', data: { reason: 'budget_exhausted' } },
    ]);
  });

  it('S3.10 does not become rich by leaving and coming back', async () => {
    const { leaseToken } = await join('builder', 10);
    await spend('builder', 10);
    expect((await join('builder', 10, 'ledger', leaseToken)).record.budget).toMatchObject({
      usedTokens: 10,
      remaining: 0,
    });
    await here.agents.remove('builder', 'evicted');
    expect((await join('builder', 10)).record.budget).toMatchObject({ usedTokens: 10, remaining: 0 });
  });
});

describe('a declared limit', () => {
  it('S3.10 follows the agent until an operator has set another, which then holds', async () => {
    const { leaseToken } = await join('builder', 100);
    expect((await join('builder', 200, 'ledger', leaseToken)).record.budget.totalTokens).toBe(200);
    await here.budgets.budgets.topUp(await totalOf('builder'), { tokens: 50 }, { by: 'op', note: null });
    expect((await join('builder', 7, 'ledger', leaseToken)).record.budget.totalTokens).toBe(250);
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });
});

describe('use that an agent reports', () => {
  it('S3.10 by heartbeat is in its record at once and in the ledger with the next sweep', async () => {
    const { claim: beat } = await join('builder', 1_000, 'reported');
    await here.heartbeats.beatAll([{ ...beat, usedTokens: 600 }]);
    expect((await here.agents.get('builder')).budget).toMatchObject({ usedTokens: 600, remaining: 400 });
    expect(await here.budgets.sweeper.sweep()).toMatchObject({ reported: 1 });
    await here.heartbeats.beatAll([{ ...beat, usedTokens: 100 }]);
    expect(await here.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    const lines = await here.budgets.budgets.lines(await totalOf('builder'), 10, undefined);
    expect(lines.map(({ kind, tokens }) => [kind, Number(tokens)])).toEqual([
      ['reported', 600],
      ['opened', 0],
    ]);
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });
});

describe('use that agents report to several replicas', () => {
  it('S3.10 is taken in by the one that heard it, and what a dead one heard by any other that starts', async () => {
    const { claim: beat } = await join('builder', 1_000, 'reported');
    for (const replica of [here, there]) expect(await replica.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    await there.heartbeats.beatAll([{ ...beat, usedTokens: 300 }]);
    await there.heartbeats.beatAll([{ ...beat, usedTokens: 200 }]);
    expect(await here.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    expect(await there.budgets.sweeper.sweep()).toMatchObject({ reported: 1 });
    await there.heartbeats.beatAll([{ ...beat, usedTokens: 700 }]);
    const fresh = await testRegistry(await replicas.database.connectAgain());
    expect(await fresh.budgets.sweeper.sweep()).toMatchObject({ reported: 1 });
    expect(await there.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  it('S3.10 does not keep a sweep from its end, however often it is told', async () => {
    await join('builder', 1_000, 'reported');
    const { store, sweeper } = here.budgets;
    await sweeper.sweep();
    let used = 0;
    const behind = jest.spyOn(store, 'aheadOfLedger').mockImplementation(async () => {
      if (used < 50) sweeper.onHeartbeats([{ agentId: 'builder', usedTokens: (used += 1) }]);
      return await Promise.resolve([]);
    });
    sweeper.onHeartbeats([{ agentId: 'builder', usedTokens: 1 }]);
    await sweeper.sweep();
    expect(behind).toHaveBeenCalledTimes(1);
  });

  it('S3.10 is taken in by the next sweep when one fails', async () => {
    const { claim: beat } = await join('builder', 1_000, 'reported');
    const { store, sweeper } = here.budgets;
    await sweeper.sweep();
    await here.heartbeats.beatAll([{ ...beat, usedTokens: 300 }]);
    jest.spyOn(store, 'aheadOfLedger').mockRejectedValueOnce(new Error('Postgres is away'));
    await expect(sweeper.sweep()).rejects.toThrow('Postgres is away');
    expect(await sweeper.sweep()).toMatchObject({ reported: 1 });
  });
});

describe('use that a source counts', () => {
  const asked: unknown[] = [];
  const source = (answer: () => Record<string, number>): BudgetSource => ({
    name: 'langfuse',
    usage: async (question) => {
      asked.push(question);
      return new Map(Object.entries(answer()).map(([agentId, tokens]) => [agentId, { tokens, microUsd: tokens * 3 }]));
    },
  });
  beforeEach(() => void asked.splice(0));

  it('S3.10 raises the count, never lowers it, and asks once for all that count from the same moment', async () => {
    await join('one', 1_000, 'langfuse');
    await join('two', 1_000, 'langfuse');
    await join('other', 1_000, 'reported');
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
    expect(asked).toEqual([
      { agentIds: ['one', 'two'], since: null },
      { agentIds: ['one'], since: expect.any(Date) as Date },
    ]);
    await here.budgets.refresher.refresh(source(() => ({ one: 30 })));
    expect((await here.agents.get('one')).budget).toMatchObject({ usedTokens: 40 });
    expect((await here.agents.get('two')).budget).toMatchObject({ usedTokens: 990, remaining: 10 });
    expect((await here.agents.get('other')).budget).toMatchObject({ usedTokens: 0 });
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  it('S3.10 in a window that ended while the source was asked is not counted in the next one', async () => {
    await join('one', 1_000);
    const limit = { tokens: 100, microUsd: null };
    const facts = { kind: 'agent' as const, subject: 'one', window: 'daily' as const, source: 'langfuse', by: 'op' };
    const { id } = await here.budgets.budgets.open({ ...facts, limit });
    const tomorrow = (await here.budgets.store.now()) + 86_400_000;
    const { refresher } = await testBudgets(db, { clock: () => tomorrow });
    await refresher.refresh(source(() => ({ one: 90 })));
    expect(asked).toHaveLength(1);
    expect((await here.budgets.store.find(id))?.budget.used.tokens).toBe(0);
  });

  it('S3.10 of many agents is kept as far as it was told, and the others come first the next time', async () => {
    const agentIds = Array.from({ length: 220 }, (_, index) => `many-${index}`);
    await Promise.all(agentIds.map(async (agentId) => await join(agentId, null, 'langfuse')));
    const onceOnly = (): BudgetSource => {
      let calls = 0;
      return {
        name: 'langfuse',
        usage: async ({ agentIds: wanted }) => {
          if (++calls > 1) throw new Error('come less often');
          return new Map(wanted.map((agentId) => [agentId, { tokens: 7, microUsd: 0 }]));
        },
      };
    };
    const first = await here.budgets.refresher.refresh(onceOnly());
    expect(first.refreshed).toBeGreaterThan(0);
    expect(first.failures).toMatchObject([{ budgets: 220 - first.refreshed }]);
    await here.budgets.refresher.refresh(onceOnly());
    const known = await db.query('SELECT 1 FROM budget WHERE used_tokens = 7');
    expect(known).toHaveLength(220);
  });

  it('S3.10 stays what it was in an outage, and says since when that is', async () => {
    await join('one', 1_000, 'langfuse');
    await here.budgets.refresher.refresh(source(() => ({ one: 40 })));
    const [before] = await here.budgets.budgets.of('agent', 'one');
    const down = source(() => {
      throw new Error('Langfuse is away');
    });
    expect((await here.budgets.refresher.refresh(down)).failures).toMatchObject([{ budgets: 1 }]);
    const [after] = await here.budgets.budgets.of('agent', 'one');
    expect(after).toMatchObject({ refreshedAt: before?.refreshedAt, refreshError: 'Langfuse is away' });
    expect(after?.budget.used.tokens).toBe(40);
    await here.budgets.refresher.refresh(source(() => ({})));
    const [later] = await here.budgets.budgets.of('agent', 'one');
    expect(later).toMatchObject({ refreshError: null, budget: { used: { tokens: 40 } } });
  });
});
