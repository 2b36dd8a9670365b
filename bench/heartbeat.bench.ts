import { compare, print, type Contestant } from './support/compare.js';
import type { Load } from './support/load.js';
import { beat, registerFleet, type BenchAgent } from './support/fleet.js';
import { startPostgres } from './support/postgres.js';
import { startBare, startNaive, startRollcall } from './support/servers.js';

/**
 * Heartbeats on the real route: authenticated by lease token, durable when answered. Beside a NestJS route that does
 * nothing, and one that does what is usual, an UPDATE for each beat. All three get the same requests, every connection the
 * beats of agents of its own.
 */
const AGENTS = 10_000;
const BATCH = 1_000;

const postgres = await startPostgres();
const environment = { DATABASE_URL: postgres.url, ROLLCALL_HEARTBEAT_EVERY: '10m' };
const [bare, naive, rollcall] = [await startBare(), await startNaive(postgres.url), await startRollcall(environment)];

function beats(url: string, fleet: BenchAgent[], connections: number, pathOf?: (agent: BenchAgent) => string): Load {
  const share = Math.floor(fleet.length / connections);
  const agentsOf = (connection: number): BenchAgent[] => fleet.slice(connection * share, (connection + 1) * share);
  return { url, requestsOf: (connection) => agentsOf(connection).map((agent) => beat(agent, pathOf?.(agent))) };
}

function batches(fleet: BenchAgent[]): Load {
  const headers = { ...rollcall.headers, 'content-type': 'application/json' };
  const requests = Array.from({ length: fleet.length / BATCH }, (_, index) => {
    const agents = fleet.slice(index * BATCH, (index + 1) * BATCH);
    const all = agents.map(({ agentId, leaseToken }) => ({ agentId, leaseToken, generation: 1, inFlight: 3 }));
    return { path: '/v1/heartbeats', headers, body: JSON.stringify({ beats: all }) };
  });
  return { url: rollcall.url, requestsOf: (connection) => [requests[connection % requests.length] ?? { path: '/' }] };
}

try {
  const started = performance.now();
  const fleet = await registerFleet(rollcall, AGENTS);
  const seconds = (performance.now() - started) / 1_000;
  console.log(`${AGENTS} agents registered over HTTP in ${seconds.toFixed(1)} s (${Math.round(AGENTS / seconds)}/s)`);
  let single = 0;
  for (const connections of [64, 256]) {
    const contestants: Contestant[] = [
      {
        name: 'bare NestJS + Fastify, POST that does nothing',
        load: beats(bare.url, fleet, connections, () => '/noop'),
      },
      {
        name: 'one UPDATE for each beat',
        load: beats(naive.url, fleet, connections, ({ agentId }) => `/agents/${agentId}/heartbeat`),
      },
      { name: 'Rollcall', load: beats(rollcall.url, fleet, connections) },
    ];
    const scores = await compare(contestants, connections);
    print(`${connections} connections`, scores);
    const [, usual = 0, ours = 0] = scores.map(({ perSecond }) => perSecond);
    console.log(`  Rollcall does ${(ours / usual).toFixed(2)}× of one UPDATE for each beat`);
    single = ours;
  }
  const [batch] = await compare([{ name: 'Rollcall, batches of 1,000', load: batches(fleet) }], 8);
  const perSecond = (batch?.perSecond ?? 0) * BATCH;
  console.log(
    `\nbatches of ${BATCH}: ${Math.round(perSecond)} beats/s, ${(perSecond / single).toFixed(1)}× of one by one`,
  );
} finally {
  await Promise.all([bare.stop(), naive.stop(), rollcall.stop()]);
  await postgres.stop();
}
