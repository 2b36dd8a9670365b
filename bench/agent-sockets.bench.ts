import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BeatingOrder } from './support/beating-agents.js';
import { median } from './support/compare.js';
import { load, type LoadRequest } from './support/load.js';
import { beat, registerFleet } from './support/fleet.js';
import { startPostgres } from './support/postgres.js';
import { startRollcall } from './support/servers.js';

/** Durable beats a second over the agents' own sockets, beside the HTTP route with as many connections, in turns. */
const AGENTS = 256;
const ROUNDS = 7;
const ROUND_S = 2;

async function overSockets(agents: ChildProcess, seconds: number): Promise<number> {
  agents.send('start');
  await delay(seconds * 1_000);
  const stopped = once(agents, 'message');
  agents.send('stop');
  const [beats] = (await stopped) as [number];
  return beats / seconds;
}

const postgres = await startPostgres();
const rollcall = await startRollcall({ DATABASE_URL: postgres.url, ROLLCALL_HEARTBEAT_EVERY: '10m' });
const agents = fork(fileURLToPath(new URL('./support/beating-agents.js', import.meta.url)));
try {
  const fleet = await registerFleet(rollcall, AGENTS);
  const overHttp = async (seconds: number): Promise<number> => {
    const requestsOf = (connection: number): LoadRequest[] => [
      beat(fleet[connection] ?? { agentId: '', leaseToken: '' }),
    ];
    return (await load({ url: rollcall.url, requestsOf }, AGENTS, seconds)).perSecond;
  };
  const ready = once(agents, 'message');
  agents.send({ url: rollcall.url, fleet } satisfies BeatingOrder);
  await ready;
  await overHttp(1);
  await overSockets(agents, 1);
  const rounds: { http: number; sockets: number }[] = [];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({ http: await overHttp(ROUND_S), sockets: await overSockets(agents, ROUND_S) });
  const [http, sockets] = [median(rounds.map((round) => round.http)), median(rounds.map((round) => round.sockets))];
  const ratio = median(rounds.map((round) => round.sockets / round.http));
  console.log(`\ndurable beats a second, ${AGENTS} agents`);
  console.log(`  POST /v1/agents/{id}/heartbeat ${Math.round(http).toString().padStart(9)}`);
  console.log(`  /v1/agents/ws                  ${Math.round(sockets).toString().padStart(9)}  ${ratio.toFixed(2)}×`);
} finally {
  agents.kill();
  await rollcall.stop();
  await postgres.stop();
}
