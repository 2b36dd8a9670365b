import type { Database } from '#rollcall/platform';
import { CountingProxy } from '#rollcall/platform/testing';
import type { BudgetParts } from '../../testing/budget-parts.js';
import { given } from '../../testing/given.js';
import { expectSound } from '../../testing/test-budgets.js';
import { testRegistry } from '../../testing/test-registry.js';
import { TwoReplicas } from '../../testing/two-replicas.js';
import type { BudgetExhaustedError } from '../budget.errors.js';
import { FLEET } from '../budget.js';
import type { LedgerOp } from './ledger.operation.js';

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

it('R-1 a reservation and a settlement need two round trips and one commit each', async () => {
  await here.given.budget(100);
  const proxy = await CountingProxy.start(replicas.database.url);
  const connected = await replicas.database.connectAgain({ url: proxy.url });
  const { ledger } = (await testRegistry(connected)).budgets;
  await ledger.reserve(given.reservation(1)); // opens the connection, and counts the reservations of the owner
  const request = given.reservation(10);
  const reserved = await proxy.count(async () => await ledger.reserve(request));
  const settled = await proxy.count(async () => await ledger.settle(of(request), { tokens: 4, microUsd: 0 }));
  const both = [reserved, settled].map(({ roundTrips, commits }) => [roundTrips, commits]);
  expect(both).toEqual([
    [2, 1],
    [2, 1],
  ]);
  await ledger.idle();
  proxy.stop();
});

describe('a reservation', () => {
  it('B2 1,000 callers on two replicas get exactly as many reservations as the budget allows', async () => {
    const { id } = await here.given.budget(50);
    const attempts = Array.from(
      { length: 1_000 },
      async (_, index) => await (index % 2 ? here : there).ledger.reserve(given.reservation(1)),
    );
    const results = await Promise.allSettled(attempts);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect((await here.budgets.get(id)).budget.reserved).toEqual(tokens(50));
    await expectSound(here);
  });

  it('B2 a reservation counts in every budget that applies, or in none', async () => {
    const fleet = await here.given.budget(100);
    const caller = await here.given.budget(10, { kind: 'caller', subject: 'key:a' });
    await here.ledger.reserve(given.reservation(8, { callerId: 'key:a' }));
    await expect(here.ledger.reserve(given.reservation(3, { callerId: 'key:a' }))).rejects.toMatchObject({
      code: 'BUDGET_EXHAUSTED',
      details: { budget: { id: String(caller.id), limit: 10, reserved: 8 }, asked: 3 },
    } satisfies Partial<Record<keyof BudgetExhaustedError, unknown>>);
    await here.ledger.reserve(given.reservation(3, { callerId: 'key:b' }));
    expect((await here.budgets.get(fleet.id)).budget.reserved).toEqual(tokens(11));
    expect((await here.budgets.get(caller.id)).budget.reserved).toEqual(tokens(8));
    await expectSound(here);
  });

  it('B2 a money limit rejects reservations in the same way as a token limit', async () => {
    await here.given.budget(null, { limit: { tokens: null, microUsd: 1_000 } });
    const first = await here.ledger.reserve(given.reservation(50_000, { amount: { tokens: 50_000, microUsd: 600 } }));
    await expect(
      here.ledger.reserve(given.reservation(1, { amount: { tokens: 1, microUsd: 401 } })),
    ).rejects.toMatchObject({
      details: { budget: { unit: 'microUsd' } },
    });
    await here.ledger.settle(of(first), { tokens: 50_000, microUsd: 1_000 });
    await expect(here.ledger.reserve(given.reservation(1))).rejects.toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    await expectSound(here);
  });

  it('B2 a reservation holds fewer tokens if the caller accepts fewer', async () => {
    await here.given.budget(100);
    await here.ledger.reserve(given.reservation(70));
    expect((await here.ledger.reserve(given.reservation(1_000, { atLeastTokens: 20 }))).held).toEqual(tokens(30));
    await expect(here.ledger.reserve(given.reservation(1_000, { atLeastTokens: 1 }))).rejects.toMatchObject({
      code: 'BUDGET_EXHAUSTED',
    });
  });

  it('B2 one key makes one reservation, however often and on whichever replica it is requested', async () => {
    const { id } = await here.given.budget(100);
    const request = given.reservation(10);
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => await (index % 2 ? here : there).ledger.reserve(request)),
    );
    expect(new Set(answers.map(({ key }) => key))).toEqual(new Set([request.key]));
    expect((await here.budgets.get(id)).budget.reserved).toEqual(tokens(10));
    await expect(here.ledger.reserve({ ...request, amount: tokens(11) })).rejects.toMatchObject({
      code: 'RESERVATION_KEY_REUSED',
    });
    await expectSound(here);
  });

  it('B2 returns the reservation of a key again, even if the budget allows no new one', async () => {
    await here.given.budget(10);
    const request = given.reservation(10);
    const first = await here.ledger.reserve(request);
    const again = await Promise.allSettled([there.ledger.reserve(request), there.ledger.reserve(given.reservation(1))]);
    expect(again[0]).toMatchObject({ status: 'fulfilled', value: { key: first.key, held: tokens(10) } });
    expect(again[1]).toMatchObject({ status: 'rejected', reason: { code: 'BUDGET_EXHAUSTED' } });
    await here.ledger.settle(of(first), { tokens: 10, microUsd: 0 });
    expect(await there.ledger.reserve(request)).toMatchObject({ state: 'settled' });
    await expectSound(here);
  });

  it('B2 rejects a reservation if the named agent or run has no budget', async () => {
    await expect(here.ledger.reserve(given.reservation(1, { agentId: 'unknown' }))).rejects.toMatchObject({
      code: 'BUDGET_NOT_FOUND',
    });
    await expect(here.ledger.reserve(given.reservation(1, { runId: 'unknown' }))).rejects.toMatchObject({
      code: 'BUDGET_NOT_FOUND',
    });
    expect((await here.ledger.reserve(given.reservation(1))).budgetIds).toEqual([]);
  });

  it('B2 a reservation is part of the transaction of the caller and is rolled back with it', async () => {
    const { id } = await here.given.budget(100);
    const failing = db.transaction(async () => {
      await here.ledger.reserve(given.reservation(60));
      throw new Error('roll back');
    });
    await expect(failing).rejects.toThrow('roll back');
    await db.transaction(async () => void (await here.ledger.reserve(given.reservation(90))));
    expect((await here.budgets.get(id)).budget.reserved).toEqual(tokens(90));
  });

  it.each([
    ['a fraction of a token', { amount: tokens(0.5) }],
    ['a negative amount', { amount: tokens(-1) }],
    ['more than a trillion tokens', { amount: tokens(1e12 + 1) }],
    ['no key', { key: '' }],
    ['a key with a NUL', { key: 'a\0b' }],
    ['no time to live', { ttlMs: 0 }],
    ['a minimum above the amount', { atLeastTokens: 2 }],
  ])('B2 rejects a reservation with %s before it can fail the batch of other callers', async (_, overrides) => {
    await expect(here.ledger.reserve(given.reservation(1, overrides))).rejects.toMatchObject({
      code: 'INVALID_BUDGET',
    });
  });
});

