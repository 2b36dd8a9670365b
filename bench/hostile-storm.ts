import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { testDatabase } from '#rollcall/platform/testing';
import { type BenchAgent, beat, registerFleet } from './support/fleet.js';
import type { HostileKeys } from './support/hostile.requests.js';
import { HAS_NGINX, NginxProxy } from './support/nginx.js';
import { startPostgres } from './support/postgres.js';
import { type Probe, probe } from './support/prober.js';
import { type Server, startRollcall } from './support/servers.js';

/**
 * 50 clients send the requests of the findings A1 to A8, directly and through nginx. Meanwhile, one agent sends heartbeats and one
 * client requests /health/live. Fails when the 99th percentile of either reaches 250 ms, or when a response is not 200.
 * `node hostile-storm.js <seconds> <findings, such as A1,A7>`
 */
const [seconds = '60', findings = 'all'] = process.argv.slice(2);
const CLIENTS = 50;
const LIMIT_MS = 250;
const EVENTS = 5_000;
/** Restores the default limits, which other benchmarks raise: an empty variable counts as not set. */
const DEFAULTS = {
  ROLLCALL_RATE_LIMIT: '',
  ROLLCALL_CONCURRENT_REQUESTS: '',
  ROLLCALL_CONCURRENT_STREAMS: '',
  ROLLCALL_ADMIN_KEY: randomBytes(32).toString('hex'),
};

async function newKey({ url, headers }: Server, role: string): Promise<string> {
  const body = JSON.stringify({ name: `hostile ${role}`, roles: [role] });
  const all = { ...headers, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/v1/keys`, { method: 'POST', headers: all, body });
  return ((await answer.json()) as { key: string }).key;
}

function show(name: string, { count, failed, p50, p99, max }: Probe): boolean {
  const isFine = p99 < LIMIT_MS && failed === 0;
  console.log(
    `  ${name.padEnd(12)} ${String(count).padStart(6)} requests, ${failed} failed  p50 ${p50} ms  p99 ${p99} ms  max ${max} ms` +
      (isFine ? '' : `  ← must be under ${LIMIT_MS} ms at p99, and none may fail`),
  );
  return isFine;
}

/** Makes every replica cache the credential of the agent: hostile clients have the same address and use up its credential look-ups. */
async function warmUp(url: string, agent: BenchAgent): Promise<void> {
  const { path, headers, body } = beat(agent);
  for (let count = 0; count < 4; count++) await fetch(url + path, { method: 'POST', headers, body });
}

async function storm(route: string, url: string, keys: HostileKeys, agent: BenchAgent): Promise<boolean> {
  await warmUp(url, agent);
  const program = fileURLToPath(new URL('./support/hostile.clients.js', import.meta.url));
  const hostile = fork(program, [url, String(CLIENTS), seconds, findings, JSON.stringify(keys)]);
  let isOver = false;
  const counts = once(hostile, 'message').finally(() => (isOver = true));
  const [beats, live] = await Promise.all([
    probe(url, beat(agent), () => isOver),
    probe(url, { path: '/health/live' }, () => isOver),
  ]);
  const [answers] = (await counts) as [Record<string, number>];
  const total = Object.values(answers).reduce((sum, count) => sum + count, 0);
  console.log(`\n${route}: ${CLIENTS} hostile clients, ${total} requests in ${seconds} s`);
  const listed = Object.entries(answers).toSorted(([one], [other]) => (one < other ? -1 : 1));
  console.log(`  ${listed.map(([name, count]) => `${name} × ${count}`).join(', ')}`);
  return [show('heartbeat', beats), show('/health/live', live)].every(Boolean);
}

/** Fills the event log for the clients that read events. */
async function fillLog(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`
    INSERT INTO event_log (seq, id, type, subject, capabilities, data, at)
    SELECT head + n, gen_random_uuid(), 'agent.draining', 'agent-' || n, '{build}', jsonb_build_object('by', repeat('x', 400)), now()
    FROM generate_series(1, ${EVENTS}) n, event_counter;
    UPDATE event_counter SET head = head + ${EVENTS}`);
  await client.end();
}

const postgres = await startPostgres();
const database = await testDatabase();
const environment = { DATABASE_URL: database.url, ROLLCALL_TRUSTED_PROXIES: '127.0.0.1', ...DEFAULTS };
await fillLog(database.url);
const [one, other] = [await startRollcall(environment), await startRollcall(environment)];
const nginx = HAS_NGINX ? await NginxProxy.start([one.url, other.url]) : undefined;
try {
  const [agent] = await registerFleet(one, 1);
  if (!agent) throw new Error('no agent was registered');
  const keys = {
    agent: await newKey(one, 'agent'),
    caller: await newKey(one, 'caller'),
    viewer: await newKey(one, 'viewer'),
  };
  const fine = [await storm('directly', one.url, keys, agent)];
  if (nginx) fine.push(await storm('through nginx', nginx.url, keys, agent));
  else
    console.log('\n!!! SKIPPED: through nginx, which this machine does not have (Debian: apt-get install nginx-light)');
  if (!fine.every(Boolean)) process.exitCode = 1;
} finally {
  await nginx?.stop();
  await Promise.all([one.stop(), other.stop()]);
  await database.drop();
  await postgres.stop();
}
