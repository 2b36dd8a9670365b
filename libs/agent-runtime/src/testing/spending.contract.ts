import type { LedgerOp, ReservationKey, Usage } from '#rollcall/registry';
import { type Payer, type ReservationTerms, RunReservations } from '../spending/run.reservations.js';
import { SpendingLimitError } from '../spending/spending.errors.js';
import {
  type Charge,
  type BudgetUsage,
  type Spending,
  type SpendingAmount,
  type SpendingLimit,
  unrecorded,
} from '../spending/spending.js';

export interface SpendingSubject {
  spending: Spending;
  /** The same budgets, seen from another replica. */
  there: Spending;
  limit(kind: 'agent' | 'caller', subject: string, limit: SpendingLimit): Promise<void>;
  /** What is reserved on the budget of a run of the namespace `default`. */
  heldBy(runId: string): Promise<SpendingAmount>;
  close(): Promise<void>;
}

/** What is reserved for one call. */
interface Reserved {
  readonly name: string;
  readonly of: ReservationKey;
  readonly amount: SpendingAmount;
  settle(tokens: number | null, microUsd?: number | null): Promise<void>;
  release(): Promise<void>;
}

type Terms = Partial<ReservationTerms & Payer>;

const NONE: SpendingAmount = { tokens: 0, microUsd: 0 };
const of = (tokens: number, microUsd = 0): SpendingAmount => ({ tokens, microUsd });

/** The rules of every implementation of `Spending`. */
export function describeSpendingContract(name: string, start: () => Promise<SpendingSubject>): void {
  describe(`spending: ${name}`, () => {
    let subject: SpendingSubject;
    beforeEach(async () => void (subject = await start()));
    afterEach(async () => await subject.close());
    const the = (): SpendingSubject => subject;
    describeLimits(the);
    describeCharges(the);
    describeBudgets(the);
    describePrices(the);
    describeOrder(the);
    describeRecovery(the);
    describeRaces(the);
  });
}

/** The reservation of one call, which is the only one of an execution of the run. */
function onlyCallOf(
  spending: Spending,
  runId: string,
  tokens: number,
  { namespace = 'default', agentId = null, callerId = null, ...terms }: Terms = {},
): { op: LedgerOp; reserve(): Promise<Reserved> } {
  const run = { namespace, runId, agentId, callerId };
  const reservations = new RunReservations(spending, run, unrecorded(spending));
  const opened = Promise.withResolvers<Reserved>();
  const wanted = reservations.wanted('call', { amount: of(tokens), isUnpriced: false, ...terms }, (one) => {
    const end = async (op: LedgerOp): Promise<void> => await spending.close([op]);
    const settle = async (usage: Usage): Promise<void> => await end(spending.settlement(one.of, usage));
    opened.resolve({
      name: one.name,
      of: one.of,
      amount: one.amount,
      settle: async (used, microUsd = 0) => await settle({ tokens: used, microUsd }),
      release: async () => await end({ op: 'release', of: one.of }),
    });
  });
  const reserve = async (): Promise<Reserved> => {
    await reservations.change([], [wanted]);
    return await opened.promise;
  };
  return { op: wanted.op, reserve };
}

/** Short forms for the namespace `default`. */
function helpersOf(the: () => SpendingSubject) {
  return {
    open: async (runId: string, limit: number | null, parentRunId: string | null = null): Promise<BudgetUsage> =>
      await the().spending.openRun({
        namespace: 'default',
        runId,
        parentRunId,
        limit: { tokens: limit, microUsd: null },
      }),
    reserve: async (runId: string, tokens: number, terms?: Terms): Promise<Reserved> =>
      await onlyCallOf(the().spending, runId, tokens, terms).reserve(),
    usage: async (runId: string): Promise<BudgetUsage> => await the().there.usageOf({ namespace: 'default', runId }),
  };
}

