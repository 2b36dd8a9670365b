import { rmSync } from 'node:fs';
import { Client } from 'pg';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import type { Registration } from '../support/agent-client.js';
import type { TestApi } from '../support/api.js';
import { call } from '../support/call.js';
import { newFolder, RollcallProcess } from '../support/process.js';
import { PullLoop, PullWorker } from '../support/pull-worker.js';
import { A2aWorker, HttpWorker } from '#rollcall/providers/testing';

const KEY = 'k'.repeat(40);
const RUNS_OF_EACH = 4;
const LEASE_MS = 5_000;
const OPEN = `state IN ('queued', 'running')`;

/** Agents of each kind, whose calls take until the test releases them. */
const KINDS = ['a2a', 'http-idempotent', 'http-once', 'pull'] as const;

let folder: string;
let url: string;
let client: Client;
let replicas: RollcallProcess[];
let workers: Record<(typeof KINDS)[number], HttpWorker | A2aWorker | PullLoop>;

beforeEach(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  replicas = [await start().ready()];
  replicas.push(await start().ready());
  client = new Client({ connectionString: url });
  await client.connect();
  const [a2a, idempotent, once] = await Promise.all([
    A2aWorker.start(),
    HttpWorker.start({ isIdempotent: true }),
    HttpWorker.start({ isIdempotent: false }),
  ]);
  await register('a2a', { endpoint: a2a.url, agentCard: { name: 'a2a' } });
  await register('http-idempotent', { endpoint: idempotent.url, idempotent: true });
  await register('http-once', { endpoint: once.url });
  const pull = new PullLoop(new PullWorker({ call: anyReplica }, await register('pull', { work: 'pull' })));
  workers = { a2a, 'http-idempotent': idempotent, 'http-once': once, pull };
});
afterEach(async () => {
  await client.end();
  await Promise.all(replicas.map(async (one) => await one.end('SIGKILL')));
  await Promise.all(Object.values(workers).map(async (worker) => await worker.close()));
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

function start(): RollcallProcess {
  const environment = {
    DATABASE_URL: url,
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_SEALING_KEY: 's'.repeat(64),
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
    ROLLCALL_HEARTBEAT_EVERY: '10m',
  };
  return new RollcallProcess(environment, { constants: { runtime: { runs: { leaseMs: LEASE_MS } } } });
}

async function register(agentId: (typeof KINDS)[number], declared: object): Promise<Registration> {
  const body = { agentId, name: agentId, capabilities: ['work'], ...declared };
  const answer = await call<Registration>(replicas[0].url, 'POST', '/v1/agents', { key: KEY, body });
  expect(answer.status).toBe(201);
  return answer.body;
}

let turn = 0;
const anyReplica: TestApi['call'] = async (method, path, options = {}) =>
  await call(replicas[(turn += 1) % 2].url, method, path, options);

async function count(where: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`SELECT count(*) AS count FROM run WHERE ${where}`);
  return Number(rows[0]?.count);
}

/** Starts runs on both replicas, and waits until all of them are in progress and all A2A tasks are recorded. */
async function startRuns(): Promise<void> {
  const all = KINDS.flatMap((agent) => Array.from({ length: RUNS_OF_EACH }, (_, index) => ({ agent, index })));
  await Promise.all(
    all.map(async ({ agent, index }) => {
      const body = { agent, input: 'Work.' };
      expect((await call(replicas[index % 2].url, 'POST', '/v1/runs', { key: KEY, body })).status).toBe(202);
    }),
  );
  await until('all calls are in progress', () => KINDS.every((kind) => workers[kind].busy === RUNS_OF_EACH), 60_000);
  await until('the tasks are recorded', async () => {
    const sql = `SELECT count(*) AS count FROM run_step WHERE step ->> 'type' = 'agent-accepted'`;
    const { rows } = await client.query<{ count: string }>(sql);
    return Number(rows[0]?.count) === RUNS_OF_EACH;
  });
}

async function outcomes(): Promise<{ agent: string; state: string; runs: string }[]> {
  const state = `coalesce(waiting_for, state) || coalesce(' ' || (result->'error'->>'code'), '')`;
  const sql = `SELECT agent_id AS agent, ${state} AS state, count(*) AS runs FROM run GROUP BY 1, 2 ORDER BY 1, 2`;
  return (await client.query<{ agent: string; state: string; runs: string }>(sql)).rows;
}

function executedTwice(): string[] {
  return KINDS.flatMap((kind) => [...workers[kind].executions].filter(([, times]) => times > 1).map(([id]) => id));
}

function release(): void {
  for (const kind of KINDS) workers[kind].release();
}

async function expectLedgerInBalance(): Promise<void> {
  const held = `SELECT count(*) AS count FROM budget_reservation WHERE state = 'held'`;
  await until(
    'nothing is reserved',
    async () => (await client.query<{ count: string }>(held)).rows[0]?.count === '0',
    30_000,
  );
  const { body } = await call(replicas[0].url, 'GET', '/v1/budgets/reconciliation', { key: KEY });
  expect(body).toMatchObject({ discrepancies: [] });
}

describe('replicas that end while agents outside Rollcall work', () => {
  it('R-2 a rolling restart: no run is in review or lost, and no call is executed twice', async () => {
    await startRuns();
    for (const index of [0, 1]) {
      const ending = replicas[index].end('SIGTERM');
      // calls that must not be repeated end while their replica waits for them
      if (index === 0) setTimeout(() => workers['http-once'].release(), 4_000);
      await ending;
      replicas[index] = await start().ready();
    }
    release();
    await until('every run has ended', async () => (await count(OPEN)) === 0, 120_000);
    expect(await outcomes()).toEqual(KINDS.map((agent) => ({ agent, state: 'completed', runs: String(RUNS_OF_EACH) })));
    expect(executedTwice()).toEqual([]);
    await expectLedgerInBalance();
  }, 240_000);

  it('B12 kill -9 of both: tasks that agents finish while no replica is alive are used, and nothing is executed twice', async () => {
    await startRuns();
    await Promise.all(replicas.map(async (replica) => await replica.end('SIGKILL')));
    release();
    for (const index of [0, 1]) replicas[index] = await start().ready();
    await until('every run has ended or waits', async () => (await count(OPEN)) === 0, 120_000);
    const runs = String(RUNS_OF_EACH);
    expect(await outcomes()).toEqual(
      KINDS.map((agent) => ({ agent, state: agent === 'http-once' ? 'needs_review' : 'completed', runs })),
    );
    expect(executedTwice()).toEqual([]);
    await expectLedgerInBalance();
  }, 240_000);

  it('R-2 kill -9: only calls of agents that are not idempotent wait for review, and nothing is executed twice', async () => {
    await startRuns();
    await replicas[1].end('SIGKILL');
    replicas[1] = await start().ready();
    release();
    await until('every run has ended or waits', async () => (await count(OPEN)) === 0, 120_000);
    const half = String(RUNS_OF_EACH / 2);
    expect(await outcomes()).toEqual([
      { agent: 'a2a', state: 'completed', runs: String(RUNS_OF_EACH) },
      { agent: 'http-idempotent', state: 'completed', runs: String(RUNS_OF_EACH) },
      { agent: 'http-once', state: 'completed', runs: half },
      { agent: 'http-once', state: 'needs_review', runs: half },
      { agent: 'pull', state: 'completed', runs: String(RUNS_OF_EACH) },
    ]);
    expect(executedTwice()).toEqual([]);
    await expectLedgerInBalance();
  }, 240_000);
});
