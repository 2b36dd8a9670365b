import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { cpuSecondsOf, memoryMbOf, parentOf } from './support/cpu.time.js';
import { load, type LoadRequest, type LoadResult } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { fillFleet } from './support/query.fleet.js';
import { differentQueries } from './support/query.samples.js';
import { LONG_TIMEOUTS, type Server, startRollcall } from './support/servers.js';
import { TargetTable } from './support/target.js';

/**
 * Measures what a fleet without changes costs on two replicas: CPU time, memory and the time of a restart; and the latency of queries,
 * compared with a fleet of 10,000 agents. `npm run bench:fleet -- [agents, 100000]`
 */
const [fleet = '100000'] = process.argv.slice(2);
const REFERENCE = 10_000;
const CONNECTIONS = 64;
const QUERY_SECONDS = 8;
const SETTLE_MS = 10_000;
const IDLE_MS = 30_000;
const QUERIES = differentQueries(1_000);

interface Measured {
  readySeconds: number;
  memoryMb: number;
  /** In percent of one core. */
  idleReplica: number;
  idlePostgres: number;
  queries: LoadResult;
}

async function measure(agents: number): Promise<Measured> {
  const postgres = await startPostgres();
  if (agents > 0) await fillFleet(postgres.url, agents);
  const settings = { DATABASE_URL: postgres.url, ...LONG_TIMEOUTS, ROLLCALL_ADMIN_KEY: 'x'.repeat(43) };
  const started = performance.now();
  const replica = await startRollcall(settings);
  const readySeconds = (performance.now() - started) / 1_000;
  const other = await startRollcall(settings);
  try {
    await delay(SETTLE_MS);
    const memoryMb = memoryMbOf(replica.pid);
    const postmaster = parentOf(await backendOf(postgres.url));
    const before = [cpuSecondsOf(replica.pid), cpuSecondsOf(postmaster)];
    await delay(IDLE_MS);
    const after = [cpuSecondsOf(replica.pid), cpuSecondsOf(postmaster)];
    const [idleReplica = 0, idlePostgres = 0] = after.map((cpu, at) => ((cpu - (before[at] ?? 0)) / IDLE_MS) * 100_000);
    const queries = await load(queriesTo(replica), CONNECTIONS, QUERY_SECONDS);
    const measured = { readySeconds, memoryMb, idleReplica, idlePostgres, queries };
    print(agents, measured);
    return measured;
  } finally {
    await Promise.all([replica.stop(), other.stop()]);
    await postgres.stop();
  }
}

/** A process that answers queries to this database. Its parent is the parent of all processes of Postgres. */
async function backendOf(url: string): Promise<number> {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1`,
    );
    return rows[0]?.pid ?? 0;
  } finally {
    await client.end();
  }
}

function queriesTo({ url, headers }: Server): { url: string; requestsOf(connection: number): LoadRequest[] } {
  const requests = QUERIES.map((query) => ({
    path: '/v1/agents/query',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(query),
  }));
  const requestsOf = (connection: number): LoadRequest[] => {
    const from = Math.floor((connection * QUERIES.length) / CONNECTIONS);
    return [...requests.slice(from), ...requests.slice(0, from)];
  };
  return { url, requestsOf };
}

function print(agents: number, { readySeconds, memoryMb, idleReplica, idlePostgres, queries }: Measured): void {
  const { perSecond, p50, p99 } = queries;
  console.log(
    `${String(agents).padStart(9)} agents: ready ${readySeconds.toFixed(1)} s  memory ${memoryMb.toFixed(0)} MB  ` +
      `idle CPU: replica ${idleReplica.toFixed(1)} %, Postgres ${idlePostgres.toFixed(1)} %  ` +
      `queries ${perSecond.toFixed(0)}/s, p50 ${p50} ms, p99 ${p99} ms`,
  );
}

const empty = await measure(0);
const reference = await measure(REFERENCE);
const large = await measure(Number(fleet));
const kilobytes = ((large.memoryMb - empty.memoryMb) * 1_024) / Number(fleet);
const table = new TargetTable();
table.atMost('idle CPU of Postgres', 5, large.idlePostgres, ' %');
table.atMost('idle CPU of a replica', 3, large.idleReplica, ' %');
table.atMost('start to ready', 60, large.readySeconds, ' s');
table.atMost('memory of an agent', 2, kilobytes, ' KB');
table.atMost(`p99 of queries / that with ${REFERENCE} agents`, 1.5, large.queries.p99 / reference.queries.p99);
table.print();
