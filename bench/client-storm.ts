/**
 * Uses the TypeScript client while connections are cut at random and replicas are killed (SIGKILL): registers agents, follows their events, and serves an agent
 * that executes runs. Each call must have one effect, the followed events must equal the log, and no task may be lost or executed twice.
 * `node client-storm.js <calls> <kills> <runs>`
 */
import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type RollcallOptions, rollcallClient } from '#rollcall/client';
import { testDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { startPostgres } from './support/postgres.js';
import { StormReplicas } from './support/tasks/replicas.js';

const [calls = 500, kills = 20, runs = 100] = process.argv.slice(2).map(Number);
const KEY = randomBytes(32).toString('hex');
const BASE = 'http://replica';
const WORKERS = 8;
const LOST = 0.2;
const SETTLE_MS = 120_000;
const MAX_WORK_MS = 300;

const postgres = await startPostgres();
const database = await testDatabase({ operationTimeoutMs: 60_000 }); // a busy machine must not end the storm
const replicas = await StormReplicas.start({
  DATABASE_URL: database.url,
  ROLLCALL_ADMIN_KEY: KEY,
  ROLLCALL_RATE_LIMIT: '0',
  ROLLCALL_CONCURRENT_REQUESTS: '0',
  ROLLCALL_CONCURRENT_STREAMS: '0',
  ROLLCALL_QUOTAS: 'agents=0',
  ROLLCALL_MISSED_BEATS: '15',
});
let cuts = 0;

/** Sends each request to the next replica. The connection is cut at random before the request arrives, or before its response does. */
const send: RollcallOptions['fetch'] = async (url, init) => {
  const cut = Math.random();
  const lose = (): void => {
    cuts += 1;
    throw new TypeError('the connection was cut');
  };
  if (cut < LOST / 2) lose();
  const response = await fetch(url.replace(BASE, await replicas.nextUrl()), init);
  if (cut < LOST) {
    await response.body?.cancel();
    lose();
  }
  return response;
};

const rollcall = rollcallClient({ url: BASE, credential: KEY, fetch: send, retries: 1_000, timeoutMs: 600_000 });
const stop = new AbortController();
const followed: string[] = [];
let reconnects = 0;
async function follow(): Promise<void> {
  const options = { after: 'oldest', types: ['agent.*'] as const, signal: stop.signal };
  for await (const event of rollcall.follow({ ...options, onReconnect: () => void (reconnects += 1) }))
    if (event.type !== 'snapshot') followed.push(String(Number(event.sequence)));
}

const executed: string[] = [];
const finished: { id: string; state: string }[] = [];
let made = 0;
let started = 0;

async function register(): Promise<void> {
  while (made < calls) {
    made += 1;
    await rollcall.agents.register({ name: `storm-${made}`, capabilities: ['storm'] });
  }
}

async function run(): Promise<void> {
  while (started < runs) {
    started += 1;
    const { id } = await rollcall.runs.start({ agent: 'worker', input: `Task ${started}.` });
    for (;;) {
      const { state } = await rollcall.runs.get(id, { waitMs: 10_000 });
      if (state === 'queued' || state === 'running') continue;
      finished.push({ id, state });
      break;
    }
  }
}

async function kill(): Promise<void> {
  for (let count = 1; count <= kills; count += 1) {
    await delay(randomInt(1_000));
    await replicas.kill(count % 2);
    console.log(`kill ${count} of ${kills}: ${made} calls, ${followed.length} events, ${finished.length} runs`);
  }
}

try {
  const following = follow().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  const agent = await rollcall.serve({
    agentId: 'worker',
    capabilities: ['work'],
    capacity: 4,
    onError: () => undefined,
    handle: async ({ callId, text }) => {
      executed.push(callId);
      await delay(Math.random() * MAX_WORK_MS);
      return text;
    },
  });
  const workers = Array.from({ length: WORKERS }, register);
  await Promise.all([...workers, run(), run(), kill()]);
  await agent.close();
  const log = async (): Promise<string[]> => {
    const rows = await database.db.query<{ seq: string }>(
      `SELECT seq::text AS seq FROM event_log WHERE type LIKE 'agent.%' ORDER BY event_log.seq`,
    );
    return rows.map(({ seq }) => seq);
  };
  await until('the follower has read the log', async () => followed.at(-1) === (await log()).at(-1), SETTLE_MS).catch(
    console.error,
  );
  stop.abort();
  await following;
  const [names] = await database.db.query<{ agents: number; names: number }>(
    `SELECT count(*)::int AS agents, count(DISTINCT name)::int AS names FROM agent WHERE name LIKE 'storm-%'`,
  );
  const faults = {
    missing: calls - (names?.names ?? 0),
    repeated: (names?.agents ?? 0) - (names?.names ?? 0),
    followedWrong: JSON.stringify(followed) === JSON.stringify(await log()) ? 0 : 1,
    executedTwice: executed.length - new Set(executed).size,
    notCompleted: finished.filter(({ state }) => state !== 'completed').length,
  };
  console.log(JSON.stringify({ calls, kills, runs, cuts, reconnects, events: followed.length, ...faults }));
  if (Object.values(faults).some((found) => found !== 0)) process.exitCode = 1;
} finally {
  stop.abort();
  await replicas.stop();
  await database.drop();
  await postgres.stop();
}
