/**
 * Restarts two replicas one after the other while agents of all kinds work: agents that take their tasks (over REST and over sockets), HTTP agents
 * (idempotent or not) and A2A agents (that stream or not). First the replicas end as in a deployment (SIGTERM): every run must be completed. Then they
 * are killed (SIGKILL): only calls of HTTP agents that are not idempotent, and A2A messages without an answer, may wait for a review. No call is
 * executed twice, no run is lost, and nothing stays reserved.
 * `node restart-storm.js <seconds of a call> <runs per second>`
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { testDatabase } from '#rollcall/platform/testing';
import { A2aWorker, HttpWorker } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { startPostgres } from './support/postgres.js';
import { type Server, startRollcall } from './support/servers.js';
import { StormAgents } from './support/work/storm.agents.js';

const [callSeconds = 20, runsPerSecond = 5] = process.argv.slice(2).map(Number);
const WORK_MS = callSeconds * 1_000;
const KEY = randomBytes(32).toString('hex');
/** Each executes two tasks at a time: enough for their part of the load. */
const PULL_AGENTS = 2 * Math.ceil((runsPerSecond * callSeconds) / 4);
const SETTLE_MS = 180_000 + 4 * WORK_MS;

const postgres = await startPostgres();
const database = await testDatabase({ operationTimeoutMs: 60_000 }); // a busy machine must not end the storm
const folder = mkdtempSync(join(tmpdir(), 'rollcall-restart-'));
const replicas: (Server | undefined)[] = [];
const urls = (): string[] => replicas.flatMap((replica) => (replica ? [replica.url] : []));
const startReplica = async (): Promise<Server> =>
  await startRollcall({
    DATABASE_URL: database.url,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_SEALING_KEY: 's'.repeat(64),
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
    ROLLCALL_RUNS_MAX: '500',
    ROLLCALL_HEARTBEAT_EVERY: '1h',
    ROLLCALL_DATABASE_TIMEOUT: '10s',
  });
const pulling = new StormAgents(KEY, join(folder, 'log'), [WORK_MS, WORK_MS]);
const pushed = {
  'http-idempotent': await HttpWorker.start({ isIdempotent: true, workMs: WORK_MS }),
  'http-once': await HttpWorker.start({ isIdempotent: false, workMs: WORK_MS }),
  'a2a-stream': await A2aWorker.start({ workMs: WORK_MS }),
  'a2a-poll': await A2aWorker.start({ streaming: false, workMs: WORK_MS }),
};
/** The ids of the runs whose start was accepted. */
const started: string[] = [];

