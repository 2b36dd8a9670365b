import { given } from '../../testing/given.js';
import type { GivenAgent } from '../../testing/given-agents.js';
import type { TestRegistry } from '../../testing/test-registry.js';
import { TwoReplicas } from '../../testing/two-replicas.js';
import { DEFAULT_LEASE_POLICY, leaseTtlMs, suspectAfterMs } from '../../leases/lease.policy.js';

const FLEET = 5_000;

let replicas: TwoReplicas;
beforeEach(async () => (replicas = await TwoReplicas.start()));
afterEach(async () => await replicas.stop());

/** Both replicas publish what they changed, and read what the other one published. */
async function exchange(): Promise<void> {
  const { here, there } = replicas;
  for (const one of [here, there]) {
    await one.sync.exchangeChanges();
    await one.sync.idle();
  }
}

/** Both directories are loaded and follow the log, and each replica knows the other one. */
async function follow(): Promise<void> {
  await Promise.all([replicas.here.follower.follow(), replicas.there.follower.follow()]);
  await exchange();
  await exchange();
}

async function givenAgents(count: number): Promise<GivenAgent[]> {
  const agents: GivenAgent[] = [];
  while (agents.length < count) agents.push(await replicas.given.agent({ agentId: `agent-${agents.length}` }));
  return agents;
}

/** A sweep that reads only the leases of the agents that are silent by the directory of this replica. */
const sweep = async ({ sweeper, directory, clock }: TestRegistry): ReturnType<TestRegistry['sweeper']['sweep']> =>
  await sweeper.sweep(0, directory.silentAt(clock.now()));

/** How often Postgres has read the whole table. */
async function scansOf(...tables: string[]): Promise<Record<string, number>> {
  const { db } = replicas.database;
  await db.query('SELECT pg_stat_force_next_flush()');
  await db.query('SELECT pg_stat_clear_snapshot()');
  const rows = await db.query<{ table: string; scans: string }>(
    'SELECT relname AS table, seq_scan AS scans FROM pg_stat_user_tables WHERE relname = ANY ($1)',
    [tables],
  );
  return Object.fromEntries(rows.map(({ table, scans }) => [table, Number(scans)]));
}

describe('what replicas change without an event', () => {
  it('B14 S3.7 S3.10 a replica reads the heartbeats and charges that another replica published, once', async () => {
    const { here, there } = replicas;
    const { credential } = await replicas.given.agent({
      agentId: 'a-1',
      budget: { totalTokens: 1_000, usedTokens: 0, source: 'ledger' },
    });
    await follow();
    await here.heartbeats.beatAll([{ ...credential, inFlight: 7 }]);
    const { owner, key } = await here.budgets.ledger.reserve(given.reservation(10, { agentId: 'a-1' }));
    await here.budgets.ledger.settle({ owner, key }, { tokens: 10, microUsd: 0 });
    await here.idle();
    await exchange();
    const found = there.directory.find('a-1')?.record;
    expect([found?.load.inFlight, found?.budget.usedTokens]).toEqual([7, 10]);
    expect([await there.sync.readBeats(), await there.sync.readBudgets()]).toEqual([0, 0]);
  });

  it('B14 the agents of a failed publication are published by the next one', async () => {
    const { here, there, database } = replicas;
    const { credential } = await replicas.given.agent({ agentId: 'a-1' });
    await follow();
    await here.heartbeats.beatAll([{ ...credential, inFlight: 7 }]);
    await here.idle();
    await database.db.query('ALTER TABLE replica_changes RENAME TO away');
    await expect(here.sync.exchangeChanges()).rejects.toThrow('replica_changes');
    await database.db.query('ALTER TABLE away RENAME TO replica_changes');
    await exchange();
    expect(there.directory.find('a-1')?.record.load.inFlight).toBe(7);
  });
});

describe('a sweep that knows the silent agents', () => {
  it('B14 S3.4 it spares an agent whose heartbeats to another replica are not known here, and evicts a silent one', async () => {
    const { here, there } = replicas;
    const agents = await givenAgents(10);
    await replicas.elapse(leaseTtlMs(DEFAULT_LEASE_POLICY));
    await there.follower.follow(); // it reads the old heartbeats
    await here.heartbeats.beatAll(agents.slice(1).map(({ credential }) => credential));
    expect(there.directory.silentAt(there.clock.now())).toHaveLength(10);
    const { evicted, suspected } = await sweep(there);
    expect([evicted, suspected]).toEqual([['agent-0'], []]);
  });

  it('B14 S3.4 it removes the mark of an agent that sends a heartbeat again, also if another replica has set the mark', async () => {
    const { here, there } = replicas;
    const agents = await givenAgents(20);
    await replicas.silence(suspectAfterMs(DEFAULT_LEASE_POLICY), 'agent-0', 'agent-1');
    await follow();
    expect((await sweep(there)).suspected).toEqual(['agent-0', 'agent-1']);
    await here.sync.refresh(['agent-0', 'agent-1']); // the events are read
    await here.heartbeats.beatAll(agents.slice(0, 2).map(({ credential }) => credential));
    await here.idle();
    expect((await sweep(here)).recovered.toSorted()).toEqual(['agent-0', 'agent-1']);
    await here.sync.idle();
    expect(here.directory.silentAt(here.clock.now())).toEqual([]);
  });

  it('B14 a fleet without changes costs no scan of its leases and budgets, on any replica', async () => {
    const { db } = replicas.database;
    await replicas.given.agent({ agentId: 'template' });
    for (const table of ['agent', 'agent_lease', 'agent_circuit']) {
      const columns = await db.query<{ name: string }>(
        `SELECT column_name AS name FROM information_schema.columns
         WHERE table_name = $1 AND column_name <> 'agent_id' AND is_generated = 'NEVER' AND is_identity = 'NO'`,
        [table],
      );
      const names = columns.map(({ name }) => `"${name}"`).join(', ');
      await db.query(
        `INSERT INTO ${table} (agent_id, ${names}) SELECT 'agent-' || n, ${names} FROM ${table}, generate_series(1, ${FLEET}) n`,
      );
    }
    await db.query('ANALYZE agent, agent_lease, agent_circuit, budget');
    await follow();
    await replicas.here.sweeper.sweep(); // reads all leases
    const tables = ['agent', 'agent_lease', 'agent_circuit', 'budget'];
    const before = await scansOf(...tables);
    for (let second = 0; second < 3; second++) {
      await exchange();
      for (const one of [replicas.here, replicas.there]) {
        expect(await sweep(one)).toMatchObject({ swept: true, evicted: [] });
        await one.sync.readOutcomes();
      }
    }
    expect(await scansOf(...tables)).toEqual(before);
  });
});
