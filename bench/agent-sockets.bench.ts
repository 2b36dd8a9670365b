import { setTimeout as delay } from 'node:timers/promises';
import type { BeatingOrder } from './support/beating-agents.js';
import { compareRunners, print, type Runner } from './support/compare.js';
import { beat, registerFleet } from './support/fleet.js';
import { load } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { startRollcall } from './support/servers.js';
import { requireRatio } from './support/target.js';
import { startNginx } from './support/through-nginx.js';
import { WorkerProcess } from './support/worker.process.js';

/** Durable heartbeats over the agents' own WebSockets, beside the HTTP route with as many connections. */
const AGENTS = 256;
const TARGET = 1.8;
const SETTLE_MS = 100;

const postgres = await startPostgres();
const rollcall = await startRollcall({ DATABASE_URL: postgres.url, ROLLCALL_HEARTBEAT_EVERY: '1h' });
const nginx = await startNginx(rollcall.url);
const fleets = [await registerFleet(rollcall, AGENTS), nginx ? await registerFleet(rollcall, AGENTS, AGENTS) : []];
const workers: WorkerProcess[] = [];

function overHttp(name: string, url: string): Runner {
  const requests = (fleets[0] ?? []).map((agent) => beat(agent));
  const requestsOf = (connection: number): typeof requests => requests.slice(connection, connection + 1);
  return { name, run: async (seconds) => await load({ url, requestsOf }, AGENTS, seconds) };
}

async function overSockets(name: string, order: BeatingOrder): Promise<Runner> {
  const worker = new WorkerProcess('beating-agents');
  workers.push(worker);
  await worker.ask(order);
  const run: Runner['run'] = async (seconds) => {
    const started = performance.now();
    worker.send('start');
    await delay(seconds * 1_000);
    const perSecond = (await worker.ask<number>('stop')) / ((performance.now() - started) / 1_000);
    await delay(SETTLE_MS); // the answers on their way must not count in the next round
    return { perSecond, p50: 0, p99: 0 };
  };
  return { name, run };
}

try {
  const [direct = [], proxied = []] = fleets;
  const contestants = [
    overHttp('POST /v1/agents/{id}/heartbeat', rollcall.url),
    await overSockets('/v1/agents/ws', { url: rollcall.url, fleet: direct }),
  ];
  if (nginx) {
    contestants.push(
      overHttp('POST … through nginx', nginx.url),
      await overSockets('/v1/agents/ws through nginx', { url: nginx.url, fleet: proxied }),
    );
  }
  const scores = await compareRunners(contestants);
  print(`durable heartbeats, ${AGENTS} agents (no latencies for sockets)`, scores);
  requireRatio(TARGET, scores[1], scores[0]);
} finally {
  for (const worker of workers) worker.stop();
  await nginx?.stop();
  await rollcall.stop();
  await postgres.stop();
}
