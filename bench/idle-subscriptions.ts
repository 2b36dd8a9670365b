/**
 * Opens subscriptions to A2A tasks that wait for an answer, and measures one replica while nothing happens: its memory, its CPU time and
 * the latency of other requests. Then it answers the tasks, and counts the subscriptions that receive the end.
 * `node idle-subscriptions.js <subscriptions> <tasks>`
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { testDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { median } from './support/compare.js';
import { cpuSecondsOf } from './support/cpu.time.js';
import { startPostgres } from './support/postgres.js';
import { StormReplicas } from './support/tasks/replicas.js';
import { ANSWER } from './support/tasks/storm.model.js';

const [wanted = 10_000, tasks = 100] = process.argv.slice(2).map(Number);
const IDLE_S = 20;
const AT_ONCE = 100;
const PATIENCE_MS = 300_000;
const AGENT = '/a2a/agents/storm';
const KEY = randomBytes(32).toString('hex');
const HEADERS = { authorization: `Bearer ${KEY}`, 'a2a-version': '1.0' };

const postgres = await startPostgres();
const database = await testDatabase({ operationTimeoutMs: 60_000 });
const replicas = await StormReplicas.start(
  {
    DATABASE_URL: database.url,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_RATE_LIMIT: '0',
    ROLLCALL_CONCURRENT_REQUESTS: '0',
    ROLLCALL_CONCURRENT_STREAMS: '0',
    ROLLCALL_DATABASE_TIMEOUT: '10s',
  },
  1,
);
const url = await replicas.nextUrl();
const [pid = 0] = replicas.pids;
let ready = 0;
let served = 0;
let broken = 0;

async function send(text: string, taskId?: string): Promise<string> {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...(taskId && { taskId }) };
  const body = { message, configuration: { returnImmediately: true } };
  const { task } = (await replicas.post(`${AGENT}/message:send`, body, HEADERS)) as { task: { id: string } };
  return task.id;
}

async function subscribe(id: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const request = get(`${url}${AGENT}/tasks/${id}:subscribe`, { headers: HEADERS, agent: false }, (response) => {
      let hasEnded = false;
      response.on('data', (chunk: Buffer) => {
        hasEnded ||= chunk.includes('TASK_STATE_COMPLETED');
        resolve();
      });
      response.once('end', () => (hasEnded ? (served += 1) : (broken += 1)));
      response.once('error', () => (broken += 1));
      ready += 1;
    });
    request.once('error', () => {
      broken += 1;
      resolve();
    });
  });
}

function memoryMb(): number {
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024);
}

async function latencyMs(): Promise<number> {
  const begun = performance.now();
  await (await fetch(`${url}/v1/agents`, { headers: HEADERS })).text();
  return performance.now() - begun;
}

async function idle(): Promise<object> {
  const before = cpuSecondsOf(pid);
  const latencies: number[] = [];
  for (let second = 0; second < IDLE_S; second += 1) {
    await delay(1_000);
    latencies.push(await latencyMs());
  }
  const cpuPercent = Math.round(((cpuSecondsOf(pid) - before) / IDLE_S) * 100);
  return { memoryMb: memoryMb(), cpuPercent, latencyMs: Math.round(median(latencies)) };
}

const waiting = async (): Promise<boolean> => {
  const [row] = await database.db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM run WHERE state = 'waiting'`,
  );
  return row?.count === tasks;
};

try {
  const model = { vendor: 'storm', model: 'storm' };
  const content = { description: 'Works.', instructions: 'Work.', tools: ['clock'], mayAsk: true, model };
  await replicas.post('/v1/definitions', { name: 'storm', content }, HEADERS);
  const ids = await Promise.all(Array.from({ length: tasks }, async () => await send('Read the clock.')));
  await until('the tasks wait', waiting, PATIENCE_MS);
  const without = await idle();
  for (let from = 0; from < wanted; from += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, wanted - from) }, async (_none, index) => {
        await subscribe(ids[(from + index) % ids.length] ?? '');
      }),
    );
  const withSubscriptions = { subscriptions: ready, broken, ...(await idle()) };
  console.log(JSON.stringify({ without, withSubscriptions }));
  const begun = performance.now();
  await Promise.all(ids.map(async (id) => await send(ANSWER, id)));
  await until('the subscriptions end', () => served + broken >= wanted, PATIENCE_MS).catch(() => undefined);
  const seconds = Math.round((performance.now() - begun) / 1_000);
  console.log(JSON.stringify({ subscriptions: wanted, tasks, served, broken, seconds }));
  if (served !== wanted) process.exitCode = 1;
} finally {
  await replicas.stop();
  await database.drop();
  await postgres.stop();
}
