import { TwoReplicas } from '#rollcall/registry/testing';
import { LedgerSpending } from './ledger.spending.js';
import { ReservationRecovery } from './reservation.recovery.js';
import {
  type ReservationKind,
  type ReservationTerms,
  type RunReservation,
  RunReservations,
} from './run.reservations.js';
import { type Charge, type SpendingAmount, unrecorded } from './spending.js';

const RUN = { namespace: 'default', runId: 'r' };
const of = (tokens: number, microUsd = 0): SpendingAmount => ({ tokens, microUsd });
/** A call that may use 100 tokens and 10 micro-dollars, with an amount for three later calls. */
const CALLS = { amount: of(100, 10), ahead: of(300, 30), isUnpriced: false };
const ONE = { amount: of(100, 10), isUnpriced: false };

let replicas: TwoReplicas;
let recovery: ReservationRecovery;
let reservations: RunReservations;
beforeEach(async () => {
  replicas = await TwoReplicas.start();
  recovery = new ReservationRecovery(replicas.there.budgets.ledger);
  await execute();
});
afterEach(async () => await replicas.stop());

/** Begins an execution of the run on the first replica. */
async function execute(): Promise<void> {
  const { budgets, ledger } = replicas.here.budgets;
  const spending = new LedgerSpending(budgets, ledger, new ReservationRecovery(ledger));
  await spending.openRun({ ...RUN, parentRunId: null, limit: { tokens: null, microUsd: null } });
  reservations = new RunReservations(spending, { ...RUN, agentId: null, callerId: null }, unrecorded(spending));
}

async function reserve(kind: ReservationKind, terms: ReservationTerms): Promise<RunReservation> {
  const { promise, resolve } = Promise.withResolvers<RunReservation>();
  await reservations.change([], [reservations.wanted(kind, terms, resolve)]);
  return await promise;
}

/** Records a reply that this reservation pays. */
function reply({ name: key }: RunReservation, { tokens, microUsd }: SpendingAmount, estimated?: true): Charge {
  return { key, tokens, microUsd, ...(estimated && { estimated }) };
}

async function budget(): Promise<{ own: SpendingAmount; held: SpendingAmount }> {
  const [reading] = await replicas.there.budgets.budgets.of('run', 'r');
  return { own: reading?.budget.own ?? of(-1), held: reading?.budget.reserved ?? of(-1) };
}

/** The marks of the ledger lines of a reservation. */
async function marksOf({ of: { key } }: RunReservation): Promise<string[]> {
  const lines = await replicas.database.db.query<{ marks: string[] }>(`SELECT marks FROM budget_entry WHERE key = $1`, [
    key,
  ]);
  return lines.flatMap(({ marks }) => marks);
}

describe('a run that continues', () => {
  it('B2 B6 is charged the sum of the replies of each reservation, and all other reservations are released', async () => {
    const [calls, final] = [await reserve('calls', CALLS), await reserve('final', ONE)];
    const other = await reserve('calls', CALLS);
    await reserve('calls', CALLS);
    const charges = [reply(calls, of(10, 1)), reply(final, of(50, 3)), reply(calls, of(5, 1)), reply(other, of(7))];
    for (let pass = 0; pass < 2; pass += 1) {
      await recovery.recover(RUN, charges);
      expect(await budget()).toEqual({ own: of(72, 5), held: of(0) });
    }
  });

  it('B2 B6 is charged the reserved amount of a recorded call with unknown usage, and its ledger line says so', async () => {
    const calls = await reserve('calls', CALLS);
    await recovery.recover(RUN, [reply(calls, of(10, 1)), reply(calls, of(50, 4), true)]);
    expect([await budget(), await marksOf(calls)]).toEqual([{ own: of(60, 5), held: of(0) }, ['estimated']]);
  });

  it('B2 B6 is charged a reply without a known price in tokens only', async () => {
    const calls = await reserve('calls', { amount: of(100), isUnpriced: true });
    await recovery.recover(RUN, [{ key: calls.name, tokens: 30, microUsd: null }]);
    expect(await budget()).toEqual({ own: of(30), held: of(0) });
  });

  it('B2 B6 is charged only the rest of what a renewal charged before the crash', async () => {
    const calls = await reserve('calls', CALLS);
    calls.use(of(30, 2), false);
    await reservations.change([], []);
    await reservations.keep();
    expect(await budget()).toEqual({ own: of(30, 2), held: of(370, 38) });
    await recovery.recover(RUN, [reply(calls, of(30, 2)), reply(calls, of(20, 1))]);
    expect(await budget()).toEqual({ own: of(50, 3), held: of(0) });
  });
});

