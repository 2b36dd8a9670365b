import { DatabaseUnavailableError } from '#rollcall/platform';
import type { BudgetLedger } from '#rollcall/registry';
import { type TestRegistry, TwoReplicas } from '#rollcall/registry/testing';
import { describeSpendingContract } from '../testing/index.js';
import { InterruptedRun } from '../testing/interrupted.run.js';
import { LedgerSpending } from './ledger.spending.js';
import { ReservationRecovery } from './reservation.recovery.js';
import { type ReservationTerms, type RunReservation, RunReservations } from './run.reservations.js';
import { type SpendingAmount, unrecorded } from './spending.js';

const spendingOn = ({ budgets: { budgets, ledger } }: TestRegistry, on: BudgetLedger = ledger): LedgerSpending =>
  new LedgerSpending(budgets, on, new ReservationRecovery(on));

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
    await spendingOn(here).openRun({ ...RUN, parentRunId: null, limit: LIMIT });
  });
  afterEach(async () => await replicas.stop());

  const RUN = { namespace: 'default', runId: 'r' };
  const LIMIT = { tokens: 100, microUsd: null };
  const TERMS: ReservationTerms = { amount: { tokens: 60, microUsd: 0 }, isUnpriced: true };
  const used = async (): Promise<number> => (await spendingOn(here).usageOf(RUN)).own.tokens;
  const counters = async (): Promise<[held: number, used: number]> => [(await heldBy(here, 'r')).tokens, await used()];
  const openReservations = (spending: LedgerSpending): RunReservations =>
    new RunReservations(spending, { ...RUN, agentId: null, callerId: null }, unrecorded(spending));
  const reserve = async (reservations: RunReservations, terms = TERMS): Promise<RunReservation> => {
    const { promise, resolve } = Promise.withResolvers<RunReservation>();
    await reservations.change([], [reservations.wanted('calls', terms, resolve)]);
    return await promise;
  };
  const use = (reservation: RunReservation, tokens: number): void => reservation.use({ tokens, microUsd: 0 }, false);
  /** Simulates that this time passes for all reservations, and sweeps. */
  const elapse = async (seconds: number): Promise<void> => {
    await replicas.database.db.query(
      `UPDATE budget_reservation SET expires_at = expires_at - $1 * interval '1 second' WHERE state = 'held'`,
      [seconds],
    );
    await here.budgets.sweeper.sweep();
  };

  it('B2 frees the amount that a crashed process had reserved when the reservation expires', async () => {
    await reserve(openReservations(spendingOn(here)));
    expect(await heldBy(here, 'r')).toEqual({ tokens: 60, microUsd: 0 });
    await elapse(121);
    expect(await counters()).toEqual([0, 0]);
  });

  it('B2 renews the reservation of a long call until the call ends', async () => {
    const spending = spendingOn(here);
    const reservations = openReservations(spending);
    const reservation = await reserve(reservations);
    for (let pass = 0; pass < 3; pass += 1) {
      const [before] = await expiries();
      await elapse(100);
      await spending.renew();
      expect((await expiries())[0]).toBeGreaterThan((before ?? 0) - 1_000);
    }
    use(reservation, 2);
    await reservations.close();
    await spending.renew();
    expect(await counters()).toEqual([0, 2]);
  });

  it('B2 a call that ends after its reservation has expired is still charged', async () => {
    const spending = spendingOn(here);
    const reservations = openReservations(spending);
    const reservation = await reserve(reservations);
    await elapse(121);
    await spending.renew();
    use(reservation, 21);
    await reservations.close();
    expect(await used()).toBe(21);
  });

  it('B2 charges what is stored while the run continues, so that its budget shows it, and charges nothing twice', async () => {
    const spending = spendingOn(here);
    const reservations = openReservations(spending);
    const reservation = await reserve(reservations);
    use(reservation, 15);
    await spending.renew();
    expect([await counters(), reservations.used.tokens]).toEqual([[60, 0], 15]); // no step contains it yet
    await reservations.change([], []);
    for (let pass = 0; pass < 2; pass += 1) {
      await spending.renew();
      expect([await counters(), reservations.used.tokens]).toEqual([[45, 15], 15]);
    }
    use(reservation, 5);
    expect(reservations.used.tokens).toBe(20);
    await reservations.close();
    expect(await counters()).toEqual([0, 20]);
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  it('B2 a run knows the usage of its descendants in the same process', async () => {
    const spending = spendingOn(here);
    const parent = openReservations(spending);
    await reserve(parent, { ...TERMS, amount: { tokens: 10, microUsd: 0 } });
    await spending.openRun({ ...RUN, runId: 'child', parentRunId: 'r', limit: LIMIT });
    const run = { ...RUN, runId: 'child', agentId: null, callerId: null };
    const child = new RunReservations(spending, run, unrecorded(spending));
    use(await reserve(child), 33);
    expect(parent.used.tokens).toBe(0);
    await child.close();
    expect(parent.used.tokens).toBe(33);
    await parent.close();
  });

  describe('if the database is unavailable', () => {
    let isDown: boolean;
    let spending: LedgerSpending;
    beforeEach(() => {
      isDown = false;
      const { ledger } = here.budgets;
      const unreliable = Object.create(ledger) as BudgetLedger;
      unreliable.apply = async (ops) => {
        if (isDown) throw new DatabaseUnavailableError(new Error('down'));
        return await ledger.apply(ops);
      };
      spending = spendingOn(here, unreliable);
    });

    it('B2 repeats a charge that failed, and keeps the amount reserved until then', async () => {
      const reservations = openReservations(spending);
      use(await reserve(reservations), 21);
      isDown = true;
      await reservations.close();
      await spending.renew();
      expect(await counters()).toEqual([60, 0]);
      isDown = false;
      await spending.repeatUnsent();
      expect(await counters()).toEqual([0, 21]);
      await spending.repeatUnsent();
      expect(await counters()).toEqual([0, 21]);
    });

    it('B2 renewing repeats all charges and releases of all runs that failed', async () => {
      const [one, other] = [openReservations(spending), openReservations(spending)];
      use(await reserve(one, { ...TERMS, amount: { tokens: 30, microUsd: 0 } }), 9);
      await reserve(other);
      isDown = true;
      for (const reservations of [one, other]) await reservations.close();
      expect(await counters()).toEqual([90, 0]);
      isDown = false;
      await spending.renew();
      expect(await counters()).toEqual([0, 9]);
    });

    it('B2 an attempt whose charge failed is charged when the run ends', async () => {
      const reservations = openReservations(spending);
      const attempt = await reserve(reservations);
      use(attempt, 12);
      isDown = true;
      await expect(reservations.change([attempt], [])).rejects.toBeInstanceOf(DatabaseUnavailableError);
      isDown = false;
      await reservations.close();
      expect(await counters()).toEqual([0, 12]);
    });
  });

  it('B2 lets another replica repeat a call of a crashed replica with another amount', async () => {
    await reserve(openReservations(spendingOn(here)));
    const reservations = openReservations(spendingOn(replicas.there));
    const reservation = await reserve(reservations, { amount: { tokens: 30, microUsd: 2 }, isUnpriced: false });
    reservation.use({ tokens: 21, microUsd: 1 }, false);
    await reservations.close();
    await elapse(121);
    expect(await counters()).toEqual([0, 21]);
  });

  it('B2 B6 charges a recorded reply of a crashed replica, even if its reservation has expired in the meantime', async () => {
    const { name } = await reserve(openReservations(spendingOn(here)));
    await elapse(121);
    const charges = [{ key: name, tokens: 21, microUsd: 0 }];
    for (const replica of [here, replicas.there]) await spendingOn(replica).recover(RUN, charges);
    expect(await counters()).toEqual([0, 21]);
  });

  it('B2 B6 charges each recorded reply and each failed attempt once, and reserves nothing at the end, wherever a replica dies', async () => {
    const points = Array.from({ length: 50 }, (_, at) => at);
    const work = points.map(async (at) => {
      const runId = `run-${at}`;
      const run = new InterruptedRun(spendingOn(at % 2 ? here : replicas.there), { runId, turns: [2], failures: [1] });
      const outcome = await run.execute([at]);
      const { own, reserved } = await spendingOn(here).usageOf({ namespace: 'default', runId });
      expect([runId, outcome.type, own.tokens, reserved.tokens]).toEqual([runId, 'completed', run.billed, 0]);
    });
    await Promise.all(work);
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  async function expiries(): Promise<number[]> {
    const rows = await replicas.database.db.query<{ at: Date }>(`SELECT expires_at AS at FROM budget_reservation`);
    return rows.map(({ at }) => at.getTime());
  }
});
