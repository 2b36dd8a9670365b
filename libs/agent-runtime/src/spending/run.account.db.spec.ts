import { ModelCatalog, type ModelProvider, type ModelUsage, VendorRegistry } from '#rollcall/providers';
import { scripted } from '#rollcall/providers/testing';
import { FLEET } from '#rollcall/registry';
import { TwoReplicas } from '#rollcall/registry/testing';
import { given } from '../testing/index.js';
import { termsOf } from './call.terms.js';
import { LedgerSpending } from './ledger.spending.js';
import { ReservationRecovery } from './reservation.recovery.js';
import { type Payment, RunAccount } from './run.account.js';
import { RunReservations } from './run.reservations.js';
import { type Charge, type SpendingLimit, unrecorded } from './spending.js';

const RUN = { namespace: 'default', runId: 'many' };
const RULES = { defaultOutputTokens: 50, minOutputTokens: 10, finalOutputTokens: 10 };
/** With these sizes, a call may use 100 tokens and the final call 60. An amount for three later calls is reserved together with the first. */
const INPUT = 50;
const FINAL = 60;
const MONEY: SpendingLimit = { tokens: null, microUsd: 1_000_000 };

const unpriced = scripted();
/** A price of 1 micro-dollar per token. */
const priced = new ModelCatalog({ vendors: VendorRegistry.withAll(), secrets: () => undefined, fetch }).open({
  vendor: 'scripted',
  model: 'echo',
  settings: {},
  prices: { input: 1_000_000, output: 1_000_000 },
});

let replicas: TwoReplicas;
let spending: LedgerSpending;
let reservations: RunReservations;
let account: RunAccount;
beforeEach(async () => {
  replicas = await TwoReplicas.start();
  spending = spendingOn(replicas.here);
});
afterEach(async () => await replicas.stop());

function spendingOn({ budgets: { budgets, ledger } }: TwoReplicas['here']): LedgerSpending {
  return new LedgerSpending(budgets, ledger, new ReservationRecovery(ledger));
}

/** Begins an execution of the run. */
async function start(limit: Partial<SpendingLimit> = {}, agentId: string | null = null, on = spending): Promise<void> {
  const usage = await on.openRun({ ...RUN, parentRunId: null, limit: { tokens: null, microUsd: null, ...limit } });
  reservations = new RunReservations(on, { ...RUN, agentId, callerId: null }, unrecorded(on), usage);
  account = new RunAccount(reservations, RULES);
}

async function pay(model: ModelProvider = unpriced, input = INPUT): Promise<Payment> {
  return await account.pay(given.modelCall({ model }), input, termsOf(model));
}

async function payFinally(model: ModelProvider = unpriced, input = INPUT): Promise<Payment> {
  return await account.payFinally(given.modelCall({ model, isFinal: true }), input, termsOf(model));
}

function charge(payment: Payment, usage: ModelUsage, model: ModelProvider = unpriced): Charge {
  return account.charge(payment, usage, termsOf(model));
}

const use = (payment: Payment, tokens: number): Charge => charge(payment, { inputTokens: tokens, outputTokens: 0 });

async function counters(): Promise<[used: number, held: number]> {
  const { own, reserved } = await spendingOn(replicas.there).usageOf(RUN);
  return [own.tokens, reserved.tokens];
}

async function count(): Promise<number> {
  return (await replicas.database.db.query(`SELECT FROM budget_reservation`)).length;
}

/** Simulates that all reservations expire because they were not renewed, and sweeps. */
async function expire(): Promise<void> {
  await replicas.database.db.query(`UPDATE budget_reservation SET expires_at = expires_at - interval '121 seconds'`);
  await replicas.here.budgets.sweeper.sweep();
}

/** Limits the budget of a subject. */
async function limitBudget(
  kind: 'agent' | 'namespace' | 'fleet',
  subject: string,
  limit: SpendingLimit,
): Promise<void> {
  await replicas.here.budgets.budgets.open({ kind, subject, limit, by: 'test' });
}

