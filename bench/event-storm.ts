import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { prepareStorm, settleStorm, stormKiller, testDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { startPostgres } from './support/postgres.js';
import { ReconnectingConsumer } from './support/reconnecting.consumer.js';
import { startRollcall } from './support/servers.js';

/**
 * Two processes write events while connections to Postgres are killed at random, mostly those of the sequencers. A consumer on
 * the WebSocket of a third process is killed repeatedly. `node event-storm.js <seconds> <times the consumer is killed>`.
 */
const [seconds = 60, wantedKills = 200] = process.argv.slice(2).map(Number);
const durationMs = seconds * 1_000;
const PROCESSES = 2;
const WRITERS = 32;
const AGENTS = 40;
const KILL_EVERY_MS = 150;

/** Returns when the writer is connected: processes start before connections are killed. */
async function startWriter(url: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('./support/storm.writer.js', import.meta.url));
  const writer = fork(program, [url, String(WRITERS / PROCESSES), String(AGENTS), String(durationMs)]);
  await once(writer, 'message');
  return writer;
}

async function acknowledgedBy(writer: ChildProcess): Promise<number> {
  const [count] = (await once(writer, 'message')) as [number];
  return count;
}

const postgres = await startPostgres();
const database = await testDatabase();
const rollcall = await startRollcall({ DATABASE_URL: database.url });
const socket = `${rollcall.url.replace('http', 'ws')}/v1/events/ws`;
/** Half of the time is left for kills that a busy machine delays. */
const killEveryMs = (durationMs * 0.5) / wantedKills;
const consumer = new ReconnectingConsumer(socket, rollcall.headers, killEveryMs, wantedKills);
try {
  await prepareStorm(database.db, AGENTS);
  const consuming = consumer.run();
  let [acknowledged, kills] = [0, 0];
  do {
    const writers = await Promise.all(Array.from({ length: PROCESSES }, async () => await startWriter(database.url)));
    const counts = Promise.all(writers.map(acknowledgedBy));
    kills += await stormKiller(database.db, { durationMs, killEveryMs: KILL_EVERY_MS });
    for (const count of await counts) acknowledged += count;
  } while (consumer.kills < wantedKills); // on a slow machine the storm is repeated
  const { log, report } = await settleStorm(database.db);
  await until('the consumer has everything', () => consumer.seq >= log.length, 30_000);
  consumer.stop();
  await consuming;
  const sameAsLog = consumer.ids.length === log.length && log.every(({ id }, index) => id === consumer.ids[index]);
  const seen = { kills: consumer.kills, events: consumer.ids.length, wrong: consumer.wrong.length, sameAsLog };
  console.log(JSON.stringify({ seconds, acknowledged, kills, ...report, consumer: seen }));
  const sound = report.gaps === 0 && report.wrongAgents.length === 0 && report.logged >= acknowledged;
  if (!sound || !sameAsLog) process.exitCode = 1;
} finally {
  consumer.stop();
  await rollcall.stop();
  await database.drop();
  await postgres.stop();
}
