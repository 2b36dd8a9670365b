import { qualifiedId, type Database } from '#rollcall/platform';
import type { BudgetParts } from '../testing/budget-parts.js';
import { given } from '../testing/given.js';
import { expectSound } from '../testing/test-budgets.js';
import { TwoReplicas } from '../testing/two-replicas.js';
import { type Budget, FLEET } from './budget.js';
import type { BudgetExhaustedError } from './budget.errors.js';
import type { Reservation, ReserveRequest } from './ledger/reservation.js';

let replicas: TwoReplicas;
let db: Database;
let here: BudgetParts;
let there: BudgetParts;

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  [here, there] = [replicas.here.budgets, replicas.there.budgets];
  db = replicas.database.db;
  for (const name of ['team-a', 'team-b']) await replicas.here.namespaces.create(name, NO_FIELDS, 'test');
});
afterEach(async () => await replicas.stop());

const NO_FIELDS = { description: null, limits: {} };
const NAMESPACES = ['default', 'team-a', 'team-b'];
const NO_LIMIT = { tokens: null, microUsd: null };
const tokens = (count: number): { tokens: number; microUsd: number } => ({ tokens: count, microUsd: 0 });
const of = ({ owner, key }: Reservation): { owner: string; key: string } => ({ owner, key });
const fleetBudget = async (limit: number | null): Promise<Budget> =>
  await here.given.budget(limit, { kind: 'fleet', subject: FLEET });
const namespaceBudget = async (subject: string, limit: number | null): Promise<Budget> =>
  await here.given.budget(limit, { kind: 'namespace', subject });

/** A reservation of one caller in a namespace, for an agent and a run with the same local ids everywhere. */
function reservationIn(namespace: string, count: number, overrides: Partial<ReserveRequest> = {}): ReserveRequest {
  const owner = qualifiedId(namespace, 'key:a');
  const [agentId, runId] = [qualifiedId(namespace, 'builder'), qualifiedId(namespace, 'run-1')];
  return { ...given.reservation(count), owner, scopes: { agentId, callerId: owner, runId }, ...overrides };
}

async function openSubjects(namespace: string): Promise<void> {
  const subject = qualifiedId(namespace, 'builder');
  await here.given.budget(null, { kind: 'agent', subject });
  await here.given.budget(null, { kind: 'caller', subject: qualifiedId(namespace, 'key:a') });
  await here.budgets.openRun(qualifiedId(namespace, 'run-1'), null, NO_LIMIT, 'test');
}

async function counters(id: number): Promise<{ used: number; reserved: number }> {
  const { budget } = await there.budgets.get(id);
  return { used: budget.used.tokens, reserved: budget.reserved.tokens };
}