function describeLimits(the: () => SpendingSubject): void {
  const { open, reserve, usage } = helpersOf(the);

  it('B2 charges a run and its ancestors, and reports own and subtree usage', async () => {
    await open('root', 1_000);
    await open('child', 500, 'root');
    await (await reserve('root', 100)).settle(80, 7);
    await (await reserve('child', 100)).settle(15, 1);
    expect(await usage('root')).toEqual({
      own: of(80, 7),
      subtree: of(95, 8),
      reserved: NONE,
      limit: { tokens: 1_000, microUsd: null },
    });
    expect(await usage('child')).toMatchObject({ own: of(15, 1), subtree: of(15, 1) });
    expect(await the().heldBy('root')).toEqual(NONE);
  });

  it('B2 rejects a reservation above the limit of the run or of an ancestor, and names that budget', async () => {
    await open('root', 100);
    await open('child', null, 'root');
    await reserve('root', 60);
    const error = await reserve('child', 41).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SpendingLimitError);
    expect(error).toMatchObject({
      code: 'SPENDING_LIMIT_REACHED',
      budget: { kind: 'run', subject: 'root', unit: 'tokens' },
    });
    expect((await reserve('child', 40)).amount).toEqual(of(40));
    expect(await the().heldBy('root')).toEqual(of(100));
    expect((await usage('root')).reserved).toEqual(of(100));
  });

  it('B2 limits money as well as tokens', async () => {
    const limit = { tokens: null, microUsd: 50 };
    await the().spending.openRun({ namespace: 'default', runId: 'r', parentRunId: null, limit });
    await reserve('r', 10, { amount: of(10, 30) });
    await expect(reserve('r', 10, { amount: of(10, 21) })).rejects.toMatchObject({ budget: { unit: 'microUsd' } });
    await reserve('r', 10, { amount: of(10, 20) });
  });

  it('B2 reserves the amount that is left if it is at least the required minimum', async () => {
    await open('r', 100);
    expect((await reserve('r', 150, { atLeastTokens: 80 })).amount).toEqual(of(100));
    await expect(reserve('r', 150, { atLeastTokens: 1 })).rejects.toBeInstanceOf(SpendingLimitError);
  });
}

function describeCharges(the: () => SpendingSubject): void {
  const { open, reserve, usage } = helpersOf(the);

  it('B2 charges the reserved amount if the usage is unknown, and charges nothing if the call was never made', async () => {
    await open('r', 1_000);
    await (await reserve('r', 100, { amount: of(100, 9) })).settle(null, null);
    expect((await usage('r')).own).toEqual(of(100, 9));
    await (await reserve('r', 300)).release();
    expect([(await usage('r')).own, await the().heldBy('r')]).toEqual([of(100, 9), NONE]);
  });

  it('B2 charges usage above the reserved amount in full, and rejects the next reservation', async () => {
    await open('r', 100);
    await (await reserve('r', 50)).settle(120);
    expect((await usage('r')).own.tokens).toBe(120);
    await expect(reserve('r', 1)).rejects.toBeInstanceOf(SpendingLimitError);
  });

  it('B2 returns the same reservation for a repeated request, and another execution of the run has its own reservations', async () => {
    await open('r', 100);
    const { spending, there } = the();
    const call = onlyCallOf(spending, 'r', 60);
    const first = await call.reserve();
    expect(await there.apply([call.op])).toMatchObject([{ ok: true, reservation: { held: of(60) }, replayed: true }]);
    expect(await the().heldBy('r')).toEqual(of(60));
    await first.settle(20);
    const second = await onlyCallOf(there, 'r', 60).reserve();
    expect([second.name === first.name, await the().heldBy('r')]).toEqual([false, of(60)]);
    await second.settle(10);
    expect((await usage('r')).own.tokens).toBe(30);
  });

  it('B2 charges a reservation only once', async () => {
    await open('r', 100);
    const reserved = await reserve('r', 60);
    await reserved.settle(20);
    await reserved.settle(20);
    await reserved.release();
    expect([(await usage('r')).own.tokens, await the().heldBy('r')]).toEqual([20, NONE]);
  });

  it('B2 charges a reservation in parts, and its settlement charges only the rest', async () => {
    await open('r', 100);
    const reserved = await reserve('r', 60);
    for (const tokens of [15, 15, 20])
      await the().spending.apply([{ op: 'charge', of: reserved.of, usage: of(tokens) }]);
    expect([(await usage('r')).own.tokens, await the().heldBy('r')]).toEqual([20, of(40)]);
    await reserved.settle(50);
    expect([(await usage('r')).own.tokens, await the().heldBy('r')]).toEqual([50, NONE]);
  });
}

