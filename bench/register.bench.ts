import { compare, print, type Contestant, type Score } from './support/compare.js';
import { Etcd, grant, HAS_ETCD, NO_ETCD, put } from './support/etcd.js';
import { type BenchAgent, registerFleet } from './support/fleet.js';
import type { LoadRequest } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { LONG_TIMEOUTS, startRollcall } from './support/servers.js';
import { requireAtLeast, requireRatio } from './support/target.js';
import { startNginx, throughNginx } from './support/through-nginx.js';

/**
 * Compares the registrations and updates of 32 callers, each durable and with its event, to lease grants and puts of etcd over
 * HTTP. Then measures registrations in batches.
 */
const CALLERS = 32;
const AGENTS_PER_CALLER = 8;
const TIMES_ETCD = 0.8;
const BATCH = 1_000;
const BATCH_CALLERS = 2;
/** Longer than the other rounds, because one batch takes almost a second. */
const BATCH_ROUND_S = 5;
const BATCHED_PER_SECOND = 5_000;

const REGISTRATION = { name: 'worker', capabilities: ['build', 'code.review'], capacity: 8, labels: { zone: 'eu' } };

const postgres = await startPostgres();
const rollcall = await startRollcall({ DATABASE_URL: postgres.url, ...LONG_TIMEOUTS });
const nginx = await startNginx(rollcall.url);
const etcd = HAS_ETCD ? await Etcd.start() : undefined;
const headers = { ...rollcall.headers, 'content-type': 'application/json' };

/** Without an agentId every registration creates a new agent. */
function registrations(): Contestant {
  const request = { path: '/v1/agents', headers, body: JSON.stringify(REGISTRATION) };
  return { name: 'Rollcall, registrations', load: { url: rollcall.url, requestsOf: () => [request] } };
}

/** Every update changes a label; an update that changes nothing would not be written. */
function updates(fleet: readonly BenchAgent[]): Contestant {
  let count = 0;
  const requestsOf = (caller: number) => (): LoadRequest => {
    count += 1;
    const agent = fleet[caller * AGENTS_PER_CALLER + (count % AGENTS_PER_CALLER)];
    if (!agent) throw new Error('there are too few agents');
    const authorization = `Bearer ${agent.leaseToken}`;
    const body = JSON.stringify({ generation: 1, labels: { change: String(count) } });
    return { method: 'PATCH', path: `/v1/agents/${agent.agentId}`, headers: { ...headers, authorization }, body };
  };
  return { name: 'Rollcall, updates', load: { url: rollcall.url, requestsOf } };
}

/** Two requests for each registration: grant a lease, and store the document of the agent with it. */
function grantsAndPuts(url: string): Contestant {
  const document = JSON.stringify(REGISTRATION);
  let lease = 0;
  const requestsOf = (): (() => LoadRequest) => {
    let granted = 0;
    return () => {
      const current = granted;
      granted = current === 0 ? (lease += 1) : 0;
      return current === 0 ? grant(granted) : put(current, document);
    };
  };
  return { name: 'etcd, lease grant + put', load: { url, requestsOf }, operations: 0.5 };
}

async function measureSingle(fleet: readonly BenchAgent[]): Promise<void> {
  const ours = [registrations(), updates(fleet)];
  const peer = etcd ? [grantsAndPuts(etcd.url)] : [];
  const all = [...peer, ...ours, ...ours.flatMap((one) => throughNginx(one, nginx))];
  const scores = await compare(all, CALLERS);
  print(`registrations and updates, ${CALLERS} callers`, scores);
  if (!etcd) return console.log(`  ${NO_ETCD}`);
  const of = (contestant: Contestant): Score | undefined => scores.find(({ name }) => name === contestant.name);
  for (const one of ours) requireRatio(TIMES_ETCD, of(one), scores[0]);
}

function batches(size: number): LoadRequest {
  const body = JSON.stringify({ agents: Array.from({ length: size }, () => REGISTRATION) });
  return { path: '/v1/agents/batch', headers, body };
}

async function measureBatches(): Promise<void> {
  const { path, body } = batches(1);
  const { status } = await fetch(rollcall.url + path, { method: 'POST', headers, body });
  if (status === 404 || status === 405) {
    return console.log(`\nPOST /v1/agents/batch answers ${status}: this version has no batch route, skipped`);
  }
  const load = { url: rollcall.url, requestsOf: () => [batches(BATCH)] };
  const ours = { name: 'POST /v1/agents/batch', load, operations: BATCH };
  const scores = await compare([ours, ...throughNginx(ours, nginx)], BATCH_CALLERS, { seconds: BATCH_ROUND_S });
  print(`registrations in batches of ${BATCH}, ${BATCH_CALLERS} callers`, scores);
  requireAtLeast(BATCHED_PER_SECOND, scores[0]?.perSecond ?? 0, 'registrations per second');
}

try {
  await measureSingle(await registerFleet(rollcall, CALLERS * AGENTS_PER_CALLER));
  await measureBatches();
} finally {
  await nginx?.stop();
  await Promise.all([rollcall.stop(), etcd?.stop()]);
  await postgres.stop();
}
