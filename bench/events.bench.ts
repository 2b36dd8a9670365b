import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Database } from '#rollcall/platform';
import type { TestEvents } from '#rollcall/platform/testing';
import { median, quantile } from './support/compare.js';
import { startPostgres } from './support/postgres.js';
import { type Server, startRollcall } from './support/servers.js';
import type { SubscribersReport } from './support/subscribers.js';
import { changesPerSecond, appendAtOnce, appendEvenly, writingReplica } from './support/writers.js';

/**
 * Measures what events cost writers, how soon events arrive, and how many can be delivered, compared with a bare `ws` server that
 * sends the same frames to the same number of consumers. Writer, server and consumers are separate processes, so the longest
 * path is measured: commit on one replica, delivery by another.
 */
const SUBSCRIBERS = 200;
/** Many short, alternating rounds: a disturbance of the machine affects both sides. The median round counts. */
const ROUNDS = 21;
const ROUND_MS = 500;
const STEADY = { perSecond: 1_000, count: 10_000 };
const BURST = 10_000;

const support = (name: string): string => fileURLToPath(new URL(`./support/${name}.js`, import.meta.url));
const children: ChildProcess[] = [];

function start(name: string, ...flags: string[]): ChildProcess {
  const child = fork(support(name), flags, { serialization: 'advanced' });
  children.push(child);
  return child;
}

async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, 'message')) as [T];
  return message;
}

/** Connects the consumers, appends events, and returns what the consumers received. */
async function deliver(url: string, key: string, count: number, append: () => unknown): Promise<SubscribersReport> {
  const child = start('subscribers', url, key, String(SUBSCRIBERS), String(count));
  await nextMessage(child);
  const done = nextMessage<SubscribersReport>(child);
  await append();
  const report = await done;
  child.kill();
  return report;
}

const rate = (events: number, ms: number): number => (events * SUBSCRIBERS * 1_000) / ms;
const show = (perSecond: number): string => Math.round(perSecond).toLocaleString('en').padStart(9);

async function compareWriters(title: string, events: TestEvents): Promise<void> {
  const rounds: [number, number][] = [];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push([await changesPerSecond(db, undefined, ROUND_MS), await changesPerSecond(db, events, ROUND_MS)]);
  const [plain, withEvents] = [rounds.map(([first]) => first), rounds.map(([, second]) => second)];
  const ratios = rounds.map(([first, second]) => second / first);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(2));
  console.log(`\n${title}`);
  console.log(`  without events       ${show(median(plain))} tx/s`);
  console.log(
    `  with events          ${show(median(withEvents))} tx/s  ${middle}×  (half of the rounds: ${low} to ${high})`,
  );
}

const folder = mkdtempSync(join(tmpdir(), 'rollcall-frames-'));
const postgres = await startPostgres();
const db = new Database({ url: postgres.url, poolSize: 33, operationTimeoutMs: 10_000 });
let rollcall: Server | undefined;
try {
  await db.query('CREATE TABLE bench_agent (id text PRIMARY KEY, version int NOT NULL)');
  await db.query(`INSERT INTO bench_agent SELECT 'a-' || n, 0 FROM generate_series(0, 31) AS n`);
  const events = await writingReplica(db);
  events.start();

  await compareWriters('32 writers, one change in each transaction', events);
  rollcall = await startRollcall({ DATABASE_URL: postgres.url });
  await compareWriters('the same, while another replica on this machine follows', events);

  const socket = `${rollcall.url.replace('http', 'ws')}/v1/events/ws`;
  const key = rollcall.headers['authorization'] ?? '';
  const steady = await deliver(socket, key, STEADY.count, async () => {
    await appendEvenly(db, events, STEADY.perSecond, STEADY.count);
  });
  console.log(`\ncommit to delivery on another replica, 1,000 events/s, ${SUBSCRIBERS} consumers`);
  const [p50, p99] = [0.5, 0.99].map((share) => quantile(steady.latencies, share).toFixed(1));
  console.log(`  p50 ${p50} ms  p99 ${p99} ms`);

  const burst = await deliver(socket, key, BURST, async () => await appendAtOnce(db, events, BURST));
  const file = join(folder, 'frames.json');
  writeFileSync(file, JSON.stringify(burst.frames));
  const bare = start('bare.broadcast', file);
  const again = await deliver(await nextMessage<string>(bare), key, BURST, () => bare.send('go'));
  console.log(`\n${BURST} events at maximum speed, ${SUBSCRIBERS} consumers, ${burst.frames.length} frames each`);
  console.log(`  bare ws broadcast    ${show(rate(BURST, again.ms))} events/s`);
  const share = again.ms / burst.ms;
  console.log(`  Rollcall             ${show(rate(BURST, burst.ms))} events/s  ${share.toFixed(2)}×`);
  await events.stop();
} finally {
  for (const child of children) child.kill();
  await rollcall?.stop();
  await db.close();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
