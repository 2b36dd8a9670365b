import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.js';
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
  const here = testReplica(database.db);
  const replicas = [here, testReplica(await database.connectAgain())];
  await prepare(database.db, options.agents);
  for (const { events } of replicas) events.start();
  const ends = performance.now() + options.durationMs;
  const killer = kill(database.db, ends, options.killEveryMs);
  const writers = Array.from({ length: options.writers }, async (_, index) => {
    const { db, events } = replicas[index % replicas.length] ?? here;
    return await write(db, events, ends, options.agents);
  });
  const acknowledged = (await Promise.all(writers)).reduce((sum, count) => sum + count, 0);
  const kills = await killer;
  const report = await settle(here.events, here.db);
  for (const { events } of replicas) await events.stop();
  return { acknowledged, kills, ...report };
}

function testReplica(db: Database): { db: Database; events: TestEvents } {
  return { db, events: testEvents(db) };
}

async function prepare(db: Database, agents: number): Promise<void> {
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

async function kill(db: Database, ends: number, everyMs: number): Promise<number> {
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

async function settle(events: TestEvents, db: Database): Promise<Pick<StormReport, 'logged' | 'gaps' | 'wrongAgents'>> {
  await until('nothing is staged', async () => (await db.query('SELECT 1 FROM event_staging LIMIT 1')).length === 0);
  const log = await readAll(events);
  const seen = Map.groupBy(log, ({ subject }) => subject);
  const rows = await db.query<{ id: string; version: number }>('SELECT id, version FROM storm_agent');
  const isWrong = ({ id, version }: { id: string; version: number }): boolean => {
    const versions = (seen.get(id) ?? []).map(({ data }) => ('generation' in data ? data.generation : 0));
    return versions.length !== version || versions.some((found, index) => found !== index + 1);
  };
  return {
    logged: log.length,
    gaps: log.filter(({ seq }, index) => seq !== index + 1).length,
    wrongAgents: rows.filter(isWrong).map(({ id }) => id),
  };
}
