import { setTimeout as delay } from 'node:timers/promises';
import { until } from '#rollcall/test-support';
import type { RegistryEvent } from '../events/event.js';
import type { Database } from '../postgres/database.js';
import type { TestDatabase } from './test-database.js';
import { readAll, testEvents, type TestEvents } from './test-events.js';

export interface StormOptions {
  durationMs: number;
  writers: number;
  agents: number;
  killEveryMs: number;
}

/** On a slow machine the storm is repeated until it has reached these numbers. */
export interface StormGoals {
  minKills: number;
  minAcknowledged: number;
}

export interface StormReport {
  acknowledged: number;
  logged: number;
  kills: number;
  /** The number of positions where seq is not the previous seq plus one. */
  gaps: number;
  /** Agents whose changes are not all in the log exactly once and in order. */
  wrongAgents: string[];
}

/**
 * Terminates a random connection of this database. It prefers connections that hold or wait for the lock of the
 * sequencer.
 */
const TERMINATE_ONE = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'storm-killer'
  ORDER BY pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory') DESC, random() LIMIT 1`;

/**
 * Writers on two replicas change agents and append events, while random connections are terminated, most often connections of the
 * sequencers. The row of each agent counts the changes of the agent. So the rows determine the expected events, even of changes
 * that were committed but not acknowledged.
 */
export async function eventStorm(database: TestDatabase, options: StormOptions & StormGoals): Promise<StormReport> {
  const databases = [database.db, await database.connectAgain()];
  await prepareStorm(database.db, options.agents);
  const half = { ...options, writers: options.writers / databases.length };
  let [acknowledged, kills] = [0, 0];
  while (kills < options.minKills || acknowledged < options.minAcknowledged) {
    const writing = databases.map(async (db) => await stormReplica(db, half));
    kills += await stormKiller(database.db, options);
    for (const count of await Promise.all(writing)) acknowledged += count;
  }
  return { acknowledged, kills, ...(await settleStorm(database.db)).report };
}

/** Runs the writers of one replica, which may be in a separate process. Returns how many changes were acknowledged. */
export async function stormReplica(db: Database, options: Omit<StormOptions, 'killEveryMs'>): Promise<number> {
  const events = await testEvents(db);
  events.start();
  const ends = performance.now() + options.durationMs;
  const writers = Array.from({ length: options.writers }, async () => await write(db, events, ends, options.agents));
  const counts = await Promise.all(writers);
  await events.stop();
  return counts.reduce((sum, count) => sum + count, 0);
}

export async function prepareStorm(db: Database, agents: number): Promise<void> {
  await db.query('CREATE TABLE storm_agent (id text PRIMARY KEY, version int NOT NULL)');
  await db.query(`INSERT INTO storm_agent SELECT 'a-' || n, 0 FROM generate_series(0, $1::int - 1) AS n`, [agents]);
}

async function write(db: Database, events: TestEvents, ends: number, agents: number): Promise<number> {
  let acknowledged = 0;
  while (performance.now() < ends) {
    const agentId = `a-${Math.floor(Math.random() * agents)}`;
    try {
      await db.transaction(async () => {
        const [row] = await db.query<{ version: number }>(
          'UPDATE storm_agent SET version = version + 1 WHERE id = $1 RETURNING version',
          [agentId],
        );
        await events.outbox.append('agent.updated', agentId, { generation: row?.version ?? 0, changed: [] });
      });
      acknowledged++;
    } catch {
      await delay(1); // the connection was terminated; the row shows whether the change was committed
    }
  }
  return acknowledged;
}

export async function stormKiller(
  db: Database,
  { durationMs, killEveryMs: everyMs }: Pick<StormOptions, 'durationMs' | 'killEveryMs'>,
): Promise<number> {
  const ends = performance.now() + durationMs;
  const client = db.dedicatedClient('storm-killer');
  await client.connect();
  let kills = 0;
  for (; performance.now() < ends; kills++) {
    await delay(everyMs * (0.5 + Math.random()));
    await client.query(TERMINATE_ONE);
  }
  await client.end();
  return kills;
}

/** Must be called after the last writer has ended. Returns the log and the errors in it. */
export async function settleStorm(
  db: Database,
): Promise<{ log: RegistryEvent[]; report: Pick<StormReport, 'logged' | 'gaps' | 'wrongAgents'> }> {
  const events = await testEvents(db);
  await until('nothing is staged', async () => (await events.sequencer.runOnce()).moved === 0);
  const log = await readAll(events);
  const seen = Map.groupBy(log, ({ subject }) => subject);
  const rows = await db.query<{ id: string; version: number }>('SELECT id, version FROM storm_agent');
  const isWrong = ({ id, version }: { id: string; version: number }): boolean => {
    const versions = (seen.get(id) ?? []).map(({ data }) => ('generation' in data ? data.generation : 0));
    return versions.length !== version || versions.some((actual, index) => actual !== index + 1);
  };
  const report = {
    logged: log.length,
    gaps: log.filter(({ seq }, index) => seq !== index + 1).length,
    wrongAgents: rows.filter(isWrong).map(({ id }) => id),
  };
  return { log, report };
}
