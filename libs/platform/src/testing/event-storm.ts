import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../postgres/database.js';
import type { RegistryEvent } from '../events/event.types.js';
import { readAll, testEvents, type TestEvents } from './test-events.js';
import type { TestDatabase } from './test-database.js';
import { until } from './until.js';

export interface StormOptions {
  durationMs: number;
  writers: number;
  agents: number;
  killEveryMs: number;
}

export interface StormReport {
  acknowledged: number;
  logged: number;
  kills: number;
  /** Places in the log where seq is not one more than before. */
  gaps: number;
  /** Agents whose changes are not in the log exactly once each and in their order. */
  wrongAgents: string[];
}

/** The backends at work on this database, those that hold or want the sequencer's lock first. */
const VICTIM = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'storm-killer'
  ORDER BY pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory') DESC, random() LIMIT 1`;

/**
 * Writers on two replicas change agents and tell of it, while connections are cut at random, the sequencers' above all.
 * Each agent's row counts its changes, so the rows say what the log must hold, whatever was acknowledged or not.
 */
export async function eventStorm(database: TestDatabase, options: StormOptions): Promise<StormReport> {
  const databases = [database.db, await database.connectAgain()];
  await prepareStorm(database.db, options.agents);
  const half = { ...options, writers: options.writers / databases.length };
  const writing = databases.map(async (db) => await stormReplica(db, half));
  const kills = await stormKiller(database.db, options);
  const acknowledged = (await Promise.all(writing)).reduce((sum, count) => sum + count, 0);
  return { acknowledged, kills, ...(await settleStorm(database.db)).report };
}

/** One replica of a storm, which may be a process of its own. Answers how many changes were acknowledged. */
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
      await delay(1); // cut off: whether it was committed, the row will tell
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
    await client.query(VICTIM);
  }
  await client.end();
  return kills;
}

/** After the last writer: the log, and what is wrong with it. */
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
    return versions.length !== version || versions.some((found, index) => found !== index + 1);
  };
  const report = {
    logged: log.length,
    gaps: log.filter(({ seq }, index) => seq !== index + 1).length,
    wrongAgents: rows.filter(isWrong).map(({ id }) => id),
  };
  return { log, report };
}
