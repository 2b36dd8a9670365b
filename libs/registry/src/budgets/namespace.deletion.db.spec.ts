import { type Database, qualifiedId } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { given } from '../testing/given.js';
import type { TestRegistry } from '../testing/test-registry.js';
import { TwoReplicas } from '../testing/two-replicas.js';

let replicas: TwoReplicas;
let db: Database;
let here: TestRegistry;
let there: TestRegistry;

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  ({ here, there } = replicas);
  db = replicas.database.db;
});
afterEach(async () => await replicas.stop());

const ROUNDS = 50;
const NO_LIMIT = { tokens: null, microUsd: null };
const REJECTED = expect.objectContaining({ code: 'NAMESPACE_NOT_FOUND' }) as unknown;

async function create(name: string): Promise<void> {
  await here.namespaces.create(name, { description: null, limits: {} }, 'test');
}

/** The operations that add something to a namespace. None of them needs another budget. */
const ADDITIONS: Record<string, (namespace: string) => Promise<unknown>> = {
  budget: async (subject) => await here.given.budget(10, { kind: 'namespace', subject }),
  run: async (namespace) => await here.budgets.budgets.openRun(qualifiedId(namespace, 'run'), null, NO_LIMIT, 'key:a'),
  reservation: async (namespace) =>
    await here.budgets.ledger.reserve(given.reservation(1, { owner: qualifiedId(namespace, 'key:a') })),
};
const additions = Object.entries(ADDITIONS);

/** Everything that was added to a namespace after its deletion, and the held reservations of deleted namespaces. */
async function misplaced(): Promise<object[]> {
  return await db.query(
    `SELECT n.name, b.kind, b.subject FROM namespace n JOIN budget b ON b.namespace = n.name AND b.created_at > n.deleted_at
     UNION ALL SELECT n.name, 'reservation', r.key FROM namespace n
       JOIN budget_reservation r ON starts_with(r.owner, n.name || '/')
       AND (r.opened_at > n.deleted_at OR (n.deleted_at IS NOT NULL AND r.state = 'held'))`,
  );
}

async function isAnyWaitingForLock(): Promise<boolean> {
  const sql = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return (await db.query(sql)).length > 0;
}

describe('the deletion of a namespace on another replica', () => {
  it.each(additions)('a new %s in a deleted namespace is rejected', async (_kind, add) => {
    await create('team-a');
    await there.namespaces.delete('team-a');
    await expect(add('team-a')).rejects.toEqual(REJECTED);
    expect(await misplaced()).toEqual([]);
  });

  it.each(additions)('the deletion waits for a transaction that adds a %s', async (kind, add) => {
    await create('team-a');
    let deleting: Promise<unknown> | undefined;
    await db.transaction(async () => {
      await add('team-a');
      deleting = there.namespaces.delete('team-a').catch((error: unknown) => error);
      await db.detached(async () => await until('the deletion waits', isAnyWaitingForLock));
    });
    const result = await deleting;
    if (kind === 'reservation') expect(result).toMatchObject({ code: 'NAMESPACE_NOT_EMPTY' });
    else expect(result).toBeUndefined();
    expect(await misplaced()).toEqual([]);
  });

  it.each(additions)('a new %s waits for a deletion in progress and is rejected', async (_kind, add) => {
    await create('team-a');
    const other = await replicas.database.connectAgain();
    let adding: Promise<unknown> | undefined;
    await other.transaction(async () => {
      await other.query(`SELECT FROM namespace WHERE name = 'team-a' FOR UPDATE`);
      adding = add('team-a').catch((error: unknown) => error);
      await until('the addition waits', isAnyWaitingForLock);
      await other.query(`UPDATE namespace SET deleted_at = clock_timestamp() WHERE name = 'team-a'`);
    });
    expect(await adding).toEqual(REJECTED);
    expect(await misplaced()).toEqual([]);
  });

  it(`nothing is added to a namespace after its deletion, in ${ROUNDS} races with new budgets, runs and reservations`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `race-${round}`;
      await create(name);
      const remove = async (): Promise<unknown> => await there.namespaces.delete(name).catch((error: unknown) => error);
      const add = async (): Promise<unknown[]> =>
        await Promise.all(additions.map(async ([, one]) => await one(name).catch((error: unknown) => error)));
      const [removed, added] =
        round % 2 ? await Promise.all([remove(), add()]) : (await Promise.all([add(), remove()])).toReversed();
      const isDeleted = removed === undefined;
      if (!isDeleted) expect(removed).toMatchObject({ code: 'NAMESPACE_NOT_EMPTY' });
      for (const one of added as unknown[])
        if (one instanceof Error) expect([one, isDeleted]).toEqual([REJECTED, true]);
    }
    expect(await misplaced()).toEqual([]);
  });

  it('accepts a reservation in the default namespace and a budget of the fleet', async () => {
    await expect(ADDITIONS['reservation']?.('default')).resolves.toMatchObject({ state: 'held' });
    await expect(here.given.budget(10, { kind: 'fleet', subject: 'fleet' })).resolves.toMatchObject({ kind: 'fleet' });
  });
});