describe('a settlement', () => {
  it('B2 a settlement charges the usage and releases the rest', async () => {
    const { id } = await here.given.budget(100);
    const held = await here.ledger.reserve(given.reservation(80));
    expect(await here.ledger.settle(of(held), { tokens: 30, microUsd: 7 })).toMatchObject({
      state: 'settled',
      overdraft: false,
      estimated: false,
    });
    expect((await here.budgets.get(id)).budget).toMatchObject({
      used: { tokens: 30, microUsd: 7 },
      reserved: tokens(0),
    });
    await here.ledger.reserve(given.reservation(70));
    await expectSound(here);
  });

  it('B2 a partial charge keeps the rest reserved, and the settlement charges only the usage that is not charged yet', async () => {
    const { id } = await here.given.budget(100);
    const held = await here.ledger.reserve(given.reservation(80));
    for (const total of [30, 30, 20, 50]) await there.ledger.charge(of(held), tokens(total));
    expect((await here.budgets.get(id)).budget).toMatchObject({ used: tokens(50), reserved: tokens(30) });
    await expectSound(here);
    expect(await here.ledger.settle(of(held), tokens(60))).toMatchObject({ state: 'settled', used: tokens(60) });
    await there.ledger.charge(of(held), tokens(60));
    expect((await here.budgets.get(id)).budget).toMatchObject({ used: tokens(60), reserved: tokens(0) });
    await expectSound(here);
  });

  it('B2 after a partial charge, a release frees the rest, and a settlement with unknown usage charges the rest', async () => {
    const { id } = await here.given.budget(100);
    for (const end of ['release', 'settle'] as const) {
      const held = await here.ledger.reserve(given.reservation(30));
      await here.ledger.charge(of(held), tokens(10));
      if (end === 'release') await here.ledger.release(of(held));
      else await here.ledger.settle(of(held), { tokens: null, microUsd: null });
      await expectSound(here);
    }
    expect((await here.budgets.get(id)).budget).toMatchObject({ used: tokens(10 + 30), reserved: tokens(0) });
  });

  it('B2 a settlement above the reservation is charged in full and marked, and the next reservation is rejected', async () => {
    const { id } = await here.given.budget(100);
    const held = await here.ledger.reserve(given.reservation(80));
    expect(await here.ledger.settle(of(held), { tokens: 130, microUsd: 0 })).toMatchObject({ overdraft: true });
    expect((await here.budgets.get(id)).budget.used).toEqual(tokens(130));
    await expect(here.ledger.reserve(given.reservation(0))).rejects.toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect((await here.budgets.lines(id, 1, undefined))[0]).toMatchObject({ kind: 'charged', marks: ['overdraft'] });
    await expectSound(here);
  });

  it('B2 a settlement of an unknown usage charges the reserved amount and is marked as an estimate', async () => {
    const { id } = await here.given.budget(100);
    const held = await here.ledger.reserve(given.reservation(40));
    expect(await here.ledger.settle(of(held), { tokens: null, microUsd: null })).toMatchObject({ estimated: true });
    expect((await here.budgets.get(id)).budget.used).toEqual(tokens(40));
  });

  it('S-6 a reported usage is charged at most ten times the reservation, also if it is reported twice or after a partial charge', async () => {
    const { id } = await here.given.budget(1_000);
    const request = given.reservation(20);
    await here.ledger.reserve(request);
    await here.ledger.charge(of(request), { tokens: 15, microUsd: 0 });
    for (const ledger of [here.ledger, there.ledger])
      expect(await ledger.settleReported(of(request), { tokens: 1e12, microUsd: 1e15 })).toMatchObject({
        state: 'settled',
        used: { tokens: 200, microUsd: 20_000 },
      });
    expect((await here.budgets.get(id)).budget.used).toEqual({ tokens: 200, microUsd: 20_000 });
    const [line] = await here.budgets.lines(id, 1, undefined);
    expect(line?.note).toContain('Reported: 1000000000000 tokens, 1000000000000 microUsd');
    await expectSound(here);
  });

  it('B2 a repeated settlement charges once, and a later release is rejected', async () => {
    const { id } = await here.given.budget(100);
    const held = await here.ledger.reserve(given.reservation(40));
    const usage = { tokens: 40, microUsd: 0 };
    const both = [here, there].flatMap(({ ledger }) =>
      Array.from({ length: 10 }, () => ledger.settle(of(held), usage)),
    );
    await Promise.all(both);
    expect((await here.budgets.get(id)).budget.used).toEqual(tokens(40));
    await expect(here.ledger.release(of(held))).rejects.toMatchObject({ code: 'RESERVATION_CLOSED' });
    await expect(here.ledger.settle({ owner: 'other', key: held.key }, usage)).rejects.toMatchObject({
      code: 'RESERVATION_NOT_FOUND',
    });
    await expectSound(here);
  });

  it('B2 a second settlement with another amount is rejected, and the error contains the recorded amount', async () => {
    const { id } = await here.given.budget(100);
    const held = await here.ledger.reserve(given.reservation(40));
    await here.ledger.settle(of(held), { tokens: 30, microUsd: 7 });
    for (const usage of [tokens(31), { tokens: 30, microUsd: 8 }])
      await expect(there.ledger.settle(of(held), usage)).rejects.toMatchObject({
        code: 'RESERVATION_CLOSED',
        message: expect.stringContaining('settled with 30 tokens and 7 micro-dollars') as string,
        details: { used: { tokens: 30, microUsd: 7 } },
      });
    for (const usage of [
      { tokens: 30, microUsd: 7 },
      { tokens: 30, microUsd: null },
      { tokens: null, microUsd: null },
    ])
      expect(await there.ledger.settle(of(held), usage)).toMatchObject({ used: { tokens: 30, microUsd: 7 } });
    expect((await here.budgets.get(id)).budget.used).toEqual({ tokens: 30, microUsd: 7 });
    await expectSound(here);
  });

  it('B2 exactly one of a settlement and a concurrent release succeeds', async () => {
    const { id } = await here.given.budget(1_000);
    const all = await Promise.all(
      Array.from({ length: 50 }, async () => await here.ledger.reserve(given.reservation(10))),
    );
    const ends = all.flatMap((held) => [
      here.ledger.settle(of(held), { tokens: 10, microUsd: 0 }),
      there.ledger.release(of(held)),
    ]);
    const results = await Promise.allSettled(ends);
    const settled = results.filter(({ status }, index) => index % 2 === 0 && status === 'fulfilled').length;
    const released = results.filter(({ status }, index) => index % 2 === 1 && status === 'fulfilled').length;
    expect(settled + released).toBe(50);
    expect((await here.budgets.get(id)).budget).toMatchObject({ used: tokens(settled * 10), reserved: tokens(0) });
    await expectSound(here);
  });
});

