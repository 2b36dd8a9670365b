import { SpendingLimitError } from '../spending/spending.errors.js';
import type {
  Charge,
  Hold,
  HoldRequest,
  RunUsage,
  Spending,
  SpendingAmount,
  SpendingLimit,
} from '../spending/spending.js';

export interface SpendingSubject {
  spending: Spending;
  /** The same budgets, seen from another replica. */
  there: Spending;
  limit(kind: 'agent' | 'caller', subject: string, limit: SpendingLimit): Promise<void>;
  /** What is held on the budget of a run of the namespace `default`. */
  heldBy(runId: string): Promise<SpendingAmount>;
  close(): Promise<void>;
}

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
    describeRecovery(the);
    describeRaces(the);
  });
}

let keys = 0;

function requestOf(runId: string, tokens: number, more: Partial<HoldRequest> = {}): HoldRequest {
  const key = `${(keys += 1)}`;
  return { namespace: 'default', runId, agentId: null, callerId: null, key, amount: of(tokens), ...more };
}

/** Short forms for the namespace `default`. */
function helpersOf(the: () => SpendingSubject) {
  return {
    open: async (runId: string, limit: number | null, parentRunId: string | null = null): Promise<RunUsage> =>
      await the().spending.openRun({
        namespace: 'default',
        runId,
        parentRunId,
        limit: { tokens: limit, microUsd: null },
      }),
    hold: async (...request: Parameters<typeof requestOf>): Promise<Hold> =>
      await the().spending.hold(requestOf(...request)),
    usage: async (runId: string): Promise<RunUsage> => await the().there.usageOf('default', runId),
  };
}

function describeLimits(the: () => SpendingSubject): void {
  const { open, hold, usage } = helpersOf(the);

  it('B2 charges a run and its ancestors, and reports own and subtree usage', async () => {
    await open('root', 1_000);
    await open('child', 500, 'root');
    await (await hold('root', 100)).settle({ inputTokens: 60, outputTokens: 20, costMicroUsd: 7 });
    await (await hold('child', 100)).settle({ inputTokens: 10, outputTokens: 5, costMicroUsd: 1 });
    expect(await usage('root')).toEqual({
      own: of(80, 7),
      subtree: of(95, 8),
      held: NONE,
      limit: { tokens: 1_000, microUsd: null },
    });
    expect(await usage('child')).toMatchObject({ own: of(15, 1), subtree: of(15, 1) });
    expect(await the().heldBy('root')).toEqual(NONE);
  });

  it('B2 rejects a hold above the limit of the run or of an ancestor, and names that budget', async () => {
    await open('root', 100);
    await open('child', null, 'root');
    await hold('root', 60);
    const error = await hold('child', 41).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SpendingLimitError);
    expect(error).toMatchObject({
      code: 'SPENDING_LIMIT_REACHED',
      budget: { kind: 'run', subject: 'root', unit: 'tokens' },
    });
    expect((await hold('child', 40)).amount).toEqual(of(40));
    expect(await the().heldBy('root')).toEqual(of(100));
    expect((await usage('root')).held).toEqual(of(100));
  });

  it('B2 limits money as well as tokens', async () => {
    const limit = { tokens: null, microUsd: 50 };
    await the().spending.openRun({ namespace: 'default', runId: 'r', parentRunId: null, limit });
    await hold('r', 10, { amount: of(10, 30) });
    await expect(hold('r', 10, { amount: of(10, 21) })).rejects.toMatchObject({ budget: { unit: 'microUsd' } });
    await hold('r', 10, { amount: of(10, 20) });
  });

  it('B2 holds the amount that is left if it is at least the required minimum', async () => {
    await open('r', 100);
    expect((await hold('r', 150, { atLeastTokens: 80 })).amount).toEqual(of(100));
    await expect(hold('r', 150, { atLeastTokens: 1 })).rejects.toBeInstanceOf(SpendingLimitError);
  });
}

function describeCharges(the: () => SpendingSubject): void {
  const { open, hold, usage } = helpersOf(the);

  it('B2 charges the held amount if the usage is unknown, and charges nothing if the call was never made', async () => {
    await open('r', 1_000);
    await (await hold('r', 100, { amount: of(100, 9) })).settle({ inputTokens: 5 });
    expect((await usage('r')).own).toEqual(of(100, 9));
    await (await hold('r', 300)).release();
    expect([(await usage('r')).own, await the().heldBy('r')]).toEqual([of(100, 9), NONE]);
  });

  it('B2 charges usage above the held amount in full, and rejects the next hold', async () => {
    await open('r', 100);
    await (await hold('r', 50)).settle({ inputTokens: 100, outputTokens: 20 });
    expect((await usage('r')).own.tokens).toBe(120);
    await expect(hold('r', 1)).rejects.toBeInstanceOf(SpendingLimitError);
  });

  it('B2 returns the same hold for a repeated key, and a new hold after the first has ended', async () => {
    await open('r', 100);
    const request = requestOf('r', 60);
    const first = await the().spending.hold(request);
    const repeated = await the().there.hold(request);
    expect([repeated.amount, await the().heldBy('r')]).toEqual([of(60), of(60)]);
    await first.settle({ inputTokens: 10, outputTokens: 10 });
    const again = await the().there.hold(request);
    expect(await the().heldBy('r')).toEqual(of(60));
    await again.settle({ inputTokens: 5, outputTokens: 5 });
    expect((await usage('r')).own.tokens).toBe(30);
  });

  it('B2 charges a hold only once', async () => {
    await open('r', 100);
    const held = await hold('r', 60);
    await held.settle({ inputTokens: 10, outputTokens: 10 });
    await held.settle({ inputTokens: 10, outputTokens: 10 });
    await held.release();
    expect([(await usage('r')).own.tokens, await the().heldBy('r')]).toEqual([20, NONE]);
  });
}

