import * as fc from 'fast-check';
import { given } from '../testing/given.js';
import {
  available,
  bindingBudgetOf,
  type Budget,
  conditionOf,
  DEFAULT_LOW_BUDGET,
  FLEET,
  insufficientUnit,
  rolled,
  toAgentBudget,
} from './budget.js';
import { isTimeZone, nextWindow } from './budget.window.js';
import { forecast } from './forecast.js';
import { LedgerBatch } from './ledger/ledger.batch.js';
import type { LedgerOp, LedgerOutcome } from './ledger/ledger.operation.js';
import { fittingAmount } from './ledger/reservation.js';

const limit = (tokens: number | null, microUsd: number | null = null): Budget['limit'] => ({ tokens, microUsd });
const spent = (tokens: number, microUsd = 0): Budget['used'] => ({ tokens, microUsd });

describe('budget arithmetic', () => {
  it('S3.10 computes the available amount, with null for an unlimited budget and 0 for an overdraft', () => {
    expect(available(given.budgetState({ limit: limit(100), used: spent(30), reserved: spent(20) }))).toEqual(
      limit(50),
    );
    expect(available(given.budgetState({ limit: limit(100), used: spent(130) })).tokens).toBe(0);
    expect(available(given.budgetState({ used: spent(1e12) }))).toEqual(limit(null));
  });

  it('S3.10 allows amounts up to the limit, and rejects even an amount of 0 once the limit is used', () => {
    const budget = given.budgetState({ limit: limit(10, 5), used: spent(7) });
    expect(insufficientUnit(budget, spent(3, 5))).toBeUndefined();
    expect(insufficientUnit(budget, spent(4))).toBe('tokens');
    expect(insufficientUnit(budget, spent(3, 6))).toBe('microUsd');
    expect(insufficientUnit(given.budgetState({ limit: limit(10), used: spent(10) }), spent(0))).toBe('tokens');
  });

  it('S3.10 reports a budget as low by its own threshold or else by the policy, and as exhausted when all is charged', () => {
    const of = (overrides: Partial<Budget>): string => conditionOf(given.budgetState(overrides), DEFAULT_LOW_BUDGET);
    expect(of({ limit: limit(1_000), used: spent(900) })).toBe('ample');
    expect(of({ limit: limit(1_000), used: spent(901) })).toBe('low');
    expect(of({ kind: 'agent', limit: limit(100_000), used: spent(80_001) })).toBe('low');
    expect(of({ limit: limit(1_000), used: spent(500), low: limit(600) })).toBe('low');
    expect(of({ limit: limit(1_000), used: spent(1_000) })).toBe('exhausted');
    expect(of({ limit: limit(null, 7), used: spent(5, 7) })).toBe('exhausted');
    expect(of({ limit: limit(1_000), reserved: spent(1_000) })).toBe('ample');
  });

  it('S3.10 shows the binding budget in the record: an exhausted budget without a window before an exhausted one with a window', () => {
    const total = given.budgetState({ id: 1, limit: limit(1_000), used: spent(100) });
    const daily = given.budgetState({ id: 2, window: 'daily', windowEnd: 9, limit: limit(50), used: spent(50) });
    expect(toAgentBudget(bindingBudgetOf([total, daily]) ?? total)).toMatchObject({ totalTokens: 50, remaining: 0 });
    const empty = { ...total, used: spent(1_000) };
    expect(bindingBudgetOf([daily, empty])).toBe(empty);
    const money = given.budgetState({ limit: limit(null, 5), used: spent(3, 5) });
    expect(toAgentBudget(money)).toEqual({ totalTokens: null, usedTokens: 3, remaining: 0, source: 'ledger' });
  });
});

