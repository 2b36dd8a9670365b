/**
 * The long form of libs/registry/src/leases/frozen-postgres.db.spec.ts: a real process, a fleet that sends heartbeats over HTTP,
 * and a Postgres that is frozen for some seconds (default 30). No agent may be evicted.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { FreezablePostgres } from '#rollcall/platform/testing';
import { type BenchAgent, registerFleet } from './support/fleet.js';
import { startRollcall, type Server } from './support/servers.js';

const FLEET = 200;
const HEARTBEAT_MS = 2_000;

async function call<Body>({ url, headers }: Server, method: string, path: string, body?: unknown): Promise<Body> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(url + path, { method, headers: { ...headers, ...json }, body: JSON.stringify(body) });
  return { status: response.status, ...((await response.json()) as object) } as Body;
}

async function beatFor(
  server: Server,
  agent: BenchAgent,
  counts: Record<number, number>,
  over: AbortSignal,
): Promise<void> {
  const path = `/v1/agents/${agent.agentId}/heartbeat`;
  const asAgent = { ...server, headers: { authorization: `Bearer ${agent.leaseToken}` } };
  while (!over.aborted) {
    const { status } = await call<{ status: number }>(asAgent, 'POST', path, { generation: 1 });
    counts[status] = (counts[status] ?? 0) + 1;
    await delay(HEARTBEAT_MS * (0.8 + Math.random() / 5), undefined, { signal: over }).catch(() => undefined);
  }
}

const seconds = Number(process.argv[2] ?? 30);
const postgres = await FreezablePostgres.start();
const server = await startRollcall(
  { DATABASE_URL: postgres.url, ROLLCALL_HEARTBEAT_EVERY: `${HEARTBEAT_MS}ms` },
  { constants: { protection: { threshold: 1 } } }, // no self-preservation, which would also prevent evictions
);
const over = new AbortController();
const counts: Record<number, number> = {};
try {
  const agents = await registerFleet(server, FLEET);
  const beats = agents.map(async (agent) => await beatFor(server, agent, counts, over.signal));
  await delay(3 * HEARTBEAT_MS);
  console.log(`freezing Postgres for ${seconds} s, with ${FLEET} agents that beat every ${HEARTBEAT_MS} ms`);
  postgres.freeze();
  await delay(seconds * 1_000);
  postgres.thaw();
  await delay(10 * HEARTBEAT_MS);
  over.abort();
  await Promise.all(beats);
  const { items } = await call<{ items: unknown[] }>(server, 'GET', '/v1/events?after=0&types=agent.left');
  const { explanation } = await call<{ explanation: object }>(server, 'GET', '/v1/registry/protection');
  console.log(JSON.stringify({ beats: counts, evicted: items.length, explanation }));
  if (items.length > 0) process.exitCode = 1;
} finally {
  over.abort();
  await server.stop();
  await postgres.stop();
}
