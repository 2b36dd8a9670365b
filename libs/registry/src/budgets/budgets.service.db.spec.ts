import type { Database, RegistryEvent } from '#rollcall/platform';
import type { BudgetParts } from '../testing/budget-parts.js';
import { given } from '../testing/given.js';
import { expectSound, testBudgets } from '../testing/test-budgets.js';
import { TwoReplicas } from '../testing/two-replicas.js';

let replicas: TwoReplicas;
let db: Database;
let here: BudgetParts;
let there: BudgetParts;

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  [here, there] = [replicas.here.budgets, replicas.there.budgets];
  db = replicas.database.db;
});
afterEach(async () => await replicas.stop());

const tokens = (count: number): { tokens: number; microUsd: number } => ({ tokens: count, microUsd: 0 });
const of = ({ owner, key }: { owner: string; key: string }): { owner: string; key: string } => ({ owner, key });

const budgetEvents = async (): Promise<RegistryEvent[]> =>
  (await replicas.loggedEvents()).filter(({ type }) => type.startsWith('budget.'));

describe('budget windows', () => {
  const DAY_1 = Date.UTC(2026, 1, 28, 23, 59, 59);
  const DAY_2 = Date.UTC(2026, 2, 1, 0, 0, 1);

  it('B2 windows that end during concurrent charges contain each charge exactly once, and no window exceeds its limit', async () => {
    let now = DAY_1;
    const early = await testBudgets(db, { clock: () => now });
    const late = await testBudgets(await replicas.database.connectAgain(), { clock: () => now });
    const { id } = await early.given.budget(300, { window: 'daily' });
    await db.query('UPDATE budget SET window_start = $1, window_end = $2', [
      new Date(Date.UTC(2026, 1, 28)),
      new Date(Date.UTC(2026, 2, 1)),
    ]);
    await db.query('UPDATE budget_entry SET window_start = $1', [new Date(Date.UTC(2026, 1, 28))]);
    let charged = 0;
    const work = Array.from({ length: 400 }, async (_, index) => {
      const { ledger } = index % 2 ? early : late;
      const held = await ledger.reserve(given.reservation(2)).catch(() => undefined);
      if (index === 60) now = DAY_2;
      if (!held) return;
      await ledger.settle(of(held), { tokens: 2, microUsd: 0 });
      charged += 2;
      if (index === 200) now = DAY_1; // a clock that goes back changes nothing
    });
    await Promise.all(work);
    await Promise.all(
      Array.from({ length: 200 }, async () => {
        const held = await late.ledger.reserve(given.reservation(2)).catch(() => undefined);
        if (!held) return;
        await late.ledger.settle(of(held), { tokens: 2, microUsd: 0 });
        charged += 2;
      }),
    );
    const sums = await db.query<{ start: Date; tokens: string }>(
      `SELECT window_start AS start, sum(tokens) AS tokens FROM budget_entry GROUP BY window_start ORDER BY window_start`,
    );
    expect(sums.reduce((sum, row) => sum + Number(row.tokens), 0)).toBe(charged);
    expect(sums).toHaveLength(2);
    for (const { tokens: sum } of sums) expect(Number(sum)).toBeLessThanOrEqual(300);
    const [reading] = await early.budgets.of('namespace', 'default');
    expect(reading?.budget.id).toBe(id);
    await expectSound(here);
  });

  it('B2 the sweeper begins the next window even if nothing is charged, and publishes an event', async () => {
    const { id } = await here.given.budget(10, { window: 'monthly' });
    const held = await here.ledger.reserve(given.reservation(10));
    await here.ledger.settle(of(held), { tokens: 10, microUsd: 0 });
    await db.query(`UPDATE budget SET window_end = clock_timestamp() - interval '1 second'`);
    expect((await here.budgets.get(id)).budget.used).toEqual(tokens(0));
    expect(await here.sweeper.sweep()).toMatchObject({ rolled: 1 });
    expect((await budgetEvents()).map(({ type }) => type)).toEqual(['budget.exhausted', 'budget.replenished']);
  });
});