describe('a run that does not continue', () => {
  it('B2 B6 is charged a lost call with the amount of one call, not with the amount for later calls', async () => {
    const calls = await reserve('calls', CALLS);
    await reserve('final', ONE);
    const charges = [reply(calls, of(30, 2)), reply(calls, of(30, 2))];
    for (let pass = 0; pass < 2; pass += 1) {
      await recovery.end(RUN, charges, true);
      expect(await budget()).toEqual({ own: of(160, 14), held: of(0) });
    }
    expect(await marksOf(calls)).toEqual(['estimated']);
  });

  it('B2 B6 is charged a lost call with what is left of the reservation if that is less than one call', async () => {
    const calls = await reserve('calls', CALLS);
    await recovery.end(RUN, [reply(calls, of(340, 5))], true);
    expect(await budget()).toEqual({ own: of(400, 15), held: of(0) });
  });

  it('B2 B6 is charged a lost first call, and a lost call of an agent with its own loop, as reserved', async () => {
    await reserve('calls', CALLS);
    await reserve('call', { amount: of(70, 7), isUnpriced: false });
    await recovery.end(RUN, [], true);
    expect(await budget()).toEqual({ own: of(170, 17), held: of(0) });
  });

  it('B2 B6 is charged a lost call in addition to what a renewal charged before the crash', async () => {
    const calls = await reserve('calls', CALLS);
    calls.use(of(30, 2), false);
    await reservations.change([], []);
    await reservations.keep();
    await recovery.end(RUN, [reply(calls, of(30, 2))], true);
    expect(await budget()).toEqual({ own: of(130, 12), held: of(0) });
  });

  it('B2 B6 is charged only its recorded replies if no call was in progress', async () => {
    const calls = await reserve('calls', CALLS);
    await reserve('final', ONE);
    await recovery.end(RUN, [reply(calls, of(30, 2))], false);
    expect(await budget()).toEqual({ own: of(30, 2), held: of(0) });
  });

  it('B2 B6 is charged a recorded final answer, and nothing for it if it is not recorded', async () => {
    const final = await reserve('final', ONE);
    await recovery.end(RUN, [reply(final, of(40, 4))], true);
    expect(await budget()).toEqual({ own: of(40, 4), held: of(0) });
    await execute();
    await reserve('final', ONE);
    await recovery.end(RUN, [], true);
    expect(await budget()).toEqual({ own: of(40, 4), held: of(0) });
  });

  it('B2 B6 costs what is recorded when it is recovered, and a lost call of its next execution costs the reserved amount', async () => {
    const first = await reserve('calls', CALLS);
    const charges = [reply(first, of(30)), reply(first, of(30))];
    await recovery.recover(RUN, charges);
    expect(await budget()).toEqual({ own: of(60), held: of(0) });
    await execute();
    await reserve('calls', CALLS);
    for (let pass = 0; pass < 2; pass += 1) await recovery.end(RUN, charges, true);
    expect(await budget()).toEqual({ own: of(160, 10), held: of(0) });
    await execute();
    await reserve('calls', CALLS);
    await recovery.end(RUN, charges, false);
    expect(await budget()).toEqual({ own: of(160, 10), held: of(0) });
    expect((await replicas.here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });
});

describe('a cancelled run', () => {
  it('B2 B6 is charged its recorded replies at once, and the aborted call afterwards', async () => {
    const calls = await reserve('calls', CALLS);
    calls.use(of(30), false);
    calls.lent = of(100, 10);
    await recovery.charge([{ ...RUN, charges: [reply(calls, of(30))] }]);
    expect(await budget()).toEqual({ own: of(30), held: of(370, 40) });
    calls.use(of(100, 10), true);
    await reservations.close();
    expect(await budget()).toEqual({ own: of(130, 10), held: of(0) });
  });

  it('B2 B6 is charged a recorded reply even if its reservation has expired', async () => {
    const calls = await reserve('calls', CALLS);
    await replicas.database.db.query(`UPDATE budget_reservation SET expires_at = expires_at - interval '121 seconds'`);
    await replicas.here.budgets.sweeper.sweep();
    for (let pass = 0; pass < 2; pass += 1) await recovery.charge([{ ...RUN, charges: [reply(calls, of(30, 1))] }]);
    expect(await budget()).toEqual({ own: of(30, 1), held: of(0) });
  });
});
