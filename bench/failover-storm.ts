/**
 * The primary of a Patroni cluster is killed, frozen and switched over, while two replicas serve heartbeats, registrations, reservations, runs and
 * events. No write that was acknowledged is lost, the event log has no gap, and no agent that beats is evicted.
 * `npm run storm:failover -- <failovers> <seed>`; it needs the Debian packages postgresql, patroni and etcd-server, and root.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Database, migrate } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { SCHEMA } from '../apps/api/src/boot/start.js';
import { MISSING, PatroniCluster } from './support/patroni.js';
import { randomFrom } from './support/random.js';
import { type Server, startRollcall } from './support/servers.js';

const [failovers = 10, seed = 1] = process.argv.slice(2).map(Number);
const KEY = 'f'.repeat(64);
const BEATING = 20;
const PAUSE_MS = 4_000;
const MAX_FIRST_WRITE_MS = 3_000;
const FAULTS = ['kill', 'freeze', 'switchOver'] as const;

if (MISSING.length > 0) {
  console.log(`The storm of failovers needs ${MISSING.join(', ')}: it did not run.`);
  process.exit(0);
}

const random = randomFrom(seed);
const cluster = await PatroniCluster.start();
const replicas: Server[] = [];
/** What was acknowledged. */
const done = { agents: new Set<string>(), settled: 0, runs: new Set<string>() };
let lastWriteAt = 0;

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function send(
  url: string,
  method: string,
  path: string,
  body?: object,
  key = randomUUID(),
): Promise<Answer | undefined> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'idempotency-key': key };
  const request = { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(10_000) };
  try {
    const response = await fetch(url + path, request);
    const text = await response.text();
    return { status: response.status, body: (text ? JSON.parse(text) : {}) as Record<string, unknown> };
  } catch {
    return undefined; // the replica did not answer in time
  }
}

