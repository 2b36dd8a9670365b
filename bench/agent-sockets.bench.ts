import { setTimeout as delay } from 'node:timers/promises';
import type { BeatingOrder } from './support/beating-agents.js';
import { compareRunners, print, type Runner } from './support/compare.js';
import { beat, registerFleet } from './support/fleet.js';
import { load } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { LONG_TIMEOUTS, startRollcall } from './support/servers.js';
import { requireRatio } from './support/target.js';
import { startNginx } from './support/through-nginx.js';
import { WorkerProcess } from './support/worker.process.js';

/** Compares durable heartbeats over the WebSockets of agents with the HTTP route, with the same number of connections. */
const AGENTS = 256;
const TARGET = 1.8;
const SETTLE_MS = 100;

const postgres = await startPostgres();
const rollcall = await startRollcall({ DATABASE_URL: postgres.url, ...LONG_TIMEOUTS });
const nginx = await startNginx(rollcall.url);
const workers: WorkerProcess[] = [];

function overHttp(name: string, { url, fleet }: BeatingOrder): Runner {
  const requests = fleet.map((agent) => beat(agent));
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
    await delay(SETTLE_MS); // late responses must not count in the next round
    return { perSecond, p50: 0, p99: 0 };
  };
  return { name, run };
}

try {
  const direct = { url: rollcall.url, fleet: await registerFleet(rollcall, AGENTS) };
  const contestants = [overHttp('POST /v1/agents/{id}/heartbeat', direct), await overSockets('/v1/agents/ws', direct)];
  if (nginx) {
    const proxied = { url: nginx.url, fleet: await registerFleet(rollcall, AGENTS, AGENTS) };
    contestants.push(
      overHttp('POST … through nginx', proxied),
      await overSockets('/v1/agents/ws through nginx', proxied),
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