describe('budgets of several namespaces', () => {
  it('a reservation counts against the budgets of its agent, caller, run and namespace, and of the fleet', async () => {
    for (const namespace of NAMESPACES) await openSubjects(namespace);
    const teamA = await namespaceBudget('team-a', 100);
    const teamB = await namespaceBudget('team-b', 100);
    const fleet = await fleetBudget(1_000);
    const held = await here.ledger.reserve(reservationIn('team-a', 30));
    const concerned = await here.budgets.list(100, 0, { visible: ['team-a', '*'] });
    expect(held.budgetIds).toEqual(concerned.map(({ budget }) => budget.id));
    expect(concerned.map(({ budget }) => budget.kind)).toEqual(['agent', 'caller', 'run', 'namespace', 'fleet']);
    await here.ledger.settle(of(held), { tokens: 20, microUsd: 0 });
    await there.ledger.reserve(reservationIn('team-b', 5));
    await there.ledger.reserve(reservationIn('default', 7));
    expect(await counters(teamA.id)).toEqual({ used: 20, reserved: 0 });
    expect(await counters(teamB.id)).toEqual({ used: 0, reserved: 5 });
    expect(await counters(fleet.id)).toEqual({ used: 20, reserved: 12 });
    await expectSound(here);
  });

  it('a reservation without an agent or a run counts against the namespace of its owner', async () => {
    const teamA = await namespaceBudget('team-a', 10);
    const scopes = { agentId: null, callerId: null, runId: null };
    await here.ledger.reserve(reservationIn('team-a', 10, { scopes }));
    await here.ledger.reserve(reservationIn('team-b', 10, { scopes }));
    expect(await counters(teamA.id)).toEqual({ used: 0, reserved: 10 });
    await expect(here.ledger.reserve(reservationIn('team-a', 1, { scopes }))).rejects.toMatchObject({
      code: 'BUDGET_EXHAUSTED',
      details: { budget: { kind: 'namespace', subject: 'team-a', reserved: 10 } },
    });
  });

  it('an exhausted budget of the fleet rejects reservations of every namespace, and the error does not contain its numbers', async () => {
    await fleetBudget(100);
    const scopes = { agentId: null, callerId: null, runId: null };
    await here.ledger.reserve(reservationIn('team-b', 93, { scopes }));
    const error = await here.ledger
      .reserve(reservationIn('team-a', 8, { scopes }))
      .catch((reason: unknown) => reason as BudgetExhaustedError);
    expect(error).toMatchObject({ code: 'BUDGET_EXHAUSTED', details: { budget: { kind: 'fleet' }, asked: 8 } });
    expect(JSON.stringify([(error as Error).message, (error as BudgetExhaustedError).details])).not.toMatch(
      /93|100|\b7\b/,
    );
  });

  it('the same key of one owner names different reservations in different namespaces', async () => {
    for (const namespace of NAMESPACES) await openSubjects(namespace);
    const key = 'same';
    const all = await Promise.all(
      NAMESPACES.map(
        async (namespace, index) => await here.ledger.reserve(reservationIn(namespace, index + 1, { key })),
      ),
    );
    expect(all.map(({ held }) => held.tokens)).toEqual([1, 2, 3]);
    await there.ledger.release({ owner: 'team-a/key:a', key });
    const states = await Promise.all(all.map(async (one) => (await there.ledger.get(of(one))).state));
    expect(states).toEqual(['held', 'released', 'held']);
    await expectSound(here);
  });

  it('errors contain local ids', async () => {
    const messages = await Promise.all(
      [
        here.ledger.reserve(reservationIn('team-a', 1)),
        here.budgets.openRun('team-a/x', 'team-a/unknown', NO_LIMIT, 'test'),
      ].map(async (rejected) => await rejected.catch((error: unknown) => (error as Error).message)),
    );
    expect(messages).toEqual([
      expect.stringContaining('of the agent "builder"'),
      expect.stringContaining('of the run "unknown"'),
    ]);
  });

  it('the ledger names the caller by its local id', async () => {
    const { id } = await namespaceBudget('team-a', 10);
    const scopes = { agentId: null, callerId: null, runId: null };
    const held = await here.ledger.reserve(reservationIn('team-a', 3, { scopes }));
    await here.ledger.settle(of(held), { tokens: 3, microUsd: 0 });
    expect((await here.budgets.lines(id, 1, undefined))[0]).toMatchObject({ kind: 'charged', by: 'key:a' });
  });

  it('lists, reads and reconciles only the budgets of visible namespaces', async () => {
    for (const namespace of NAMESPACES) await openSubjects(namespace);
    const foreign = await namespaceBudget('team-b', 100);
    const listed = await here.budgets.list(100, 0, { visible: ['team-a'] });
    expect(new Set(listed.map(({ budget }) => budget.subject))).toEqual(
      new Set(['team-a/builder', 'team-a/key:a', 'team-a/run-1']),
    );
    await expect(here.budgets.get(foreign.id, ['team-a', '*'])).rejects.toMatchObject({ code: 'BUDGET_NOT_FOUND' });
    expect((await here.budgets.get(foreign.id, ['team-b'])).budget.id).toBe(foreign.id);
    await db.query(`UPDATE budget SET used_tokens = 3 WHERE id = $1`, [foreign.id]);
    expect(await here.reconciliation.reconcile(['team-a'])).toEqual({ checked: 3, discrepancies: [] });
    expect(await here.reconciliation.reconcile(['team-b'])).toMatchObject({ checked: 4, discrepancies: [{}] });
    expect(await here.reconciliation.reconcile()).toMatchObject({ checked: 10, discrepancies: [{}] });
  });

  it('concurrent reservations of three namespaces on two replicas exceed no limit and never deadlock', async () => {
    const budgets = new Map<string, number>();
    // the order of the ids differs from the order of the kinds in a reservation
    const fleet = await fleetBudget(200);
    for (const namespace of NAMESPACES.toReversed()) {
      budgets.set(namespace, (await namespaceBudget(namespace, 100)).id);
      await openSubjects(namespace);
    }
    const spent = new Map<string, number>();
    const work = Array.from({ length: 300 }, async (_, index) => {
      const namespace = NAMESPACES[index % 3] ?? 'default';
      const { ledger } = index % 2 ? here : there;
      const held = await ledger.reserve(reservationIn(namespace, 2)).catch((error: unknown) => error);
      if (held instanceof Error) return expect(held).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
      await (index % 4 ? here : there).ledger.settle(of(held as Reservation), { tokens: 1, microUsd: 0 });
      return spent.set(namespace, (spent.get(namespace) ?? 0) + 1);
    });
    await Promise.all(work);
    let total = 0;
    for (const [namespace, id] of budgets) {
      const used = spent.get(namespace) ?? 0;
      expect(await counters(id)).toEqual({ used, reserved: 0 });
      expect(used).toBeLessThanOrEqual(100);
      total += used;
    }
    expect(total).toBeLessThanOrEqual(200);
    expect(await counters(fleet.id)).toEqual({ used: total, reserved: 0 });
    await expectSound(here);
  });

  it('agents with the same agentId in different namespaces have separate budgets', async () => {
    for (const namespace of NAMESPACES)
      await replicas.here.agents.register({
        namespace,
        agentId: 'twin',
        leaseToken: null,
        by: 'key:a',
        facts: given.registration({ budget: { totalTokens: 100, usedTokens: 0, source: 'ledger' } }),
      });
    const scopes = { agentId: 'team-a/twin', callerId: null, runId: null };
    const held = await here.ledger.reserve(reservationIn('team-a', 100, { scopes }));
    await here.ledger.settle(of(held), { tokens: 100, microUsd: 0 });
    const usage = await Promise.all(
      NAMESPACES.map(async (namespace) => {
        const [reading] = await there.budgets.of('agent', qualifiedId(namespace, 'twin'));
        return reading?.budget.used;
      }),
    );
    expect(usage).toEqual([tokens(0), tokens(100), tokens(0)]);
    const rows = await db.query('SELECT namespace, subject FROM budget ORDER BY id');
    expect(rows).toEqual(NAMESPACES.map((namespace) => ({ namespace, subject: qualifiedId(namespace, 'twin') })));
    const [event] = await replicas.loggedEvents('budget.exhausted');
    expect(event?.data).toMatchObject({ kind: 'agent', of: 'twin', agentId: 'twin' });
    await expectSound(here);
  });
});