async function expectSound(): Promise<void> {
  expect((await replicas.here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
}

describe('consecutive calls of one run', () => {
  it('B2 share one reservation, and the charges of recorded replies are made together', async () => {
    await start();
    for (let turn = 1; turn <= 5; turn += 1) use(await pay(), 30);
    expect([await count(), await counters()]).toEqual([2, [0, 400 + FINAL]]);
    expect(reservations.used.tokens).toBe(150);
    await reservations.change([], []); // stores the step of the last reply
    await spending.renew();
    expect([await counters(), reservations.used.tokens]).toEqual([[150, 250 + FINAL], 150]);
    await reservations.close();
    expect(await counters()).toEqual([150, 0]);
    await expectSound();
  });

  it('B2 use a new reservation when the first does not cover the next call, and after a charge that no step contains', async () => {
    await start();
    use(await pay(), 310);
    const second = await pay();
    expect([await count(), await counters()]).toEqual([3, [310, 400 + FINAL]]);
    expect(charge(second, {})).toMatchObject({ tokens: 100, microUsd: null, estimated: true });
    await account.endNow(second);
    expect(await counters()).toEqual([410, FINAL]);
    account.cancel(await pay());
    expect([await count(), await counters()]).toEqual([4, [410, 400 + FINAL]]);
    await reservations.close();
    expect(await counters()).toEqual([410, 0]);
    await expectSound();
  });

  it('B2 have their own reservations if they overlap', async () => {
    await start();
    const both = [await pay(), await pay()];
    expect([await count(), await counters()]).toEqual([3, [0, 400 + 400 + FINAL]]);
    for (const payment of both) use(payment, 2);
    await reservations.close();
    expect(await counters()).toEqual([4, 0]);
  });

  it('B2 have their own reservations near the limit of a budget', async () => {
    await limitBudget('agent', 'ada', { tokens: 1_000, microUsd: null });
    await start({}, 'ada');
    use(await pay(), 2);
    expect(await counters()).toEqual([0, 100 + FINAL]);
    use(await pay(), 2);
    expect([await count(), await counters()]).toEqual([3, [2, 100 + FINAL]]);
    await reservations.close();
    expect(await counters()).toEqual([4, 0]);
  });

  it('B2 are charged in full after their reservation has expired, and the next call has a new reservation', async () => {
    await start();
    use(await pay(), 30);
    const inProgress = await pay();
    await expire();
    await spending.renew();
    use(inProgress, 40);
    use(await pay(), 5);
    expect([await count(), await counters()]).toEqual([4, [70, 400 + FINAL]]);
    await reservations.close();
    expect(await counters()).toEqual([75, 0]);
    await expectSound();
  });

  it('B2 charge a call that has not ended as reserved when the run ends', async () => {
    await start();
    use(await pay(), 30);
    await pay();
    await reservations.close();
    expect(await counters()).toEqual([130, 0]);
  });

  it('B2 all steps before a call are stored when its payment resolves, even if it needs no operation', async () => {
    await start();
    const stored: number[] = [];
    const writer = unrecorded(spending);
    const commit: typeof writer.commit = async (ops = []) => {
      stored.push(ops.length);
      return await writer.commit(ops);
    };
    const run = { ...RUN, agentId: null, callerId: null };
    reservations = new RunReservations(spending, run, { ...writer, commit });
    account = new RunAccount(reservations, RULES);
    for (let turn = 1; turn <= 3; turn += 1) use(await pay(), 30);
    await payFinally();
    expect(stored).toEqual([2, 0, 0, 0]);
    await reservations.close();
  });
});

describe('the amount for the final call', () => {
  it('B2 grows with the conversation, in the same reservation', async () => {
    await start();
    use(await pay(), 30);
    use(await pay(unpriced, 80), 30);
    expect([await count(), await counters()]).toEqual([2, [0, 400 + 90]]);
    await reservations.close();
    expect(await counters()).toEqual([60, 0]);
    await expectSound();
  });

  it('B2 pays the final call when the budget does not cover another call', async () => {
    await start({ tokens: 170 });
    use(await pay(), 100);
    await expect(pay()).rejects.toMatchObject({ code: 'SPENDING_LIMIT_REACHED' });
    expect(await counters()).toEqual([100, FINAL]);
    const payment = await payFinally();
    expect(payment.request.settings?.maxOutputTokens).toBe(10);
    use(payment, 55);
    await reservations.close();
    expect(await counters()).toEqual([155, 0]);
    await expectSound();
  });

  it('B2 is reserved again if its reservation expired while the database was unavailable', async () => {
    await start();
    use(await pay(), 30);
    await expire();
    expect(await counters()).toEqual([0, 0]);
    use(await pay(unpriced, 80), 40);
    expect((await counters())[1]).toBe(90);
    await reservations.close();
    expect(await counters()).toEqual([70, 0]);
    await expectSound();
  });
});

describe('a model without prices', () => {
  it.each([
    ['namespace', 'default'],
    ['fleet', FLEET],
    ['agent', 'ada'],
  ] as const)(
    'S-8 is rejected with MODEL_PRICE_UNKNOWN if only the budget of the %s limits money',
    async (kind, subject) => {
      await limitBudget(kind, subject, MONEY);
      await start({}, 'ada');
      await expect(pay()).rejects.toMatchObject({
        code: 'MODEL_PRICE_UNKNOWN',
        message: expect.stringMatching(/limits money.* has no prices\. Add usdPerMillionTokens to its preset/),
      });
      await expect(payFinally()).rejects.toMatchObject({ code: 'MODEL_PRICE_UNKNOWN' });
      expect([await count(), await counters()]).toEqual([0, [0, 0]]);
    },
  );

  it('S-8 is rejected with MODEL_PRICE_UNKNOWN if the budget of the run limits money, and a model with prices is not', async () => {
    await start(MONEY);
    await expect(pay(unpriced)).rejects.toMatchObject({ code: 'MODEL_PRICE_UNKNOWN' });
    charge(await pay(priced), { inputTokens: 20, outputTokens: 10 }, priced);
    await reservations.close();
    expect((await spending.usageOf(RUN)).own).toEqual({ tokens: 30, microUsd: 30 });
  });

  it('S-8 does not use the reserved amount of a model with prices', async () => {
    await limitBudget('namespace', 'default', MONEY);
    await start();
    charge(await pay(priced), { inputTokens: 20, outputTokens: 10 }, priced);
    await expect(pay(unpriced)).rejects.toMatchObject({ code: 'MODEL_PRICE_UNKNOWN' });
    await expect(payFinally(unpriced)).rejects.toMatchObject({ code: 'MODEL_PRICE_UNKNOWN' });
    charge(await pay(priced), { inputTokens: 20, outputTokens: 10 }, priced);
    await reservations.close();
    expect((await spending.usageOf(RUN)).own).toEqual({ tokens: 60, microUsd: 60 });
    await expectSound();
  });

  it('S-8 has its own reservation as the fallback of a model with prices if no budget limits money', async () => {
    await start();
    const first = await pay(priced);
    account.cancel(first);
    const fallback = await pay(unpriced);
    expect(fallback.reservation).not.toBe(first.reservation);
    expect(use(fallback, 30)).toMatchObject({ tokens: 30, microUsd: null });
    await reservations.close();
    expect((await spending.usageOf(RUN)).own).toEqual({ tokens: 30, microUsd: 0 });
    await expectSound();
  });
});
