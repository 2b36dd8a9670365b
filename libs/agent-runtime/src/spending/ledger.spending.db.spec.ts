import { DatabaseUnavailableError } from '#rollcall/platform';
import type { BudgetLedger } from '#rollcall/registry';
import { type TestRegistry, TwoReplicas } from '#rollcall/registry/testing';
import { describeSpendingContract } from '../testing/index.js';
import { InterruptedRun } from '../testing/interrupted.run.js';
import { HoldRecovery } from './hold.recovery.js';
import { LedgerSpending } from './ledger.spending.js';
import type { Charge, HoldRequest, SpendingAmount } from './spending.js';

const spendingOn = ({ budgets: { budgets, ledger } }: TestRegistry, on: BudgetLedger = ledger): LedgerSpending =>
  new LedgerSpending(budgets, on);

async function heldBy({ budgets }: TestRegistry, runId: string): Promise<SpendingAmount> {
  const [reading] = await budgets.budgets.of('run', runId);
  return reading?.budget.reserved ?? { tokens: -1, microUsd: -1 };
}

describeSpendingContract('in the budget ledger', async () => {
  const replicas = await TwoReplicas.start();
  const { here, there } = replicas;
  const db = await replicas.database.connectAgain();
  await db.query(`INSERT INTO namespace (name, created_by) VALUES ('team-a', 'test')`);
  return {
    spending: spendingOn(here),
    there: spendingOn(there),
    limit: async (kind, subject, limit) => void (await here.budgets.budgets.open({ kind, subject, limit, by: 'test' })),
    heldBy: async (runId) => await heldBy(there, runId),
    close: async () => await replicas.stop(),
  };
});

