import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { testDatabase } from '#rollcall/platform/testing';
import { type BenchAgent, beat, registerFleet } from './support/fleet.js';
import { CROWD, type HostileKeys } from './support/hostile.requests.js';
import { HAS_NGINX, NginxProxy } from './support/nginx.js';
import { startPostgres } from './support/postgres.js';
import { type Probe, probe } from './support/prober.js';
import { type Server, startRollcall } from './support/servers.js';

/**
 * 50 clients of one namespace send the requests of the findings A1 to A8 and the floods of S-2, S-3, S-4, S-5 and S-13, directly and
 * through nginx. Meanwhile, an agent of another namespace sends heartbeats, a caller of it sends queries, and one client requests
 * /health/live. Fails when the 99th percentile of one of them reaches 250 ms, or when one of their responses is not 200.
 * `node hostile-storm.js <seconds> <findings, such as A1,S-3>`
 */
const [seconds = '60', findings = 'all'] = process.argv.slice(2);
const CLIENTS = 50;
const LIMIT_MS = 250;
const EVENTS = 5_000;
/** Agents of the hostile namespace that the public catalogs list. */
const PUBLIC_AGENTS = 3_000;
const LABEL = { visibility: 'public' };
/** Runs of the hostile namespace with a large input, which lists must not read. */
const LARGE_RUNS = 200;
const LARGE_INPUT = 65_000;
/** Restores the default limits, which other benchmarks raise: an empty variable counts as not set. */
const SETTINGS = {
  ROLLCALL_RATE_LIMIT: '',
  ROLLCALL_PUBLIC_RATE_LIMIT: '',
  ROLLCALL_CONCURRENT_REQUESTS: '',
  ROLLCALL_CONCURRENT_STREAMS: '',
  ROLLCALL_QUOTAS: `agents=${PUBLIC_AGENTS + 1}`,
  ROLLCALL_TRUSTED_PROXIES: '127.0.0.1',
  ROLLCALL_CATALOG_LABEL: 'visibility=public',
  ROLLCALL_CATALOG_PUBLISHER: 'fleet.example.com',
  ROLLCALL_ADMIN_KEY: randomBytes(32).toString('hex'),
};

type Post = (path: string, body: object, namespace?: string) => Promise<Record<string, unknown>>;

function sender({ url, headers }: Server): Post {
  return async (path, body, namespace) => {
    const all = {
      ...headers,
      'content-type': 'application/json',
      ...(namespace && { 'rollcall-namespace': namespace }),
    };
    const answer = await fetch(url + path, { method: 'POST', headers: all, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`POST ${path} was answered with ${answer.status}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  };
}

/** What the hostile clients find: public agents, a definition, and runs with large inputs. */
async function prepareCrowd(post: Post): Promise<HostileKeys> {
  const { namespace, definition, capability } = CROWD;
  await post('/v1/namespaces', { name: namespace });
  for (let first = 0; first < PUBLIC_AGENTS; first += 1_000) {
    const agents = Array.from({ length: 1_000 }, (_, index) => ({
      agentId: `agent-${first + index}`,
      name: `Translator ${first + index}`,
      capabilities: [capability, `text.translate.l${index}`],
      labels: LABEL,
    }));
    await post('/v1/agents/batch', { agents }, namespace);
  }
  const model = { vendor: 'scripted', model: 'steps' };
  const content = { description: 'Works.', instructions: 'Work.', tools: ['clock'], model };
  await post('/v1/definitions', { name: definition, content }, namespace);
  const input = 'x'.repeat(LARGE_INPUT);
  for (let count = 0; count < LARGE_RUNS; count++) await post('/v1/runs', { definition, input }, namespace);
  const keyFor = async (role: string): Promise<string> =>
    String((await post('/v1/keys', { name: `hostile ${role}`, roles: [role], namespace }))['key']);
  return {
    agent: await keyFor('agent'),
    caller: await keyFor('caller'),
    viewer: await keyFor('viewer'),
    operator: await keyFor('operator'),
  };
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

async function storm(
  route: string,
  url: string,
  keys: HostileKeys,
  agent: BenchAgent,
  caller: string,
): Promise<boolean> {
  await warmUp(url, agent);
  const program = fileURLToPath(new URL('./support/hostile.clients.js', import.meta.url));
  const hostile = fork(program, [url, String(CLIENTS), seconds, findings, JSON.stringify(keys)]);
  let isOver = false;
  const counts = once(hostile, 'message').finally(() => (isOver = true));
  const query = {
    path: '/v1/agents/query',
    headers: headersOf(caller),
    body: JSON.stringify({ capabilities: ['build'] }),
  };
  const [beats, queries, live] = await Promise.all([
    probe(url, beat(agent), () => isOver),
    probe(url, query, () => isOver),
    probe(url, { path: '/health/live' }, () => isOver),
  ]);
  const [answers] = (await counts) as [Record<string, number>];
  const total = Object.values(answers).reduce((sum, count) => sum + count, 0);
  console.log(`\n${route}: ${CLIENTS} hostile clients, ${total} requests in ${seconds} s`);
  const listed = Object.entries(answers).toSorted(([one], [other]) => (one < other ? -1 : 1));
  console.log(`  ${listed.map(([name, count]) => `${name} × ${count}`).join(', ')}`);
  return [show('heartbeat', beats), show('query', queries), show('/health/live', live)].every(Boolean);
}

function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/** Fills the event log for the clients that read events. */
async function fillLog(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`
    INSERT INTO event_log (seq, id, type, subject, capabilities, data, at, namespace)
    SELECT head + n, gen_random_uuid(), 'agent.draining', 'agent-' || n, '{build}', jsonb_build_object('by', repeat('x', 400)), now(), '${CROWD.namespace}'
    FROM generate_series(1, ${EVENTS}) n, event_counter;
    UPDATE event_counter SET head = head + ${EVENTS}`);
  await client.end();
}

const postgres = await startPostgres();
const database = await testDatabase();
const environment = { DATABASE_URL: database.url, ...SETTINGS };
await fillLog(database.url);
const [one, other] = [await startRollcall(environment), await startRollcall(environment)];
const nginx = HAS_NGINX ? await NginxProxy.start([one.url, other.url]) : undefined;
try {
  const post = sender(one);
  const [agent] = await registerFleet(one, 1);
  if (!agent) throw new Error('no agent was registered');
  const caller = String((await post('/v1/keys', { name: 'caller', roles: ['caller'] }))['key']);
  const keys = await prepareCrowd(post);
  const fine = [await storm('directly', one.url, keys, agent, caller)];
  if (nginx) fine.push(await storm('through nginx', nginx.url, keys, agent, caller));
  else
    console.log('\n!!! SKIPPED: through nginx, which this machine does not have (Debian: apt-get install nginx-light)');
  if (!fine.every(Boolean)) process.exitCode = 1;
} finally {
  await nginx?.stop();
  await Promise.all([one.stop(), other.stop()]);
  await database.drop();
  await postgres.stop();
}
