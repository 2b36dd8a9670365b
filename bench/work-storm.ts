/**
 * Runs tasks of agents that take their work, half of them over REST and half over a socket, on two replicas, and kills replicas and agents at
 * random (SIGKILL). Every run must end. No task of an agent that is not idempotent is executed twice, no accepted result is lost, and each run
 * is charged what its results report; a lost task is charged as reserved. A run that waits for a review is approved, which makes a new task.
 * `node work-storm.js <runs> <kills of replicas> <kills of agents> <agents>`
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { testDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { startPostgres } from './support/postgres.js';
import { StormReplicas } from './support/tasks/replicas.js';
import { StormAgents } from './support/work/storm.agents.js';

const [runs = 200, replicaKills = 20, agentKills = 20, agentCount = 20] = process.argv.slice(2).map(Number);
const KEY = randomBytes(32).toString('hex');
const SETTLE_MS = 300_000;
const RESERVED = 32_000;
const MAX_SHOWN = 20;
const AUTH = { authorization: `Bearer ${KEY}` };

interface RunView {
  readonly id: string;
  readonly result: { readonly approvals?: readonly { readonly callId: string; readonly inputHash: string }[] };
}

const postgres = await startPostgres();
const database = await testDatabase({ operationTimeoutMs: 60_000 }); // a busy machine must not end the storm
const folder = mkdtempSync(join(tmpdir(), 'rollcall-work-'));
const count = async (from: string): Promise<number> => {
  const [row] = await database.db.query<{ count: string }>(`SELECT count(*) AS count FROM ${from}`);
  return Number(row?.count);
};
const replicas = await StormReplicas.start({
  DATABASE_URL: database.url,
  ROLLCALL_ADMIN_KEY: KEY,
  ROLLCALL_RATE_LIMIT: '0',
  ROLLCALL_CONCURRENT_REQUESTS: '0',
  ROLLCALL_CONCURRENT_STREAMS: '0',
  ROLLCALL_RUNS_MAX: String(runs),
  ROLLCALL_DATABASE_TIMEOUT: '10s',
});
const agents = new StormAgents(KEY, join(folder, 'log'), [0, 2_000]);
const progress = { started: 0 };
const over = new AbortController();

/** Starts a run of a random agent. An agent that cannot receive work now is not chosen. */
async function startRun(): Promise<void> {
  const body = { agent: `agent-${randomInt(agentCount)}`, input: `Task ${progress.started}.` };
  const headers = { ...AUTH, 'content-type': 'application/json', 'idempotency-key': randomUUID() };
  const request = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(`${await replicas.nextUrl()}/v1/runs`, request).catch(() => undefined);
  if (response?.status === 202) progress.started += 1;
  await response?.arrayBuffer().catch(() => undefined);
}

/** Approves the repetition of calls whose agent was killed. */
async function approveReviews(): Promise<void> {
  const url = await replicas.nextUrl();
  const response = await fetch(`${url}/v1/runs?state=waiting&limit=100`, { headers: AUTH }).catch(() => undefined);
  if (response?.status !== 200) return;
  const page = (await response.json().catch(() => ({ items: [] }))) as { items: { id: string }[] };
  for (const { id } of page.items) {
    const run = await fetch(`${url}/v1/runs/${id}`, { headers: AUTH }).catch(() => undefined);
    const { result } = ((await run?.json().catch(() => undefined)) ?? {}) as Partial<RunView>;
    for (const { callId, inputHash } of result?.approvals ?? []) {
      const headers = { ...AUTH, 'content-type': 'application/json' };
      const decision = JSON.stringify({ callId, inputHash, approved: true });
      await fetch(`${url}/v1/runs/${id}/approvals`, { method: 'POST', headers, body: decision }).catch(() => undefined);
    }
  }
}

async function operate(): Promise<void> {
  while (!over.signal.aborted) {
    await approveReviews();
    await delay(500);
  }
}