describe('budget windows', () => {
  const at = (text: string): number => Date.parse(text);

  it('S3.10 windows start at midnight and on the first of the month, in the time zone of the budget', () => {
    const now = at('2026-12-31T23:30:00Z');
    expect(nextWindow('daily', now, 'UTC')).toEqual({
      start: at('2026-12-31T00:00:00Z'),
      end: at('2027-01-01T00:00:00Z'),
    });
    expect(nextWindow('monthly', now, 'UTC')).toEqual({
      start: at('2026-12-01T00:00:00Z'),
      end: at('2027-01-01T00:00:00Z'),
    });
    expect(nextWindow('total', now, 'UTC')).toEqual({ start: now, end: null });
    expect(nextWindow('daily', now, 'Europe/Berlin').start).toBe(at('2026-12-31T23:00:00Z'));
    expect(nextWindow('monthly', now, 'America/New_York').end).toBe(at('2027-01-01T05:00:00Z'));
  });

  it('S3.10 windows are an hour shorter or longer when the clocks change', () => {
    const hours = ({ start, end }: { start: number; end: number | null }): number => ((end ?? 0) - start) / 3_600_000;
    expect(hours(nextWindow('daily', at('2026-03-29T12:00:00Z'), 'Europe/Berlin'))).toBe(23);
    expect(hours(nextWindow('daily', at('2026-10-25T12:00:00Z'), 'Europe/Berlin'))).toBe(25);
    expect(isTimeZone('Europe/Berlin')).toBe(true);
    expect(isTimeZone('Mars/Olympus')).toBe(false);
  });

  it.each([
    ['America/Santiago', '2026-09-06T04:00:00Z'],
    ['Africa/Cairo', '2026-04-23T22:00:00Z'],
    ['Atlantic/Azores', '2026-03-29T01:00:00Z'],
    ['America/Havana', '2026-03-08T05:00:00Z'],
  ])('S3.10 a window starts with the first moment of a day without midnight, as in %s', (zone, change) => {
    const HALF_HOUR = 1_800_000;
    for (let now = at(change) - 48 * HALF_HOUR; now < at(change) + 46 * HALF_HOUR; now += HALF_HOUR) {
      const { start, end } = nextWindow('daily', now, zone);
      expect(now < at(change) ? end : start).toBe(at(change));
      expect(start).toBeLessThanOrEqual(now);
      expect(end).toBeGreaterThan(now);
    }
  });

  it('S3.10 a window starts at the first midnight of a day that has two', () => {
    const { start, end } = nextWindow('daily', at('2026-10-25T12:00:00Z'), 'Atlantic/Azores');
    expect([start, end]).toEqual([at('2026-10-25T00:00:00Z'), at('2026-10-26T01:00:00Z')]);
    expect(nextWindow('daily', at('2026-10-25T01:30:00Z'), 'Atlantic/Azores')).toEqual({ start, end });
  });

  it('S3.10 a window contains the moment it is computed for, and windows follow each other without a gap', () => {
    const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Auckland'];
    const moments = fc.integer({ min: at('2020-01-01T00:00:00Z'), max: at('2035-01-01T00:00:00Z') });
    fc.assert(
      fc.property(
        moments,
        fc.constantFrom(...zones),
        fc.constantFrom('daily' as const, 'monthly' as const),
        (now, zone, window) => {
          const { start, end } = nextWindow(window, now, zone);
          expect(start).toBeLessThanOrEqual(now);
          expect(end).toBeGreaterThan(now);
          expect(nextWindow(window, end ?? 0, zone).start).toBe(end);
        },
      ),
    );
  });

  it('S3.10 windows never go back, whatever the clock says', () => {
    const today = nextWindow('daily', at('2026-02-24T10:00:00Z'), 'UTC');
    const facts = { windowStart: today.start, windowEnd: today.end, used: spent(5) };
    const budget = given.budgetState({ window: 'daily', ...facts });
    expect(rolled(budget, at('2026-02-20T00:00:00Z'))).toBe(budget);
    expect(rolled(budget, at('2026-02-25T00:00:00Z'))).toMatchObject({
      used: spent(0),
      windowEnd: at('2026-02-26T00:00:00Z'),
    });
  });
});

describe('an amount that is reserved ahead', () => {
  const request = given.reservation(20, { ahead: spent(60) });
  const fitting = (budget: Partial<Budget>): number => fittingAmount(request, [given.budgetState(budget)]).held.tokens;

  it('B2 an amount for later calls is added while all reserved amounts are at most a tenth of what is left of the budget', () => {
    expect(fitting({ limit: limit(null) })).toBe(80);
    expect(fitting({ limit: limit(1_000), used: spent(200) })).toBe(80);
    expect(fitting({ limit: limit(1_000), used: spent(201) })).toBe(20);
    expect(fitting({ limit: limit(1_000), reserved: spent(20) })).toBe(80);
    expect(fitting({ limit: limit(1_000), reserved: spent(21) })).toBe(20);
  });

  it('B2 an amount for later calls is added only if all budgets of the call have plenty left', () => {
    const budgets = [given.budgetState({ limit: limit(null) }), given.budgetState({ limit: limit(100) })];
    expect(fittingAmount(request, budgets).held.tokens).toBe(20);
    expect(fittingAmount({ ...request, amount: spent(200), atLeastTokens: 50 }, budgets).held.tokens).toBe(100);
  });
});

