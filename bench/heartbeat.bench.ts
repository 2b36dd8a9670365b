import { compare, print, type Contestant, type Score } from './support/compare.js';
import { Etcd, HAS_ETCD, keepAlive, NO_ETCD } from './support/etcd.js';
import { beat, registerFleet, type BenchAgent } from './support/fleet.js';
import type { Load } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { LONG_TIMEOUTS, startBare, startNaive, startRollcall } from './support/servers.js';
import { requireRatio } from './support/target.js';
import { startNginx, throughNginx } from './support/through-nginx.js';

/**
 * Compares heartbeats over HTTP, authenticated by lease token and durable when the response is sent, with a NestJS route that does nothing,
 * with one prepared UPDATE for each heartbeat, and with the lease keepalive of etcd over HTTP. Every connection sends the
 * heartbeats of its own agents.
 */
const AGENTS = 2_560;
const BATCH = 256;
const TIMES_UPDATE = 2;
const TIMES_ETCD = 1.1;
const UPDATES = 'one prepared UPDATE for each heartbeat';
const KEEPALIVES = 'etcd, lease keepalive';

const postgres = await startPostgres();
const [bare, naive] = [await startBare(), await startNaive(postgres.url)];
const rollcall = await startRollcall({ DATABASE_URL: postgres.url, ...LONG_TIMEOUTS });
const etcd = HAS_ETCD ? await Etcd.start() : undefined;
const nginx = await startNginx(rollcall.url);

/** Each connection repeats the items of its share. */
function shared<T>(items: readonly T[], connections: number): (connection: number) => readonly T[] {
  const share = Math.floor(items.length / connections);
  return (connection) => items.slice(connection * share, (connection + 1) * share);
}

function contestants(fleet: readonly BenchAgent[], connections: number): Contestant[] {
  const beats = (url: string, pathOf?: (agent: BenchAgent) => string): Load => {
    return {
      url,
      requestsOf: shared(
        fleet.map((agent) => beat(agent, pathOf?.(agent))),
        connections,
      ),
    };
  };
  const ours = { name: 'Rollcall', load: beats(rollcall.url) };
  const leases = fleet.map((_, index) => keepAlive(index + 1));
  return [
    { name: 'NestJS + Fastify, POST that does nothing', load: beats(bare.url, () => '/noop') },
    { name: UPDATES, load: beats(naive.url, ({ agentId }) => `/agents/${agentId}/heartbeat`) },
    ...(etcd ? [{ name: KEEPALIVES, load: { url: etcd.url, requestsOf: shared(leases, connections) } }] : []),
    ours,
    ...throughNginx(ours, nginx),
  ];
}

async function measure(fleet: readonly BenchAgent[], connections: number): Promise<void> {
  const scores = await compare(contestants(fleet, connections), connections);
  print(`heartbeats, ${connections} connections`, scores);
  const of = (name: string): Score | undefined => scores.find((score) => score.name === name);
  requireRatio(TIMES_UPDATE, of('Rollcall'), of(UPDATES));
  if (etcd) requireRatio(TIMES_ETCD, of('Rollcall'), of(KEEPALIVES));
  else console.log(`  ${NO_ETCD}`);
}

async function measureBatches(fleet: readonly BenchAgent[]): Promise<void> {
  const headers = { ...rollcall.headers, 'content-type': 'application/json' };
  const requests = Array.from({ length: AGENTS / BATCH }, (_, index) => {
    const agents = fleet.slice(index * BATCH, (index + 1) * BATCH);
    const beats = agents.map(({ agentId, leaseToken }) => ({ agentId, leaseToken, generation: 1, inFlight: 3 }));
    return { path: '/v1/heartbeats', headers, body: JSON.stringify({ beats }) };
  });
  const load: Load = { url: rollcall.url, requestsOf: (connection) => requests.slice(connection, connection + 1) };
  const ours = { name: `POST /v1/heartbeats`, load, operations: BATCH };
  print(`heartbeats in batches of ${BATCH}, 8 connections`, await compare([ours, ...throughNginx(ours, nginx)], 8));
}

try {
  await etcd?.grantLeases(AGENTS);
  const fleet = await registerFleet(rollcall, AGENTS);
  for (const connections of [64, 256]) await measure(fleet, connections);
  await measureBatches(fleet);
} finally {
  await nginx?.stop();
  await Promise.all([bare.stop(), naive.stop(), rollcall.stop(), etcd?.stop()]);
  await postgres.stop();
}
