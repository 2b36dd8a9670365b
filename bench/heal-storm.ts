/**
 * Runs the documented agents and consumers (examples/) on two replicas while random faults begin and heal. No agent may be evicted
 * while no fault is active, and no client may end by itself. At the end, every agent must be routable on both replicas, and every
 * consumer must have received exactly the log.
 * `node heal-storm.js <seconds> <seed> <agents> <consumers> <heartbeat interval in ms>`
 */
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '#rollcall/test-support';
import { Clients } from './support/heal/clients.js';
import { type FaultWindow, faultStorm } from './support/heal/faults.js';
import { evictionsIn, keepChanging, type LoggedEvent, readLog, routable } from './support/heal/observer.js';
import { type Replica, Deployment } from './support/heal/deployment.js';

const given = process.argv.slice(2).map(Number);
const [seconds = 600, seed = Date.now() % 1_000_000, agents = 300, consumers = 20, intervalMs = 4_000] = given;
const PROGRESS_EVERY_MS = 5_000;
const SETTLE_MS = 120_000;

const started = performance.now();
const print = (text: string): void =>
  console.log(`${String(Math.round((performance.now() - started) / 1_000))} s  ${text}`);

async function everyoneRoutable(replicas: readonly Replica[]): Promise<boolean> {
  const counts = await Promise.all(replicas.map(async (replica) => await routable(replica, agents)));
  return counts.every((count) => count === agents);
}

async function progress(clients: Clients, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await delay(PROGRESS_EVERY_MS, undefined, { signal: over }).catch(() => undefined);
    const { registrations, refusals, received, stopped } = await clients.status();
    const least = Math.min(...received);
    print(
      `${registrations} registrations, ${refusals} refusals, ${least} events at every consumer, ${stopped.length} ended`,
    );
  }
}

async function storm(deployment: Deployment): Promise<FaultWindow[]> {
  const windows: FaultWindow[] = [];
  for await (const window of faultStorm(deployment, seed, seconds * 1_000)) {
    print(`${window.kind} for ${window.to - window.from} ms, healed`);
    windows.push(window);
  }
  await delay(deployment.leaseMs); // no agent may be evicted in this time
  return windows;
}

/** Repeats the comparison until every consumer has received this log, or until a timeout. */
async function compare(clients: Clients, log: readonly LoggedEvent[]): Promise<string[]> {
  const ids = log.map(({ id }) => id);
  let differences: string[] = [];
  const equal = async (): Promise<boolean> => {
    differences = (await clients.compare(ids)).filter((difference) => difference !== null);
    return differences.length === 0;
  };
  await until('every consumer has the log', equal, SETTLE_MS).catch(() => undefined); // the caller reports the differences
  return differences;
}

async function run(deployment: Deployment, clients: Clients): Promise<boolean> {
  const over = new AbortController();
  const [first] = deployment.replicas as [Replica];
  await until('the fleet has joined', async () => await everyoneRoutable(deployment.replicas), SETTLE_MS);
  print(`${agents} agents and ${consumers} consumers, seed ${seed}`);
  const writing = keepChanging(deployment.url, first, agents, over.signal);
  const reporting = progress(clients, over.signal);
  const windows = await storm(deployment);
  const back = until('everyone is routable', async () => await everyoneRoutable(deployment.replicas), SETTLE_MS);
  const notRoutable = await back.then(() => 0).catch(async () => agents - (await routable(first, agents)));
  over.abort();
  await Promise.all([writing, reporting]);
  const log = await readLog(first);
  const differences = await compare(clients, log);
  const evictions = evictionsIn(log, windows);
  const healed = evictions.get('healed') ?? [];
  const { stopped, registrations } = await clients.status();
  const summary = {
    seed,
    seconds,
    agents,
    consumers,
    evictedAfterHealing: healed.length,
    consumersThatDiffer: differences.length,
    clientsThatEnded: stopped.length,
    notRoutable,
    evictedDuringFaults: Object.fromEntries([...evictions].filter(([kind]) => kind !== 'healed').map(countOf)),
    registrations,
    events: log.length,
    faults: Object.fromEntries([...Map.groupBy(windows, ({ kind }) => kind)].map(countOf)),
  };
  for (const { subject, time } of healed) print(`evicted after healing: ${subject} at ${time}`);
  for (const trouble of [...differences, ...stopped].slice(0, 20)) print(trouble);
  console.log(JSON.stringify(summary));
  return healed.length + differences.length + stopped.length + notRoutable === 0;
}

function countOf([kind, list]: [string, unknown[]]): [string, number] {
  return [kind, list.length];
}

const deployment = await Deployment.start(intervalMs);
const clients = new Clients(deployment.url, deployment.key, { agents, consumers });
try {
  if (!(await run(deployment, clients))) process.exitCode = 1;
} finally {
  await clients.stop();
  await deployment.stop();
}
