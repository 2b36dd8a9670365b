import { Client } from 'pg';
import { emptyDatabase } from '#rollcall/platform/testing';
import { buildCommit } from './support/built.commit.js';
import { compareRunners, median, print, quantile, ratiosOf, type Runner } from './support/compare.js';
import { cpuSecondsOf, parentOf } from './support/cpu.time.js';
import { beat, type BenchAgent, registerFleet } from './support/fleet.js';
import { type Load, load, type LoadResult } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { type Server, startRollcall } from './support/servers.js';

/**
 * Compares heartbeats, queries and reservations of this tree with another commit, in alternating rounds on one Postgres. Each side has its
 * own database. Fails when this tree is slower by more than the permitted loss.
 * `npm run bench:against -- <commit> [permitted loss in percent, 3]`
 */
const [ref, permitted = '3'] = process.argv.slice(2);
if (!ref) throw new Error('Name the commit to compare with: npm run bench:against -- <commit>');
const TARGET = 1 - Number(permitted) / 100;
const AGENTS = 2_560;
const CONNECTIONS = 64;
/** Many short rounds: a disturbance spoils few of them, and the median ignores these. */
const ROUNDS = { rounds: 40, seconds: 0.5 };

interface Side {
  name: string;
  server: Server;
  fleet: BenchAgent[];
}

async function startSide(name: string, dist?: string): Promise<Side> {
  const environment = { DATABASE_URL: await emptyDatabase(), ROLLCALL_HEARTBEAT_EVERY: '10m' };
  const server = await startRollcall(environment, { dist });
  return { name, server, fleet: await registerFleet(server, AGENTS) };
}

function beats({ server, fleet }: Side): Load {
  const share = AGENTS / CONNECTIONS;
  const requestsOf: Load['requestsOf'] = (connection) =>
    fleet.slice(connection * share, (connection + 1) * share).map((agent) => beat(agent));
  return { url: server.url, requestsOf };
}

function queries({ server }: Side): Load {
  const headers = { ...server.headers, 'content-type': 'application/json' };
  const limits = Array.from({ length: 20 }, (_, index) => index + 1);
  const requests = limits.map((limit) => ({
    path: '/v1/agents/query',
    headers,
    body: JSON.stringify({ capabilities: ['build'], prefer: 'cheapest', limit }),
  }));
  return { url: server.url, requestsOf: () => requests };
}

let keys = 0;

/** Each connection reserves tokens of an agent and releases them, again and again. */
function reservations({ server, fleet }: Side): Load {
  const headers = { ...server.headers, 'content-type': 'application/json' };
  const requestsOf: Load['requestsOf'] = (connection) => {
    let held: string | undefined;
    return () => {
      const path = '/v1/budgets/reservations';
      const key = held;
      held = key === undefined ? `key-${(keys += 1)}` : undefined;
      if (key !== undefined) return { path: `${path}/${key}/release`, headers, body: '{}' };
      return { path, headers, body: JSON.stringify({ key: held, agentId: fleet[connection].agentId, tokens: 1 }) };
    };
  };
  return { url: server.url, requestsOf };
}

/** CPU time of the server and of Postgres, and the number of requests, of all rounds of one side. */
interface Cost {
  server: number;
  postgres: number;
  requests: number;
}

/** One round of a side. The CPU time of Postgres belongs to this side, because the other side has no load. */
function runnerOf({ name, server }: Side, what: Load, costs: Cost[]): Runner {
  const now = (): number[] => [cpuSecondsOf(server.pid), cpuSecondsOf(postmaster)];
  const run = async (seconds: number): Promise<LoadResult> => {
    const [serverBefore = 0, postgresBefore = 0] = now();
    const started = performance.now();
    const result = await load(what, CONNECTIONS, seconds);
    const requests = (result.perSecond * (performance.now() - started)) / 1_000;
    const [serverAfter = 0, postgresAfter = 0] = now();
    costs.push({ server: serverAfter - serverBefore, postgres: postgresAfter - postgresBefore, requests });
    return result;
  };
  return { name, run };
}

async function measure(what: string, sides: readonly Side[], loadOf: (side: Side) => Load): Promise<boolean> {
  const costs = sides.map((): Cost[] => []);
  const runners = sides.map((side, index) => runnerOf(side, loadOf(side), costs[index] ?? []));
  const scores = await compareRunners(runners, ROUNDS);
  print(`${what}, ${CONNECTIONS} connections`, scores);
  const [before, after] = scores;
  const ratios = before && after ? ratiosOf(after, before) : [];
  const [low, high] = [quantile(ratios, 0.25), quantile(ratios, 0.75)].map((ratio) => ratio.toFixed(3));
  const spread = `half of the rounds between ${low}× and ${high}×`;
  console.log(`  this tree: ${median(ratios).toFixed(3)}×, ${spread} (target: at least ${TARGET.toFixed(2)}×)`);
  console.log(`  CPU time of a request: ${costs.map((side) => costOf(side)).join(', ')}`);
  return median(ratios) >= TARGET;
}

/** Microseconds for each request, without the warm-up. */
function costOf([, ...rounds]: readonly Cost[]): string {
  const sum = (of: (cost: Cost) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  const requests = sum((round) => round.requests);
  const [server, inPostgres] = [sum((round) => round.server), sum((round) => round.postgres)];
  return `${Math.round((server / requests) * 1e6)} µs + ${Math.round((inPostgres / requests) * 1e6)} µs in Postgres`;
}

/** The process id of the Postgres server. */
async function postmasterOf(url: string): Promise<number> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const pid = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  return pid;
}

const commit = buildCommit(ref);
const postgres = await startPostgres();
const postmaster = await postmasterOf(postgres.url);
const sides = [await startSide(commit.title.slice(0, 40), commit.dist), await startSide('this tree')];
try {
  const fine = [
    await measure('heartbeats', sides, beats),
    await measure('queries', sides, queries),
    await measure('reservations', sides, reservations),
  ];
  if (!fine.every(Boolean)) process.exitCode = 1;
} finally {
  await Promise.all(sides.map(async ({ server }) => await server.stop()));
  await postgres.stop();
  commit.remove();
}