describe('a list of operations', () => {
  const raise = (request: { owner: string; key: string }, count: number): LedgerOp => ({
    op: 'raise',
    of: of(request),
    to: tokens(count),
  });

  it('B2 a raised reservation is stored with its new amount, and raising it again has no effect on any replica', async () => {
    const { id } = await here.given.budget(100);
    const request = given.reservation(40, { ahead: tokens(300) });
    await here.ledger.reserve(request);
    for (const { ledger } of [here, there, here])
      expect(await ledger.apply([raise(request, 70)])).toMatchObject([{ ok: true, reservation: { held: tokens(70) } }]);
    expect((await there.ledger.get(of(request))).held).toEqual(tokens(70));
    expect((await there.budgets.get(id)).budget.reserved).toEqual(tokens(70));
    await expectSound(here);
    const [rejected] = await there.ledger.apply([raise(request, 101)]);
    expect(rejected).toMatchObject({ ok: false, error: { code: 'BUDGET_EXHAUSTED', details: { asked: 31 } } });
    expect((await here.ledger.get(of(request))).held).toEqual(tokens(70));
    await there.ledger.settle(of(request), { tokens: null, microUsd: null });
    expect((await here.budgets.get(id)).budget).toMatchObject({ used: tokens(70), reserved: tokens(0) });
    await expectSound(here);
  });

  it('B2 a reservation can be raised after a partial charge, and by many callers at once without exceeding the budget', async () => {
    const { id } = await here.given.budget(100);
    const first = given.reservation(5);
    const all = [first, ...Array.from({ length: 9 }, () => given.reservation(5))];
    for (const request of all) await here.ledger.reserve(request);
    await here.ledger.charge(of(first), tokens(3));
    const raised = await Promise.all(
      all.map(async (request, index) => await (index % 2 ? here : there).ledger.apply([raise(request, 20)])),
    );
    // the first has 2 of its 5 tokens left; 47 of 97 are reserved, and each raise needs 15 or 18
    expect(raised.flat().filter(({ ok }) => ok)).toHaveLength(3);
    const { budget } = await here.budgets.get(id);
    expect(budget.used.tokens + budget.reserved.tokens).toBeLessThanOrEqual(100);
    await expectSound(here);
    for (const request of all) await there.ledger.release(of(request));
    expect((await here.budgets.get(id)).budget).toMatchObject({ used: tokens(3), reserved: tokens(0) });
    await expectSound(here);
  });

  it('B2 operations after a rejected reservation are not applied, and other lists of the same commit are', async () => {
    const { id } = await here.given.budget(100);
    const [open, other] = [given.reservation(50), given.reservation(10)];
    await here.ledger.reserve(open);
    const never = given.reservation(1);
    const lists: LedgerOp[][] = [
      [
        { op: 'charge', of: of(open), usage: tokens(20) },
        { op: 'reserve', request: given.reservation(51) },
        { op: 'reserve', request: never },
        { op: 'release', of: of(open) },
      ],
      [{ op: 'reserve', request: other }],
      [raise(open, 500), { op: 'release', of: of(open) }],
    ];
    const outcomes = await Promise.all(lists.map(async (ops) => await here.ledger.apply(ops)));
    expect(outcomes.map((list) => list.map(({ ok }) => ok))).toEqual([[true, false], [true], [false]]);
    await expect(there.ledger.get(of(never))).rejects.toMatchObject({ code: 'RESERVATION_NOT_FOUND' });
    expect((await there.budgets.get(id)).budget).toMatchObject({ used: tokens(20), reserved: tokens(30 + 10) });
    await expectSound(here);
  });

  it('B2 a list is a part of the transaction of the caller and is rolled back with it', async () => {
    const { id } = await here.given.budget(100);
    const request = given.reservation(40);
    await here.ledger.reserve(request);
    const failing = db.transaction(async () => {
      await here.ledger.apply([raise(request, 60), { op: 'reserve', request: given.reservation(30) }]);
      throw new Error('roll back');
    });
    await expect(failing).rejects.toThrow('roll back');
    expect((await here.budgets.get(id)).budget.reserved).toEqual(tokens(40));
    expect((await here.ledger.get(of(request))).held).toEqual(tokens(40));
    await expectSound(here);
  });

  it('B2 rejects a raise to a fraction of a token before it can fail the batch of other callers', async () => {
    await expect(here.ledger.apply([raise(given.reservation(1), 0.5)])).rejects.toMatchObject({
      code: 'INVALID_BUDGET',
    });
  });

  it('S-8 rejects a reservation without a price if the namespace limits money, and reserves nothing', async () => {
    const fleet = await here.given.budget(100, { kind: 'fleet', subject: FLEET });
    await here.given.budget(null, { limit: { tokens: null, microUsd: 1_000 } });
    const request = given.reservation(10, { isUnpriced: true });
    await expect(here.ledger.reserve(request)).rejects.toMatchObject({
      code: 'PRICE_UNKNOWN',
      message: 'The budget of the namespace "default" limits money, but the price of the call is unknown.',
    });
    expect((await here.budgets.get(fleet.id)).budget.reserved).toEqual(tokens(0));
    await here.ledger.reserve(given.reservation(10, { amount: { tokens: 10, microUsd: 3 } }));
  });
});

