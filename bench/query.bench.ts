import { until } from '#rollcall/test-support';
import { compare, print, type Contestant } from './support/compare.js';
import type { ChangeOrder, ChangeReport } from './support/fleet.changes.js';
import type { Load } from './support/load.js';
import type { NginxProxy } from './support/nginx.js';
import { startPostgres } from './support/postgres.js';
import { fillFleet } from './support/query.fleet.js';
import { type BenchQuery, differentQueries } from './support/query.samples.js';
import { LONG_TIMEOUTS, startRollcall, startSqlQuery, type Server } from './support/servers.js';
import { requireRatio } from './support/target.js';
import { startNginx, throughNginx } from './support/through-nginx.js';
import { WorkerProcess } from './support/worker.process.js';

/**
 * Compares queries on a changing fleet with SQL statements that return the same agents with a GIN index, at two sizes of the fleet. Both
 * sides read the same database while a third process changes the fleet through Rollcall in every round. Before and after the rounds, both
 * sides must return the same agents. Run it with a number of agents to measure only that size.
 */
const TARGETS = new Map([
  [10_000, 2.5],
  [100_000, 8],
]);
const QUERIES = differentQueries(1_000);
const CONNECTIONS = 64;
const CHECKED = 200;

function queriesTo(url: string, path: string, headers: Record<string, string> = {}): Load {
  const requests = QUERIES.map((query) => ({
    path,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(query),
  }));
  const requestsOf = (connection: number): typeof requests => {
    const from = Math.floor((connection * QUERIES.length) / CONNECTIONS);
    return [...requests.slice(from), ...requests.slice(0, from)];
  };
  return { url, requestsOf };
}

async function agentsIn({ headers }: Server, address: string, query: BenchQuery): Promise<string> {
  const body = JSON.stringify(query);
  const answer = await fetch(address, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  const { candidates } = (await answer.json()) as { candidates: { agent: { agentId: string } }[] };
  return candidates.map(({ agent }) => agent.agentId).join(' ');
}

/** Does not compare round-robin, because its answers depend on previous answers. */
async function requireSameAnswers(rollcall: Server, sql: Server): Promise<void> {
  for (const query of QUERIES.slice(0, CHECKED).filter(({ prefer }) => prefer !== 'round-robin')) {
    await until(`both answer ${JSON.stringify(query)} alike`, async () => {
      const ours = await agentsIn(rollcall, `${rollcall.url}/v1/agents/query`, query);
      return ours === (await agentsIn(sql, `${sql.url}/query`, query));
    });
  }
}

async function whileChanging<T>({ url, headers }: Server, agents: number, work: () => Promise<T>): Promise<T> {
  const changes = new WorkerProcess('fleet.changes');
  try {
    await changes.ask({ url, headers, agents } satisfies ChangeOrder);
    const result = await work();
    const { seconds, ...counts } = await changes.ask<ChangeReport>('stop');
    const rates = Object.entries(counts).map(([what, count]) => `${Math.round(count / seconds)} ${what}`);
    console.log(`\n${agents} agents; changes per second: ${rates.join(', ')}`);
    return result;
  } finally {
    changes.stop();
  }
}

function contestants(sql: Server, rollcall: Server, nginx: NginxProxy | undefined): Contestant[] {
  const ours = { name: 'Rollcall', load: queriesTo(rollcall.url, '/v1/agents/query', rollcall.headers) };
  return [{ name: 'SQL with a GIN index', load: queriesTo(sql.url, '/query') }, ours, ...throughNginx(ours, nginx)];
}

async function measure(agents: number, target: number): Promise<void> {
  const postgres = await startPostgres();
  await fillFleet(postgres.url, agents);
  const sql = await startSqlQuery(postgres.url);
  const rollcall = await startRollcall({ DATABASE_URL: postgres.url, ...LONG_TIMEOUTS });
  const nginx = await startNginx(rollcall.url);
  try {
    await requireSameAnswers(rollcall, sql);
    const all = contestants(sql, rollcall, nginx);
    const scores = await whileChanging(rollcall, agents, async () => await compare(all, CONNECTIONS));
    await requireSameAnswers(rollcall, sql);
    print(`${agents} agents, ${QUERIES.length} different queries, ${CONNECTIONS} connections`, scores);
    requireRatio(target, scores[1], scores[0]);
  } finally {
    await nginx?.stop();
    await Promise.all([sql.stop(), rollcall.stop()]);
    await postgres.stop();
  }
}

const [only] = process.argv.slice(2);
for (const [agents, target] of TARGETS) if (!only || Number(only) === agents) await measure(agents, target);
