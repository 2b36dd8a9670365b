/**
 * One caller fills the queue of its namespace on two replicas with few free slots. Meanwhile, runs of another namespace and of another caller
 * in the same namespace are started, one after the other. Fails when one of them starts later than 2 s after its request.
 * `node fair-storm.js <queued runs> <runs of each of the others>`
 */
import { randomBytes } from 'node:crypto';
import { testDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { startPostgres } from './support/postgres.js';
import { LONG_TIMEOUTS, startRollcall } from './support/servers.js';

const [QUEUED = 600, PROBES = 10] = process.argv.slice(2).map(Number);
const LIMIT_MS = 2_000;
/** With two replicas, eight runs of about one second execute at a time, so the queue needs more than a minute. */
const SLOTS = '4';
const INPUT = 'Read the clock 4 times.';
/** A run that does not start is reported after this time. */
const GIVE_UP_MS = 120_000;
const CONCURRENT_STARTS = 16;

interface Caller {
  readonly name: string;
  readonly namespace: string;
  readonly key: string;
}

async function post(path: string, body: object, headers: Record<string, string>): Promise<Record<string, unknown>> {
  const json = { 'content-type': 'application/json', ...headers };
  const response = await fetch(one.url + path, { method: 'POST', headers: json, body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status >= 300) throw new Error(`POST ${path} was answered with ${response.status}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function define(namespace: string): Promise<void> {
  await post('/v1/namespaces', { name: namespace }, one.headers);
  const model = { vendor: 'scripted', model: 'steps' };
  const content = { description: 'Works.', instructions: 'Work.', tools: ['clock'], model };
  await post('/v1/definitions', { name: 'worker', content }, { ...one.headers, 'rollcall-namespace': namespace });
}

async function newCaller(name: string, namespace: string): Promise<Caller> {
  const { key } = await post('/v1/keys', { name, roles: ['caller'], namespace }, one.headers);
  return { name, namespace, key: String(key) };
}

async function start({ key }: Caller): Promise<string> {
  const body = { definition: 'worker', input: INPUT };
  return String((await post('/v1/runs', body, { authorization: `Bearer ${key}` }))['id']);
}

async function queued(namespace: string): Promise<number> {
  const [row] = await database.db.query<{ count: string }>(
    `SELECT count(*) AS count FROM run WHERE state = 'queued' AND namespace = $1`,
    [namespace],
  );
  return Number(row?.count);
}

/** Starts runs until as many are queued as wanted. */
async function fill(caller: Caller): Promise<void> {
  for (;;) {
    const missing = QUEUED - (await queued(caller.namespace));
    if (missing <= 0) return;
    let begun = 0;
    const work = async (): Promise<void> => {
      while (begun < missing) {
        begun += 1;
        await start(caller);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_STARTS }, work));
  }
}

/** Starts one run, and returns the milliseconds from its creation to its start, both by the clock of Postgres. */
async function waitOf(caller: Caller): Promise<number> {
  const id = await start(caller);
  let waitMs: number | undefined;
  const hasStarted = async (): Promise<boolean> => {
    const [row] = await database.db.query<{ waitMs: string | null }>(
      'SELECT 1000 * extract(epoch FROM started_at - created_at) AS "waitMs" FROM run WHERE id = $1',
      [id],
    );
    if (row && row.waitMs !== null) waitMs = Number(row.waitMs);
    return waitMs !== undefined;
  };
  await until(`the run of ${caller.name} starts`, hasStarted, GIVE_UP_MS).catch(console.error);
  return waitMs ?? GIVE_UP_MS;
}

/**
 * Returns whether each of the runs of this caller started in time. The queue is filled again before each of them. The first run that
 * starts too late ends the measurement, because each further one could wait for the whole queue.
 */
async function probe(caller: Caller, rival: Caller): Promise<boolean> {
  const waits: number[] = [];
  while (waits.length < PROBES && waits.every((ms) => ms <= LIMIT_MS)) {
    await fill(rival);
    waits.push(await waitOf(caller));
  }
  const max = Math.round(Math.max(...waits));
  const isMet = max <= LIMIT_MS;
  console.log(`\n${caller.name}, while ${QUEUED} runs of one caller are queued`);
  console.log(`  from the request to the start: ${waits.map((ms) => Math.round(ms)).join(', ')} ms`);
  console.log(
    `  target: ${caller.name}: longest time to the start  wanted ≤ ${LIMIT_MS} ms  measured ${max} ms  ${isMet ? 'met' : 'MISSED'}`,
  );
  return isMet;
}

const postgres = await startPostgres();
const database = await testDatabase({ operationTimeoutMs: 60_000 });
const environment = {
  ...LONG_TIMEOUTS,
  DATABASE_URL: database.url,
  ROLLCALL_ADMIN_KEY: randomBytes(32).toString('hex'),
  ROLLCALL_RUNS_MAX: SLOTS,
};
const constants = { runtime: { runs: { sharePerAgent: 1 } } }; // the queue of one caller fills all places
const one = await startRollcall(environment, { constants });
const other = await startRollcall(environment, { constants });
try {
  for (const namespace of ['crowd', 'quiet']) await define(namespace);
  const rival = await newCaller('the caller with the queue', 'crowd');
  const callers = [
    await newCaller('another namespace', 'quiet'),
    await newCaller('another caller in the same namespace', 'crowd'),
  ];
  const met: boolean[] = [];
  for (const caller of callers) met.push(await probe(caller, rival));
  if (!met.every(Boolean)) process.exitCode = 1;
} finally {
  await Promise.all([one.stop(), other.stop()]);
  await database.drop();
  await postgres.stop();
}