describe('expiry and renewal', () => {
  const expireAll = async (): Promise<unknown> =>
    await db.query(`UPDATE budget_reservation SET expires_at = clock_timestamp() - interval '1 second'`);

  it('B2 concurrent sweepers release each expired reservation exactly once', async () => {
    const { id } = await here.given.budget(100);
    await Promise.all(Array.from({ length: 10 }, async () => await here.ledger.reserve(given.reservation(10))));
    expect(await here.sweeper.sweep()).toMatchObject({ expired: 0 });
    await expireAll();
    const sweeps = await Promise.all([here, there, here, there].map(async ({ sweeper }) => await sweeper.sweep()));
    expect(sweeps.reduce((sum, { expired }) => sum + expired, 0)).toBe(10);
    expect((await here.budgets.get(id)).budget.reserved).toEqual(tokens(0));
    await here.ledger.reserve(given.reservation(100));
    await expectSound(here);
  });

  it('B2 a reservation is held as long as it is renewed, and no longer', async () => {
    await here.given.budget(10);
    const held = await here.ledger.reserve(given.reservation(10, { ttlMs: 60_000 }));
    await expireAll();
    const renewed = await there.ledger.renew(of(held), 120_000);
    expect(renewed.expiresAt).toBeGreaterThan(held.expiresAt);
    expect(await here.sweeper.sweep()).toMatchObject({ expired: 0 });
    expect((await here.ledger.renew(of(held), 1_000)).expiresAt).toBeGreaterThan(held.expiresAt);
    expect((await here.ledger.get(of(held))).expiresAt).toBeGreaterThan(held.expiresAt);
    await expireAll();
    expect(await here.sweeper.sweep()).toMatchObject({ expired: 1 });
    await expect(here.ledger.renew(of(held), 1_000)).rejects.toMatchObject({ code: 'RESERVATION_CLOSED' });
    await expect(here.ledger.renew({ owner: 'other', key: held.key }, 1_000)).rejects.toMatchObject({
      code: 'RESERVATION_NOT_FOUND',
    });
    await expect(here.ledger.renew(of(held), 0)).rejects.toMatchObject({ code: 'INVALID_BUDGET' });
    await expectSound(here);
  });

  it('B2 a reservation that is settled during a renewal stays settled', async () => {
    const { id } = await here.given.budget(1_000);
    for (let round = 0; round < 20; round++) {
      const held = await here.ledger.reserve(given.reservation(10));
      const [, settled] = await Promise.allSettled([
        here.ledger.renew(of(held), 60_000),
        here.ledger.settle(of(held), tokens(3)),
        there.ledger.renew(of(held), 60_000),
      ]);
      expect(settled.status).toBe('fulfilled');
      expect(await here.ledger.get(of(held))).toMatchObject({ state: 'settled', used: tokens(3) });
    }
    expect((await here.budgets.get(id)).budget).toMatchObject({ used: tokens(60), reserved: tokens(0) });
    await expectSound(here);
  });

  it('B2 a settlement after the expiry is charged and marked as late', async () => {
    const { id } = await here.given.budget(100);
    const held = await here.ledger.reserve(given.reservation(60));
    await expireAll();
    await here.sweeper.sweep();
    expect(await here.ledger.settle(of(held), { tokens: 50, microUsd: 0 })).toMatchObject({ state: 'settled' });
    expect((await here.budgets.get(id)).budget).toMatchObject({ used: tokens(50), reserved: tokens(0) });
    expect((await here.budgets.lines(id, 1, undefined))[0]).toMatchObject({ marks: ['late'] });
    await expectSound(here);
  });
});