describe('LedgerSpending', () => {
  let replicas: TwoReplicas;
  let here: TestRegistry;
  beforeEach(async () => {
    replicas = await TwoReplicas.start();
    ({ here } = replicas);
    await spendingOn(here).openRun({ namespace: 'default', runId: 'r', parentRunId: null, limit: LIMIT });
  });
  afterEach(async () => await replicas.stop());

  const LIMIT = { tokens: 100, microUsd: null };
  const REQUEST: HoldRequest = {
    namespace: 'default',
    runId: 'r',
    agentId: null,
    callerId: null,
    key: 'r/1/1',
    amount: { tokens: 60, microUsd: 0 },
  };
  const used = async (): Promise<number> => (await spendingOn(here).usageOf('default', 'r')).own.tokens;
  /** Simulates the expiry of all holds, and sweeps. */
  const expire = async (): Promise<void> => {
    await replicas.database.db.query(
      `UPDATE budget_reservation SET expires_at = expires_at - interval '121 seconds' WHERE state = 'held'`,
    );
    await here.budgets.sweeper.sweep();
  };

  it('B2 frees the amount that a crashed process held when the hold expires', async () => {
    await spendingOn(here).hold(REQUEST);
    expect(await heldBy(here, 'r')).toEqual({ tokens: 60, microUsd: 0 });
    await expire();
    expect([await heldBy(here, 'r'), await used()]).toEqual([{ tokens: 0, microUsd: 0 }, 0]);
  });

  it('B2 renews the hold of a long call until the call ends', async () => {
    const spending = spendingOn(here);
    const hold = await spending.hold(REQUEST);
    for (let pass = 0; pass < 3; pass += 1) {
      const [before] = await expiries();
      await replicas.database.db.query(
        `UPDATE budget_reservation SET expires_at = expires_at - interval '100 seconds' WHERE state = 'held'`,
      );
      await spending.renew();
      expect((await expiries())[0]).toBeGreaterThan((before ?? 0) - 1_000);
    }
    await hold.settle({ inputTokens: 1, outputTokens: 1 });
    await spending.renew();
    expect([await heldBy(here, 'r'), await used()]).toEqual([{ tokens: 0, microUsd: 0 }, 2]);
  });

  it('B2 a call that ends after its hold has expired is still charged', async () => {
    const spending = spendingOn(here);
    const hold = await spending.hold(REQUEST);
    await expire();
    await spending.renew();
    await hold.settle({ inputTokens: 20, outputTokens: 1 });
    expect(await used()).toBe(21);
  });

  it('B2 repeats a charge that fails because the database is unavailable, and keeps the amount held until then', async () => {
    const { ledger } = here.budgets;
    let isDown = true;
    const unreliable = Object.create(ledger) as BudgetLedger;
    unreliable.settleReported = async (...settlement) => {
      if (isDown) throw new DatabaseUnavailableError(new Error('down'));
      return await ledger.settleReported(...settlement);
    };
    const spending = spendingOn(here, unreliable);
    const hold = await spending.hold(REQUEST);
    await hold.settle({ inputTokens: 20, outputTokens: 1 });
    await spending.renew();
    expect([await heldBy(here, 'r'), await used()]).toEqual([{ tokens: 60, microUsd: 0 }, 0]);
    isDown = false;
    await spending.stop();
    expect([await heldBy(here, 'r'), await used()]).toEqual([{ tokens: 0, microUsd: 0 }, 21]);
  });

  it('B2 lets another replica repeat a call of a crashed replica with another amount', async () => {
    await spendingOn(here).hold(REQUEST);
    const hold = await spendingOn(replicas.there).hold({ ...REQUEST, amount: { tokens: 30, microUsd: 2 } });
    await hold.settle({ inputTokens: 20, outputTokens: 1, costMicroUsd: 1 });
    await expire();
    expect([await heldBy(here, 'r'), await used()]).toEqual([{ tokens: 0, microUsd: 0 }, 21]);
  });

  it('B2 B6 charges a recorded reply of a crashed replica, even if its hold has expired in the meantime', async () => {
    const hold = await spendingOn(here).hold(REQUEST);
    await expire();
    const charges = [{ key: hold.key, tokens: 21, microUsd: 0 }];
    const run = { namespace: 'default', runId: 'r' };
    for (const replica of [here, replicas.there]) await spendingOn(replica).recover(run, charges);
    expect([await heldBy(here, 'r'), await used()]).toEqual([{ tokens: 0, microUsd: 0 }, 21]);
  });

  it('B2 B6 charges each recorded reply and each failed attempt once, and holds nothing at the end, wherever a replica dies', async () => {
    const points = Array.from({ length: 50 }, (_, at) => at);
    const work = points.map(async (at) => {
      const runId = `run-${at}`;
      const run = new InterruptedRun(spendingOn(at % 2 ? here : replicas.there), { runId, turns: [2], failures: [1] });
      const outcome = await run.execute([at]);
      const { own, held } = await spendingOn(here).usageOf('default', runId);
      expect([runId, outcome.type, own.tokens, held.tokens]).toEqual([runId, 'completed', run.billed, 0]);
    });
    await Promise.all(work);
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  describe('consecutive calls of one run', () => {
    const CALL: HoldRequest = { ...REQUEST, runId: 'many', isRepeated: true, amount: { tokens: 100, microUsd: 0 } };
    const call = (turn: number): HoldRequest => ({ ...CALL, key: `${turn}/1` });
    const open = async (tokens: number | null): Promise<LedgerSpending> => {
      const spending = spendingOn(here);
      const limit = { tokens, microUsd: null };
      await spending.openRun({ namespace: 'default', runId: 'many', parentRunId: null, limit });
      return spending;
    };
    const counters = async (): Promise<[used: number, held: number]> => {
      const { own, held } = await spendingOn(replicas.there).usageOf('default', 'many');
      return [own.tokens, held.tokens];
    };
    const reservations = async (): Promise<number> =>
      (await replicas.database.db.query(`SELECT FROM budget_reservation`)).length;

    it('B2 share one reservation, and the charges of recorded replies are made together', async () => {
      const spending = await open(null);
      for (let turn = 1; turn <= 5; turn += 1)
        await (await spending.hold(call(turn))).settle({ inputTokens: 20, outputTokens: 10 }, 'later');
      expect([await reservations(), await counters()]).toEqual([1, [0, 400]]);
      expect(await spending.usageOf('default', 'many')).toMatchObject({ own: { tokens: 150 }, held: { tokens: 250 } });
      await spending.renew();
      expect(await counters()).toEqual([150, 250]);
      await spending.closeRun(CALL);
      expect(await counters()).toEqual([150, 0]);
      expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
    });

    it('B2 use a new reservation when the first does not cover the next call, and after a charge that no step contains', async () => {
      const spending = await open(null);
      await (await spending.hold(call(1))).settle({ inputTokens: 310, outputTokens: 0 }, 'later');
      const second = await spending.hold(call(2));
      expect([await reservations(), await counters()]).toEqual([2, [310, 400]]);
      await second.settle({});
      expect(await counters()).toEqual([410, 0]);
      await (await spending.hold(call(3))).release();
      expect([await reservations(), await counters()]).toEqual([3, [410, 400]]);
      await spending.closeRun(CALL);
      expect(await counters()).toEqual([410, 0]);
    });

    it('B2 have their own reservations if they overlap, and near the limit of a budget', async () => {
      const spending = await open(null);
      const both = [await spending.hold(call(1)), await spending.hold(call(2))];
      expect([await reservations(), await counters()]).toEqual([2, [0, 500]]);
      for (const hold of both) await hold.settle({ inputTokens: 1, outputTokens: 1 }, 'later');
      await spending.closeRun(CALL);
      expect(await counters()).toEqual([4, 0]);
      await here.budgets.budgets.open({
        kind: 'agent',
        subject: 'ada',
        limit: { tokens: 1_000, microUsd: null },
        by: 'test',
      });
      const limited = await spending.hold({ ...call(3), agentId: 'ada' });
      expect(await counters()).toEqual([4, 100]);
      await limited.settle({ inputTokens: 1, outputTokens: 1 }, 'later');
      expect(await counters()).toEqual([6, 0]);
    });

    it('B2 B6 are charged for recorded replies at once and for the aborted call afterwards when the run is cancelled', async () => {
      const spending = await open(null);
      const first = await spending.hold(call(1));
      await first.settle({ inputTokens: 20, outputTokens: 10 }, 'later');
      const aborted = await spending.hold(call(2));
      const recovery = new HoldRecovery(replicas.there.budgets.ledger);
      await recovery.charge(CALL, [{ key: first.key, tokens: 30, microUsd: 0 }]);
      expect(await counters()).toEqual([30, 370]);
      await aborted.settle({});
      await spending.closeRun(CALL);
      expect(await counters()).toEqual([130, 0]);
    });

    it('B2 B6 cost what is recorded when the run is recovered, and a lost call costs the held amount when the run ends', async () => {
      const spending = await open(null);
      const recorded = async (turn: number): Promise<Charge> => {
        const hold = await spending.hold(call(turn));
        await hold.settle({ inputTokens: 20, outputTokens: 10 }, 'later');
        return { key: hold.key, tokens: 30, microUsd: 0 };
      };
      const charges = [await recorded(1), await recorded(2)];
      await spending.hold(call(3));
      await spendingOn(replicas.there).recover(CALL, charges);
      expect(await counters()).toEqual([60, 0]);
      await spendingOn(replicas.there).hold(call(3));
      const recovery = new HoldRecovery(here.budgets.ledger);
      await recovery.end(CALL, charges, true);
      await recovery.end(CALL, charges, true);
      expect(await counters()).toEqual([160, 0]);
      await spendingOn(here).hold(call(4));
      await recovery.end(CALL, charges, false);
      expect(await counters()).toEqual([160, 0]);
    });
  });

  async function expiries(): Promise<number[]> {
    const rows = await replicas.database.db.query<{ at: Date }>(`SELECT expires_at AS at FROM budget_reservation`);
    return rows.map(({ at }) => at.getTime());
  }
});