describe('budget events', () => {
  it('S3.10 a budget that becomes low, exhausted or replenished publishes one event each time', async () => {
    const { id } = await here.given.budget(100);
    for (let call = 0; call < 11; call++) {
      const held = await here.ledger.reserve(given.reservation(9)).catch(() => undefined);
      if (held) await here.ledger.settle(of(held), { tokens: 9, microUsd: 0 });
    }
    const last = await here.ledger.reserve(given.reservation(1));
    await here.ledger.settle(of(last), { tokens: 1, microUsd: 0 });
    await here.budgets.topUp(id, { tokens: 5 }, { by: 'op', note: null });
    await here.budgets.topUp(id, { tokens: 500 }, { by: 'op', note: null });
    const events = await budgetEvents();
    expect(events.map(({ type }) => type)).toEqual([
      'budget.low',
      'budget.exhausted',
      'budget.replenished',
      'budget.replenished',
    ]);
    expect(events[1]).toMatchObject({
      subject: String(id),
      data: { kind: 'namespace', of: 'default', unit: 'tokens', limit: 100, remaining: 0 },
    });
  });
});

describe('the administration of budgets', () => {
  it('S3.10 top-ups and adjustments change the budget and are in the ledger', async () => {
    const { id } = await here.given.budget(100);
    await here.budgets.topUp(id, { tokens: 50 }, { by: 'key:op', note: 'for the release' });
    await here.budgets.adjust(
      id,
      { limit: { microUsd: 9 }, used: { tokens: 20 } },
      { by: 'key:op', note: 'as billed' },
    );
    expect((await here.budgets.get(id)).budget).toMatchObject({
      limit: { tokens: 150, microUsd: 9 },
      used: tokens(20),
    });
    const lines = await here.budgets.lines(id, 10, undefined);
    expect(lines.map(({ kind, tokens: count, note }) => [kind, Number(count), note])).toEqual([
      ['adjusted', 20, 'as billed'],
      ['topped_up', 0, 'for the release'],
      ['opened', 0, null],
    ]);
    await here.budgets.adjust(id, { limit: { tokens: null } }, { by: 'key:op', note: null });
    await expect(here.budgets.topUp(id, { tokens: 1 }, { by: 'op', note: null })).rejects.toMatchObject({
      code: 'BUDGET_UNLIMITED',
    });
    await expectSound(here);
  });

  it('S3.10 a limit or usage that would exceed the largest exact integer is rejected', async () => {
    const largest = Number.MAX_SAFE_INTEGER;
    const { id } = await here.given.budget(largest - 10);
    const raise = async (count: number): Promise<unknown> =>
      await here.budgets.topUp(id, { tokens: count }, { by: 'op', note: null });
    await expect(raise(11)).rejects.toMatchObject({
      code: 'INVALID_BUDGET',
      message: expect.stringMatching(/limit/) as string,
    });
    await raise(10);
    await here.budgets.adjust(id, { limit: { tokens: null } }, { by: 'op', note: null });
    const held = await here.ledger.reserve(given.reservation(5));
    await here.budgets.adjust(id, { used: { tokens: largest - 10 } }, { by: 'op', note: null });
    const tooMuch = { code: 'INVALID_BUDGET', message: expect.stringMatching(/usage/) as string };
    await expect(here.ledger.reserve(given.reservation(6))).rejects.toMatchObject(tooMuch);
    await expect(here.ledger.settle(of(held), tokens(11))).rejects.toMatchObject(tooMuch);
    await here.ledger.settle(of(held), tokens(10));
    expect((await here.budgets.get(id)).budget).toMatchObject({ used: tokens(largest), reserved: tokens(0) });
    await expectSound(here);
  });

  it('S3.10 the reconciliation reports counters that were changed without the ledger', async () => {
    const { id } = await here.given.budget(100);
    await db.query('UPDATE budget SET used_tokens = 3');
    expect(await here.reconciliation.reconcile()).toMatchObject({
      checked: 1,
      discrepancies: [{ id: String(id), counters: { usedTokens: '3' }, ledger: { usedTokens: '0' } }],
    });
  });

  it('S3.10 pruning replaces old ledger lines by their sum, without changing the balance', async () => {
    const { id } = await here.given.budget(1_000);
    const all = await Promise.all(
      Array.from({ length: 20 }, async () => await here.ledger.reserve(given.reservation(3))),
    );
    await Promise.all(all.map(async (held) => await here.ledger.settle(of(held), { tokens: 3, microUsd: 1 })));
    await db.query(`UPDATE budget_entry SET at = at - interval '2 days'`);
    await db.query(`UPDATE budget_reservation SET closed_at = closed_at - interval '2 days'`);
    expect(await here.sweeper.prune({ reservationsMs: 86_400_000, linesMs: 86_400_000, runsMs: 86_400_000 })).toBe(40);
    expect(
      (await here.budgets.lines(id, 10, undefined)).map(({ kind, tokens: count }) => [kind, Number(count)]),
    ).toEqual([
      ['carried', 60],
      ['opened', 0],
    ]);
    await expectSound(here);
  });

  it('S3.10 repeated pruning keeps the ledger small, however slowly the budget is used', async () => {
    const { id } = await here.given.budget(1_000);
    const retention = { reservationsMs: 86_400_000, linesMs: 86_400_000, runsMs: 86_400_000 };
    for (let day = 0; day < 4; day++) {
      const held = await here.ledger.reserve(given.reservation(3));
      await here.ledger.settle(of(held), { tokens: 3, microUsd: 1 });
      await db.query(`UPDATE budget_entry SET at = at - interval '2 days'`);
      await Promise.all([here.sweeper.prune(retention), there.sweeper.prune(retention)]);
    }
    expect(
      (await here.budgets.lines(id, 10, undefined)).map(({ kind, tokens: count }) => [kind, Number(count)]),
    ).toEqual([
      ['carried', 12],
      ['opened', 0],
    ]);
    expect(await here.sweeper.prune(retention)).toBe(0);
    await expectSound(here);
  });

  it('B2 pruning removes inactive trees of runs, and no other budget', async () => {
    const none = { tokens: null, microUsd: null };
    const openRun = async (runId: string, parent: string | null): Promise<void> =>
      void (await here.budgets.openRun(runId, parent, none, 'test'));
    for (const root of ['old', 'held', 'growing']) {
      await openRun(root, null);
      await openRun(`${root}.child`, root);
      const held = await here.ledger.reserve(given.reservation(3, { runId: `${root}.child` }));
      if (root !== 'held') await here.ledger.settle(of(held), { tokens: 3, microUsd: 0 });
    }
    await here.given.budget(1_000);
    await db.query(`UPDATE budget SET changed_at = changed_at - interval '2 days'`);
    await openRun('growing.late', 'growing');
    const retention = { reservationsMs: 864_000_000, linesMs: 864_000_000, runsMs: 86_400_000 };
    await Promise.all([here.sweeper.prune(retention), there.sweeper.prune(retention)]);
    const kept = await db.query<{ subject: string }>('SELECT subject FROM budget ORDER BY subject');
    expect(kept.map(({ subject }) => subject)).toEqual([
      'default',
      'growing',
      'growing.child',
      'growing.late',
      'held',
      'held.child',
    ]);
    expect(
      await db.query('SELECT FROM budget_entry e WHERE NOT EXISTS (SELECT FROM budget b WHERE b.id = e.budget_id)'),
    ).toEqual([]);
    await expect(here.budgets.openRun('late', 'old', none, 'test')).rejects.toMatchObject({ code: 'BUDGET_NOT_FOUND' });
    await expectSound(here);
  });

  it('S3.10 a forecast returns when the budget runs out at the current rate', async () => {
    const { id } = await here.given.budget(1_000);
    const held = await here.ledger.reserve(given.reservation(600));
    await here.ledger.settle(of(held), { tokens: 600, microUsd: 0 });
    await db.query(`UPDATE budget SET created_at = created_at - interval '6 hours'`);
    const { tokens: burn, overMs, runsOutAt } = await here.budgets.forecast(id);
    expect(burn).toMatchObject({ perHour: 100, available: 400 });
    const hours = ((runsOutAt ?? 0) - (await here.store.now())) / 3_600_000;
    expect(Math.round(hours)).toBe(4);
    expect(Math.round(overMs / 3_600_000)).toBe(6);
  });

  it.each([
    ['a run with a window', { kind: 'run', subject: 'r', window: 'daily' }],
    ['an agent with a parent run', { kind: 'agent', subject: 'a', parentRunId: 'r' }],
    ['a second fleet', { kind: 'fleet', subject: 'other' }],
    ['a namespace in an unknown time zone', { timeZone: 'Mars/Olympus' }],
  ] as const)('S3.10 a budget for %s is rejected', async (_, overrides) => {
    await expect(here.given.budget(1, overrides)).rejects.toMatchObject({ code: 'INVALID_BUDGET' });
  });

  it('S3.10 a second budget with the same subject and window is rejected', async () => {
    await here.given.budget(1);
    await expect(there.given.budget(2)).rejects.toMatchObject({ code: 'BUDGET_EXISTS' });
    await there.given.budget(2, { window: 'daily' });
  });
});