/** Sends a request to one replica after the other until one answers. */
async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const headers = {
    authorization: `Bearer ${KEY}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  };
  for (let turn = Math.floor(Math.random() * 2); ; turn += 1) {
    const url = urls()[turn % urls().length] ?? '';
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(url + path, request).catch(() => undefined);
    const answer = (await response?.json().catch(() => undefined)) as Record<string, unknown> | undefined;
    if (answer && response && response.status < 300) return answer;
    if (answer && response && response.status < 500 && response.status !== 409) throw new Error(JSON.stringify(answer));
    await delay(50);
  }
}

async function registerPushed(): Promise<void> {
  for (const [agentId, { url: endpoint }] of Object.entries(pushed)) {
    const about = { agentId, name: agentId, capabilities: ['storm'], idempotent: agentId === 'http-idempotent' };
    await post('/v1/agents', {
      ...about,
      endpoint,
      ...(agentId.startsWith('a2a') && { agentCard: { name: agentId } }),
    });
  }
}

/** Starts runs until the signal is aborted: half of agents that take their tasks, half of the others. */
async function load(signal: AbortSignal): Promise<void> {
  const others = Object.keys(pushed);
  const starts: Promise<void>[] = [];
  for (let turn = 0; !signal.aborted; turn += 1) {
    const half = turn >> 1;
    const agent = turn % 2 === 0 ? `agent-${half % PULL_AGENTS}` : others[half % others.length];
    starts.push(post('/v1/runs', { agent, input: 'Work.' }).then(({ id }) => void started.push(String(id))));
    await delay(1_000 / runsPerSecond);
  }
  await Promise.all(starts);
}

async function restart(index: number, signal: NodeJS.Signals): Promise<void> {
  const replica = replicas[index];
  replicas[index] = undefined;
  pulling.connect(urls());
  await replica?.stop(signal);
  replicas[index] = await startReplica();
  pulling.connect(urls());
}

const count = async (from: string): Promise<number> => {
  const [row] = await database.db.query<{ count: string }>(`SELECT count(*) AS count FROM ${from}`);
  return Number(row?.count);
};

/** Calls that were executed more than once. A message of an A2A agent and a request of an HTTP agent have the id of their call. */
function executedTwice(): number {
  const taken = pulling.noted().executed.map(([callId]) => callId);
  const repeated = Object.values(pushed).map(({ executions }) => [...executions.values()].filter((times) => times > 1));
  return taken.length - new Set(taken).size + repeated.flat().length;
}

/** A call whose end is unknown waits for a review: that of an HTTP agent, or of an A2A agent that has not answered with a task. */
const JUSTIFIED = `(agent_id = 'http-once'
  OR agent_id LIKE 'a2a-%' AND NOT EXISTS (SELECT FROM run_step s WHERE s.run_id = run.id AND s.step->>'type' = 'agent-accepted'))`;
const ENDED = `finished_at IS NOT NULL OR state = 'waiting'`;

/** One rolling restart under load. Returns what went wrong. */
async function rollingRestart(signal: NodeJS.Signals): Promise<Record<string, number>> {
  const first = started.length;
  const inReview = await count(`run WHERE state = 'waiting'`);
  const over = new AbortController();
  const loading = load(over.signal);
  await delay(WORK_MS); // the replicas have calls of all ages
  for (const index of [0, 1]) {
    await restart(index, signal);
    console.log(
      `${signal} of replica ${index + 1}: ${started.length} runs, ${await count(`run WHERE NOT (${ENDED})`)} in progress`,
    );
    await delay(WORK_MS / 4);
  }
  over.abort();
  await loading;
  await until('every run has ended', async () => (await count(`run WHERE NOT (${ENDED})`)) === 0, SETTLE_MS).catch(
    console.error,
  );
  const reviews = await database.db.query<{ agent: string; runs: number; detail: string }>(
    `SELECT agent_id AS agent, count(*)::int AS runs, min(result->>'detail') AS detail FROM run WHERE state = 'waiting' GROUP BY 1 ORDER BY 1`,
  );
  for (const review of reviews) console.log(JSON.stringify(review));
  const mayWait = signal === 'SIGKILL' ? JUSTIFIED : 'false';
  return {
    runs: started.length - first,
    interrupted: await count('run WHERE attempts > 1'),
    inReview: (await count(`run WHERE state = 'waiting'`)) - inReview,
    wronglyInReview: await count(`run WHERE state = 'waiting' AND NOT ${mayWait}`),
    lost:
      (await count(`run WHERE state <> 'waiting' AND state <> 'completed'`)) + started.length - (await count('run')),
    executedTwice: executedTwice(),
    reserved: await count(`budget_reservation WHERE state = 'held'`),
  };
}

try {
  replicas.push(await startReplica(), await startReplica());
  await registerPushed();
  pulling.connect(urls());
  await pulling.start(PULL_AGENTS);
  const faults = ['wronglyInReview', 'lost', 'executedTwice', 'reserved'];
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const report = await rollingRestart(signal);
    console.log(JSON.stringify({ signal, callSeconds, ...report }));
    if (faults.some((fault) => report[fault] !== 0)) process.exitCode = 1;
  }
} finally {
  pulling.stop();
  await Promise.all(replicas.map(async (replica) => await replica?.stop()));
  await Promise.all(Object.values(pushed).map(async (worker) => await worker.close()));
  await database.drop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