function describeBudgets(the: () => SpendingSubject): void {
  const { open, hold, usage } = helpersOf(the);

  it('B2 a run keeps the parent and the limit that it was opened with', async () => {
    await open('root', 100);
    await open('child', 50, 'root');
    await open('child', 1_000);
    await expect(hold('child', 51)).rejects.toMatchObject({ budget: { subject: 'child' } });
    await (await hold('child', 50)).settle({ inputTokens: 50, outputTokens: 0 });
    expect((await usage('root')).subtree.tokens).toBe(50);
  });

  it('B2 rejects a hold or a child of a run without a budget', async () => {
    await expect(hold('unknown', 1)).rejects.toThrow('unknown');
    await expect(open('child', 1, 'unknown')).rejects.toThrow('unknown');
    await expect(usage('unknown')).rejects.toThrow('unknown');
  });

  it('B2 also charges the budget of the agent', async () => {
    await the().limit('agent', 'ada', { tokens: 100, microUsd: null });
    await open('r', null);
    await hold('r', 70, { agentId: 'ada' });
    await expect(hold('r', 31, { agentId: 'ada' })).rejects.toMatchObject({
      budget: { kind: 'agent', subject: 'ada', unit: 'tokens' },
    });
  });

  it('S-7 also charges the budget of the caller', async () => {
    await the().limit('caller', 'key:a', { tokens: 100, microUsd: null });
    await open('r', null);
    await hold('r', 70, { callerId: 'key:a' });
    await hold('r', 70, { callerId: 'key:b' });
    await expect(hold('r', 31, { callerId: 'key:a' })).rejects.toMatchObject({
      budget: { kind: 'caller', subject: 'key:a', unit: 'tokens' },
    });
  });

  it('B2 an agent without a budget is not charged', async () => {
    await open('r', 100);
    await hold('r', 70, { agentId: 'unknown' });
    expect((await usage('r')).held.tokens).toBe(70);
  });

  it('B2 runs with the same id in two namespaces have separate budgets', async () => {
    await open('r', 100);
    const limit = { tokens: 10, microUsd: null };
    await the().spending.openRun({ namespace: 'team-a', runId: 'r', parentRunId: null, limit });
    await (await hold('r', 100)).settle({ inputTokens: 100, outputTokens: 0 });
    expect((await hold('r', 10, { namespace: 'team-a' })).amount.tokens).toBe(10);
    expect((await the().spending.usageOf('team-a', 'r')).subtree.tokens).toBe(0);
  });
}

function describeRecovery(the: () => SpendingSubject): void {
  const { open, hold, usage } = helpersOf(the);
  const recover = async (...charges: Charge[]): Promise<void> =>
    await the().there.recover({ namespace: 'default', runId: 'r' }, charges);

  it('B2 B6 recovery charges the holds of recorded replies, releases all other holds of the run, and charges nothing twice', async () => {
    await open('r', 1_000);
    await open('child', null, 'r');
    const [recorded, unknown, lost, settled] = [
      await hold('r', 100),
      await hold('r', 50),
      await hold('r', 25),
      await hold('r', 9),
    ];
    const other = await hold('child', 200);
    await settled.settle({ inputTokens: 3, outputTokens: 4 });
    const charges = [
      { key: recorded.key, tokens: 30, microUsd: 2 },
      { key: unknown.key, tokens: null, microUsd: null },
      { key: settled.key, tokens: 7, microUsd: 0 },
    ];
    await recover(...charges);
    await recover(...charges);
    expect([(await usage('r')).own, await the().heldBy('r')]).toEqual([of(30 + 50 + 7, 2), of(200)]);
    await other.settle({ inputTokens: 1, outputTokens: 0 });
    await lost.release();
    expect([(await usage('r')).subtree.tokens, await the().heldBy('r')]).toEqual([88, NONE]);
  });

  it('B2 B6 a recovered run can use the keys of its holds again', async () => {
    await open('r', 100);
    const request = requestOf('r', 60);
    const first = await the().spending.hold(request);
    await recover({ key: first.key, tokens: 10, microUsd: 0 });
    const second = await the().there.hold(request);
    await recover({ key: first.key, tokens: 10, microUsd: 0 }, { key: second.key, tokens: 20, microUsd: 0 });
    expect([(await usage('r')).own.tokens, await the().heldBy('r')]).toEqual([30, NONE]);
  });
}

function describeRaces(the: () => SpendingSubject): void {
  const { open, usage } = helpersOf(the);

  it('B2 concurrent holds of siblings never exceed the limit of their parent, and end with exact usage', async () => {
    await open('root', 1_000);
    for (const child of ['a', 'b', 'c']) await open(child, child === 'b' ? 100 : null, 'root');
    let charged = 0;
    const work = Array.from({ length: 120 }, async (_, index) => {
      const runId = ['a', 'b', 'c'][index % 3] ?? 'a';
      const { spending, there } = the();
      const tryToHold = async (): Promise<Hold> => await (index % 2 ? spending : there).hold(requestOf(runId, 30));
      const held = await tryToHold().catch(() => undefined);
      if (!held) return;
      if (index % 5 === 0) return await held.release();
      await held.settle(index % 7 === 0 ? {} : { inputTokens: 10, outputTokens: index % 20 });
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