describe('a forecast', () => {
  const budget = given.budgetState({ limit: limit(1_000), used: spent(400), reserved: spent(100) });
  const HOUR = 3_600_000;

  it('S3.10 a forecast returns when the budget runs out at the current rate', () => {
    const result = forecast(budget, { tokens: 200, microUsd: 0, overMs: 2 * HOUR }, 0);
    expect(result.tokens).toEqual({ perHour: 100, available: 500, runsOutAt: 5 * HOUR });
    expect(result.runsOutAt).toBe(5 * HOUR);
    expect(result.microUsd.runsOutAt).toBeNull();
  });

  it('S3.10 a forecast returns no time if nothing is used or the window ends first, and the current time if nothing is available', () => {
    expect(forecast(budget, { tokens: 0, microUsd: 0, overMs: HOUR }, 0).runsOutAt).toBeNull();
    const daily = { ...budget, window: 'daily' as const, windowEnd: 4 * HOUR };
    expect(forecast(daily, { tokens: 100, microUsd: 0, overMs: HOUR }, 0).runsOutAt).toBeNull();
    expect(forecast({ ...budget, used: spent(2_000) }, { tokens: 1, microUsd: 0, overMs: 1 }, 7).runsOutAt).toBe(7);
  });

  it('a forecast does not extrapolate half a second to an hour (N15)', () => {
    const { tokens } = forecast(budget, { tokens: 600, microUsd: 0, overMs: 500 }, 0);
    expect(tokens.perHour).toBe(7_200);
  });

  it('S3.10 a forecast has no time after the year 9999 and no rate that JSON clients cannot read exactly', () => {
    const large = given.budgetState({ limit: limit(Number.MAX_SAFE_INTEGER) });
    expect(forecast(large, { tokens: 1, microUsd: 0, overMs: 1 }, 0).runsOutAt).toBeNull();
    const burst = { tokens: 1e15, microUsd: 0, overMs: 1 };
    expect(forecast(large, burst, 0).tokens.perHour).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('a batch of ledger operations', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('reserve' as const), owner: fc.nat(5), count: fc.nat(60), node: fc.nat(2) }),
    fc.record({
      kind: fc.constantFrom('settle' as const, 'charge' as const),
      owner: fc.nat(5),
      count: fc.nat(90),
      node: fc.nat(2),
    }),
    fc.record({ kind: fc.constant('raise' as const), owner: fc.nat(5), count: fc.nat(90), node: fc.nat(2) }),
    fc.record({ kind: fc.constant('release' as const), owner: fc.nat(5), count: fc.nat(1), node: fc.nat(2) }),
  );

  it('B2 a batch keeps the counters equal to the ledger lines and the held reservations, and never reserves beyond a limit', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const run = (id: number, path: number[], tokens: number | null): Budget =>
          given.budgetState({ id, kind: 'run', subject: `r${id}`, path, limit: limit(tokens) });
        const tree = [run(1, [], 150), run(2, [1], null), run(3, [1, 2], 70)];
        const batch = new LedgerBatch(tree, [], 0);
        const held = new Map<string, number>();
        for (const { kind, owner, count, node } of steps) {
          const of = { owner: 'test', key: `k${owner}` };
          const request = given.reservation(count, { ...of, runId: `r${node + 1}` });
          const op: LedgerOp =
            kind === 'reserve'
              ? { op: kind, request }
              : kind === 'settle' || kind === 'charge'
                ? { op: kind, of, usage: { tokens: count, microUsd: 0 } }
                : kind === 'raise'
                  ? { op: kind, of, to: spent(count) }
                  : { op: kind, of };
          const result = batch.apply(op);
          if (!result.ok || result.replayed) continue;
          if (result.reservation?.state === 'held') held.set(of.key, result.reservation.held.tokens);
          else held.delete(of.key);
          checkSums(batch, tree);
        }
        const root = batch.writes().budgets.find(({ id }) => id === 1);
        const sum = [...held.values()].reduce((total, count) => total + count, 0);
        expect(root?.reserved.tokens ?? 0).toBe(sum);
      }),
      { numRuns: 300 },
    );
  });

  it('B2 raising a reservation holds the missing amount on all its budgets or on none, and does nothing if it holds the amount', () => {
    const fleet = given.budgetState({ id: 1, kind: 'fleet', subject: FLEET, limit: limit(90, 50) });
    const caller = given.budgetState({ id: 2, kind: 'caller', subject: 'key:a', limit: limit(1_000) });
    const batch = new LedgerBatch([fleet, caller], [], 0);
    const request = given.reservation(40, { callerId: 'key:a' });
    const raise = (tokens: number, microUsd = 0): LedgerOutcome =>
      batch.apply({ op: 'raise', of: request, to: spent(tokens, microUsd) });
    const reserved = (): unknown => batch.writes().budgets.map((budget) => budget.reserved);
    expect(raise(60)).toMatchObject({ ok: false, error: { code: 'RESERVATION_NOT_FOUND' } });
    batch.apply({ op: 'reserve', request });
    expect(raise(60, 10)).toMatchObject({ ok: true, reservation: { held: spent(60, 10), state: 'held' } });
    expect(raise(50, 20)).toMatchObject({ ok: true, reservation: { held: spent(60, 20) } });
    expect(raise(60, 20)).toMatchObject({ ok: true, replayed: true });
    expect(raise(91)).toMatchObject({ ok: false, error: { code: 'BUDGET_EXHAUSTED', details: { asked: 31 } } });
    expect(raise(60, 51)).toMatchObject({ ok: false, error: { details: { budget: { unit: 'microUsd' } } } });
    expect(reserved()).toEqual([spent(60, 20), spent(60, 20)]);
    batch.apply({ op: 'release', of: request });
    expect(raise(60)).toMatchObject({ ok: false, error: { code: 'RESERVATION_CLOSED' } });
    expect(reserved()).toEqual([spent(0), spent(0)]);
  });

  it.each([
    ['namespace', 'default', {}],
    ['fleet', FLEET, {}],
    ['agent', 'ada', { agentId: 'ada', agentMayLackBudget: true }],
    ['caller', 'key:a', { callerId: 'key:a' }],
    ['run', 'r', { runId: 'r' }],
  ] as const)(
    'S-8 a reservation without a price is rejected if the budget of the %s limits money',
    (kind, subject, scope) => {
      const isUnpriced = true;
      const tokens = given.budgetState({ id: 1, kind, subject, limit: limit(100) });
      const money = given.budgetState({ id: 2, kind, subject, window: 'daily', windowEnd: 9, limit: limit(null, 5) });
      const outcome = (budgets: Budget[], more: object = {}): LedgerOutcome =>
        new LedgerBatch(budgets, [], 0).apply({ op: 'reserve', request: given.reservation(10, { ...scope, ...more }) });
      expect(outcome([tokens], { isUnpriced })).toMatchObject({ ok: true, reservation: { held: spent(10) } });
      const rejected = outcome([tokens, money], { isUnpriced });
      expect(rejected).toMatchObject({ ok: false, error: { code: 'PRICE_UNKNOWN' } });
      expect(outcome([tokens, money], { amount: spent(10, 5) })).toMatchObject({ ok: true });
      expect(outcome([tokens, money])).toMatchObject({ ok: true }); // the price is known: 0
    },
  );

  it('S-8 a reservation without a price is rejected if a run above its run limits money', () => {
    const root = given.budgetState({ id: 1, kind: 'run', subject: 'root', limit: limit(null, 5) });
    const child = given.budgetState({ id: 2, kind: 'run', subject: 'child', path: [1] });
    const batch = new LedgerBatch([root, child], [], 0);
    const request = given.reservation(10, { runId: 'child', isUnpriced: true });
    expect(batch.apply({ op: 'reserve', request })).toMatchObject({
      ok: false,
      error: { code: 'PRICE_UNKNOWN', message: expect.stringContaining('the run "root" limits money') },
    });
    expect(batch.writes()).toMatchObject({ budgets: [], opened: [] });
  });

  function checkSums(batch: LedgerBatch, tree: readonly Budget[]): void {
    const { budgets, lines } = batch.writes();
    for (const { id } of tree) {
      const budget = budgets.find((one) => one.id === id);
      const theirs = lines.filter(({ budgetId }) => budgetId === id);
      const sum = (own: boolean): number =>
        theirs.filter((line) => !own || line.own).reduce((total, { amount }) => total + amount.tokens, 0);
      expect(budget?.used.tokens ?? 0).toBe(sum(false));
      expect(budget?.own.tokens ?? 0).toBe(sum(true));
      expect(budget?.reserved.tokens ?? 0).toBeGreaterThanOrEqual(0);
      if (budget && budget.reserved.tokens > 0 && !theirs.some(({ marks }) => marks.includes('overdraft')))
        expect(budget.used.tokens + budget.reserved.tokens).toBeLessThanOrEqual(budget.limit.tokens ?? Infinity);
    }
  }
});