try {
  agents.connect(replicas.urls);
  await agents.start(agentCount);
  const operating = operate();
  const kills = [
    ...Array.from({ length: replicaKills }, () => 'replica'),
    ...Array.from({ length: agentKills }, () => 'agent'),
  ].toSorted(() => Math.random() - 0.5);
  for (const [index, kind] of kills.entries()) {
    const due = Math.ceil(((index + 1) * runs) / kills.length);
    while (progress.started < due) await Promise.all(Array.from({ length: due - progress.started }, startRun));
    await delay(randomInt(400));
    if (kind === 'agent') await agents.kill(randomInt(agentCount));
    else {
      const victims = randomInt(5) === 0 ? [0, 1] : [randomInt(2)];
      const replaced = Promise.all(victims.map(async (victim) => await replicas.kill(victim)));
      agents.connect(replicas.urls);
      await replaced;
      agents.connect(replicas.urls);
    }
    console.log(
      `kill ${index + 1} of ${kills.length} (${kind}), ${progress.started} runs, ${agents.noted().accepted.length} results`,
    );
  }
  while (progress.started < runs) await startRun();
  const unfinished = async (): Promise<number> => await count('run WHERE finished_at IS NULL');
  await until('every run has ended', async () => (await unfinished()) === 0, SETTLE_MS).catch(console.error);
  await until('nothing is reserved', async () => (await count(`budget_reservation WHERE state = 'held'`)) === 0);
  over.abort();
  await operating;
  const { executed, accepted } = agents.noted();
  const idempotent = (agent = ''): boolean => StormAgents.isIdempotent(Number(agent.split('-')[1]));
  const fragile = executed.filter(([, agent]) => !idempotent(agent)).map(([callId]) => callId);
  const stored = await database.db.query<{ callId: string }>(
    `SELECT substr(step->'result'->'parts'->0->>'text', 6) AS "callId" FROM run_step WHERE step->>'type' = 'finished'`,
  );
  const known = new Set(stored.map(({ callId }) => callId));
  const lostResults = accepted.filter(([callId = '']) => !known.has(callId));
  const charges = await database.db.query(
    `WITH reported AS (SELECT r.id, coalesce(sum((s.step->'result'->'usage'->>'inputTokens')::bigint
         + (s.step->'result'->'usage'->>'outputTokens')::bigint), 0) AS tokens
       FROM run r LEFT JOIN run_step s ON s.run_id = r.id AND s.step->>'type' = 'finished' GROUP BY 1),
     lost AS (SELECT run_id, count(*) AS tasks FROM agent_task WHERE state = 'lost' GROUP BY 1)
     SELECT reported.id, b.own_tokens AS charged, reported.tokens, lost.tasks AS lost
     FROM reported JOIN budget b ON b.kind = 'run' AND b.subject = reported.id LEFT JOIN lost ON lost.run_id = reported.id
     WHERE b.own_tokens <> reported.tokens + coalesce(lost.tasks, 0) * $1`,
    [RESERVED],
  );
  const states = await database.db.query<{ state: string; runs: number }>(
    'SELECT state, count(*)::int AS runs FROM run GROUP BY 1 ORDER BY 1',
  );
  for (const fault of [...charges, ...lostResults].slice(0, MAX_SHOWN)) console.log(JSON.stringify(fault));
  const faults = {
    unfinished: await unfinished(),
    executedTwice: fragile.length - new Set(fragile).size,
    lostResults: lostResults.length,
    chargedWrong: charges.length,
  };
  const interrupted = await count('run WHERE attempts > 1');
  const lostTasks = await count(`agent_task WHERE state = 'lost'`);
  const byState = Object.fromEntries(states.map((row) => [row.state, row.runs]));
  console.log(
    JSON.stringify({
      runs,
      replicaKills,
      agentKills,
      ...byState,
      interrupted,
      lostTasks,
      results: accepted.length,
      ...faults,
    }),
  );
  if (Object.values(faults).some((found) => found !== 0)) process.exitCode = 1;
} finally {
  over.abort();
  agents.stop();
  await replicas.stop();
  await database.drop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