function describeBudgets(the: () => SpendingSubject): void {
  const { open, reserve, usage } = helpersOf(the);

  it('B2 a run keeps the parent and the limit that it was opened with', async () => {
    await open('root', 100);
    await open('child', 50, 'root');
    await open('child', 1_000);
    await expect(reserve('child', 51)).rejects.toMatchObject({ budget: { subject: 'child' } });
    await (await reserve('child', 50)).settle(50);
    expect((await usage('root')).subtree.tokens).toBe(50);
  });

  it('B2 rejects a reservation or a child of a run without a budget', async () => {
    await expect(reserve('unknown', 1)).rejects.toThrow('unknown');
    await expect(open('child', 1, 'unknown')).rejects.toThrow('unknown');
    await expect(usage('unknown')).rejects.toThrow('unknown');
  });

  it('B2 also charges the budget of the agent', async () => {
    await the().limit('agent', 'ada', { tokens: 100, microUsd: null });
    await open('r', null);
    await reserve('r', 70, { agentId: 'ada' });
    await expect(reserve('r', 31, { agentId: 'ada' })).rejects.toMatchObject({
      budget: { kind: 'agent', subject: 'ada', unit: 'tokens' },
    });
  });

  it('S-7 also charges the budget of the caller', async () => {
    await the().limit('caller', 'key:a', { tokens: 100, microUsd: null });
    await open('r', null);
    await reserve('r', 70, { callerId: 'key:a' });
    await reserve('r', 70, { callerId: 'key:b' });
    await expect(reserve('r', 31, { callerId: 'key:a' })).rejects.toMatchObject({
      budget: { kind: 'caller', subject: 'key:a', unit: 'tokens' },
    });
  });

  it('B2 an agent without a budget is not charged', async () => {
    await open('r', 100);
    await reserve('r', 70, { agentId: 'unknown' });
    expect((await usage('r')).reserved.tokens).toBe(70);
  });

  it('B2 runs with the same id in two namespaces have separate budgets', async () => {
    await open('r', 100);
    const limit = { tokens: 10, microUsd: null };
    await the().spending.openRun({ namespace: 'team-a', runId: 'r', parentRunId: null, limit });
    await (await reserve('r', 100)).settle(100);
    expect((await reserve('r', 10, { namespace: 'team-a' })).amount.tokens).toBe(10);
    expect((await the().spending.usageOf({ namespace: 'team-a', runId: 'r' })).subtree.tokens).toBe(0);
  });
}

function describePrices(the: () => SpendingSubject): void {
  const { open, reserve } = helpersOf(the);
  const MONEY = { tokens: null, microUsd: 1_000 };

  it('S-8 rejects a call without a known price if the budget of the run, of an ancestor, of the agent or of the caller limits money', async () => {
    await the().spending.openRun({ namespace: 'default', runId: 'root', parentRunId: null, limit: MONEY });
    await open('child', null, 'root');
    await open('free', null);
    await the().limit('agent', 'ada', MONEY);
    await the().limit('caller', 'key:a', MONEY);
    const rejected = async (runId: string, terms: Terms = {}): Promise<void> =>
      await expect(reserve(runId, 10, { isUnpriced: true, ...terms })).rejects.toMatchObject({ code: 'PRICE_UNKNOWN' });
    await rejected('root');
    await rejected('child');
    await rejected('free', { agentId: 'ada' });
    await rejected('free', { callerId: 'key:a' });
    expect([await the().heldBy('root'), await the().heldBy('free')]).toEqual([NONE, NONE]);
    expect((await reserve('child', 10, { amount: of(10, 5), agentId: 'ada' })).amount).toEqual(of(10, 5));
  });

  it('S-8 reserves a call without a known price if only tokens are limited', async () => {
    await open('r', 100);
    await the().limit('agent', 'ada', { tokens: 100, microUsd: null });
    expect((await reserve('r', 60, { isUnpriced: true, agentId: 'ada' })).amount).toEqual(of(60));
  });
}