/** Sends a changing call with one key until it is acknowledged, at either replica. */
async function change(path: string, body?: object, method = 'POST'): Promise<Answer> {
  const key = randomUUID();
  for (let turn = Math.floor(random() * 2); ; turn += 1) {
    const answer = await send(replicas[turn % 2]?.url ?? '', method, path, body, key);
    if (answer && answer.status < 500 && answer.status !== 409 && answer.status !== 429) {
      if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer)}`);
      lastWriteAt = performance.now();
      return answer;
    }
    await delay(50);
  }
}

async function beat(agentId: string, signal: AbortSignal): Promise<void> {
  const { body } = await change('/v1/agents', { agentId, name: agentId, capabilities: ['storm'] });
  done.agents.add(agentId);
  for (let turn = 0; !signal.aborted; turn += 1) {
    await send(replicas[turn % 2]?.url ?? '', 'POST', `/v1/agents/${agentId}/heartbeat`, {
      generation: body['generation'],
    });
    await delay(1_000);
  }
}

async function repeat(signal: AbortSignal, work: (number: number) => Promise<void>): Promise<void> {
  for (let number = 0; !signal.aborted; number += 1) {
    await work(number);
    await delay(100);
  }
}

const register = async (number: number): Promise<void> => {
  const agentId = `short-${number}`;
  await change('/v1/agents', { agentId, name: agentId, capabilities: ['short'] });
  done.agents.add(agentId);
  await change(`/v1/agents/${agentId}`, undefined, 'DELETE');
};

const reserve = async (number: number): Promise<void> => {
  const key = `r-${number}`;
  await change('/v1/budgets/reservations', { key, agentId: 'beating-0', tokens: 10 });
  await change(`/v1/budgets/reservations/${key}/settle`, { tokens: 7 });
  done.settled += 7;
};

const run = async (): Promise<void> => {
  const { body } = await change('/v1/runs', { definition: 'echo', input: 'Hello.' });
  done.runs.add(String(body['id']));
};

async function failOver(): Promise<number> {
  const before = await cluster.primary();
  const fault = FAULTS[Math.floor(random() * FAULTS.length)];
  const startedAt = performance.now();
  await cluster[fault]();
  for (;;) {
    const primary = await cluster.primary();
    if (primary !== undefined && primary !== before) break;
    if (performance.now() - startedAt > 120_000) throw new Error(`no failover after ${fault}`);
    await delay(20);
  }
  const promotedAt = performance.now();
  await until('a write is acknowledged', () => lastWriteAt >= promotedAt, 60_000);
  const firstWriteMs = Math.round(lastWriteAt - promotedAt);
  console.log(
    `${fault} of ${before}: promoted after ${Math.round(promotedAt - startedAt)} ms, first write ${firstWriteMs} ms later`,
  );
  await cluster.whole();
  return firstWriteMs;
}

/** Compares what was acknowledged with what Postgres has. */
async function verify(url: string): Promise<Record<string, number>> {
  const db = new Database({ url, poolSize: 2, operationTimeoutMs: 10_000 });
  const count = async (sql: string, ...parameters: unknown[]): Promise<number> => {
    const [row] = await db.query<{ count: string }>(`SELECT count(*) AS count FROM ${sql}`, parameters);
    return Number(row?.count);
  };
  const agents = [...done.agents];
  const runs = [...done.runs];
  await until(
    'all runs and events are processed',
    async () => (await count(`run WHERE finished_at IS NULL`)) + (await count('event_staging')) === 0,
    60_000,
  );
  const [budget] = await db.query<{ used: string }>(
    `SELECT used_tokens AS used FROM budget WHERE kind = 'agent' AND subject = 'beating-0'`,
  );
  const [log] = await db.query<{ gaps: string }>('SELECT max(seq) - min(seq) + 1 - count(*) AS gaps FROM event_log');
  const result = {
    lostAgents: await count(
      `unnest($1::text[]) AS ack WHERE NOT EXISTS (SELECT FROM agent WHERE agent_id = ack)`,
      agents,
    ),
    lostRuns: await count(
      `unnest($1::text[]) AS ack WHERE NOT EXISTS (SELECT FROM run WHERE id::text = ack AND state = 'completed')`,
      runs,
    ),
    lostTokens: done.settled - Number(budget?.used),
    lostEvents: await count(
      `unnest($1::text[]) AS ack WHERE (SELECT count(*) FROM event_log WHERE type = 'agent.joined' AND subject = ack) <> 1`,
      agents,
    ),
    gaps: Number(log?.gaps),
    falseEvictions: await count(
      `event_log WHERE type = 'agent.left' AND subject LIKE 'beating-%' AND data->>'reason' = 'evicted'`,
    ),
  };
  await db.close();
  return result;
}

let failed = false;
try {
  const url = cluster.urlOf('postgres');
  await migrate({ url, poolSize: 2, operationTimeoutMs: 10_000 }, SCHEMA);
  const settings = {
    DATABASE_URL: url,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_SEALING_KEY: KEY,
    ROLLCALL_QUOTAS: 'queuedRuns=0,queuedRunsOfNamespace=0,kilobytesPerMinute=0,kilobytesPerMinuteOfNamespace=0',
  };
  replicas.push(await startRollcall(settings), await startRollcall(settings));
  await change('/v1/definitions', { name: 'echo', content: { description: 'Echoes.', instructions: 'Echo.' } });
  const over = new AbortController();
  const beating = Array.from({ length: BEATING }, (_, index) => beat(`beating-${index}`, over.signal));
  await delay(2_000);
  const load = [...beating, ...[register, reserve, run].map((work) => repeat(over.signal, work))];
  const firstWrites: number[] = [];
  for (let count = 0; count < failovers; count += 1) {
    await delay(PAUSE_MS);
    firstWrites.push(await failOver());
  }
  await delay(PAUSE_MS);
  over.abort();
  await Promise.all(load);
  const result = await verify(url);
  const slowest = Math.max(...firstWrites);
  console.log(
    `${failovers} failovers: ${done.agents.size} agents, ${done.runs.size} runs, ${done.settled} tokens acknowledged`,
  );
  console.log(`${JSON.stringify(result)}; first write at most ${slowest} ms after the promotion`);
  failed = slowest > MAX_FIRST_WRITE_MS || Object.values(result).some((number) => number !== 0);
} finally {
  for (const replica of replicas) await replica.stop();
  await cluster.stop();
}
process.exitCode = failed ? 1 : 0;
