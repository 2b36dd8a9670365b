import { emptyDatabase } from '#rollcall/platform/testing';
import { buildCommit } from './support/built.commit.js';
import { compare, print } from './support/compare.js';
import { beat, type BenchAgent, registerFleet } from './support/fleet.js';
import type { Load } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { type Server, startRollcall } from './support/servers.js';

/**
 * Compares heartbeats, queries and reservations of this tree with another commit, in alternating rounds on one Postgres, each with its own
 * database. Fails when this tree is slower by more than the permitted loss.
 * `npm run bench:against -- <commit> [permitted loss in percent, 3]`
 */
const [ref, permitted = '3'] = process.argv.slice(2);
if (!ref) throw new Error('Name the commit to compare with: npm run bench:against -- <commit>');
const AGENTS = 2_560;
const CONNECTIONS = 64;

interface Side {
  name: string;
  server: Server;
  fleet: BenchAgent[];
}

async function startSide(name: string, dist?: string): Promise<Side> {
  const environment = { DATABASE_URL: await emptyDatabase(), ROLLCALL_HEARTBEAT_EVERY: '10m' };
  const server = await startRollcall(environment, dist);
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

async function measure(what: string, sides: readonly Side[], loadOf: (side: Side) => Load): Promise<boolean> {
  const scores = await compare(
    sides.map((side) => ({ name: side.name, load: loadOf(side) })),
    CONNECTIONS,
  );
  print(`${what}, ${CONNECTIONS} connections`, scores);
  const ratio = scores[1]?.ratio ?? 0;
  const isFine = ratio >= 1 - Number(permitted) / 100;
  console.log(`  this tree: ${ratio.toFixed(3)}× (target: at least ${(1 - Number(permitted) / 100).toFixed(2)}×)`);
  return isFine;
}

const before = buildCommit(ref);
const postgres = await startPostgres();
const sides = [await startSide(before.title.slice(0, 40), before.dist), await startSide('this tree')];
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
  before.remove();
}