function describeOrder(the: () => SpendingSubject): void {
  const { open, reserve, usage } = helpersOf(the);
  const opFor = (tokens: number): LedgerOp => onlyCallOf(the().spending, 'r', tokens).op;

  it('B2 applies operations in order: a reservation uses what an earlier operation of the list returns', async () => {
    await open('r', 100);
    const reserved = await reserve('r', 80);
    const outcomes = await the().spending.apply([the().spending.settlement(reserved.of, of(30)), opFor(70)]);
    expect(outcomes).toMatchObject([{ ok: true }, { ok: true, reservation: { held: of(70) } }]);
    expect([(await usage('r')).own.tokens, await the().heldBy('r')]).toEqual([30, of(70)]);
  });

  it('B2 operations after a rejected reservation are not applied and have no outcome, and those before it are', async () => {
    await open('r', 100);
    const reserved = await reserve('r', 60);
    const { spending } = the();
    const outcomes = await spending.apply([
      spending.settlement(reserved.of, of(30)),
      opFor(10),
      opFor(61),
      opFor(5),
      { op: 'release', of: reserved.of },
    ]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, false]);
    expect([(await usage('r')).own.tokens, await the().heldBy('r')]).toEqual([30, of(10)]);
  });

  it('B2 raises a reservation up to the limit of each budget, and a repeated raise has no effect', async () => {
    await open('r', 100);
    const { spending, there } = the();
    const reserved = await reserve('r', 60);
    const raise = (tokens: number): LedgerOp => ({ op: 'raise', of: reserved.of, to: of(tokens) });
    expect(await spending.apply([raise(90)])).toMatchObject([{ ok: true, reservation: { held: of(90) } }]);
    expect(await there.apply([raise(90), raise(20)])).toMatchObject([{ replayed: true }, { replayed: true }]);
    const outcomes = await spending.apply([raise(101), opFor(1)]);
    expect(outcomes).toMatchObject([{ ok: false, error: { code: 'BUDGET_EXHAUSTED', details: { asked: 11 } } }]);
    expect([outcomes.length, await the().heldBy('r')]).toEqual([1, of(90)]);
    await reserved.settle(70);
    expect([(await usage('r')).own.tokens, await the().heldBy('r')]).toEqual([70, NONE]);
  });
}

function describeRecovery(the: () => SpendingSubject): void {
  const { open, reserve, usage } = helpersOf(the);
  const recover = async (...charges: Charge[]): Promise<void> =>
    await the().there.recover({ namespace: 'default', runId: 'r' }, charges);

  it('B2 B6 recovery charges the reservations of recorded replies, releases all other reservations of the run, and charges nothing twice', async () => {
    await open('r', 1_000);
    await open('child', null, 'r');
    const [recorded, unknown, lost, settled] = [
      await reserve('r', 100),
      await reserve('r', 50),
      await reserve('r', 25),
      await reserve('r', 9),
    ];
    const other = await reserve('child', 200);
    await settled.settle(7);
    const charges: Charge[] = [
      { key: recorded.name, tokens: 30, microUsd: 2 },
      { key: unknown.name, tokens: 50, microUsd: null, estimated: true },
      { key: settled.name, tokens: 7, microUsd: 0 },
    ];
    await recover(...charges);
    await recover(...charges);
    expect([(await usage('r')).own, await the().heldBy('r')]).toEqual([of(30 + 50 + 7, 2), of(200)]);
    await other.settle(1);
    await lost.release();
    expect([(await usage('r')).subtree.tokens, await the().heldBy('r')]).toEqual([88, NONE]);
  });

  it('B2 B6 several replies that one reservation pays are charged together, and a second recovery charges only later replies', async () => {
    await open('r', 100);
    const first = await reserve('r', 60);
    const replies = [
      { key: first.name, tokens: 4, microUsd: 0 },
      { key: first.name, tokens: 6, microUsd: 0 },
    ];
    await recover(...replies);
    const second = await onlyCallOf(the().there, 'r', 60).reserve();
    await recover(...replies, { key: second.name, tokens: 20, microUsd: 0 });
    expect([(await usage('r')).own.tokens, await the().heldBy('r')]).toEqual([30, NONE]);
  });
}

function describeRaces(the: () => SpendingSubject): void {
  const { open, usage } = helpersOf(the);

  it('B2 concurrent reservations of siblings never exceed the limit of their parent, and end with exact usage', async () => {
    await open('root', 1_000);
    for (const child of ['a', 'b', 'c']) await open(child, child === 'b' ? 100 : null, 'root');
    let charged = 0;
    const work = Array.from({ length: 120 }, async (_, index) => {
      const runId = ['a', 'b', 'c'][index % 3] ?? 'a';
      const { spending, there } = the();
      const call = onlyCallOf(index % 2 ? spending : there, runId, 30);
      const reserved = await call.reserve().catch(() => undefined);
      if (!reserved) return;
      if (index % 5 === 0) return await reserved.release();
      await reserved.settle(index % 7 === 0 ? null : 10 + (index % 20));
      charged += index % 7 === 0 ? 30 : 10 + (index % 20);
    });
    await Promise.all(work);
    const { own, subtree } = await usage('root');
    expect([own.tokens, subtree.tokens]).toEqual([0, charged]);
    expect(charged).toBeGreaterThan(300);
    expect(charged).toBeLessThanOrEqual(1_000);
    expect((await usage('b')).subtree.tokens).toBeLessThanOrEqual(100);
    expect(await the().heldBy('root')).toEqual(NONE);
  });
}
