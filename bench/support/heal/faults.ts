import { setTimeout as delay } from 'node:timers/promises';
import type { CuttableProxy } from '#rollcall/platform/testing';
import { randomFrom, shuffled } from '../random.js';
import type { Replica, Deployment } from './deployment.js';

export interface Fault {
  kind: string;
  start(): void;
  heal(): void;
}

/** When a fault was active, in milliseconds since 1970. */
export interface FaultWindow {
  kind: string;
  from: number;
  to: number;
}

const MIN_FAULT_MS = 1_000;
/** The maximum duration of a fault, in lease times. A fault can last longer than a lease. */
const MAX_FAULT = 1.5;
/** The pause between two faults, in lease times. Agents have at least one lease time to recover. */
const MIN_PAUSE = 1;
const MAX_PAUSE = 1.75;

/** All kinds of faults. Faults of a replica exist for both replicas. */
function allFaults({ proxy, postgres, replicas }: Deployment): Fault[] {
  const databases = replicas.map(({ database }) => database);
  return [
    ...proxyFaults('proxy', proxy),
    ...replicas.flatMap(({ database }, index) => proxyFaults(`postgres-of-replica-${index + 1}`, database)),
    ...replicas.map((replica, index) => frozenReplica(`replica-${index + 1}`, replica)),
    { kind: 'postgres-frozen', start: () => postgres.freeze(), heal: () => postgres.thaw() },
    unreachable('postgres-crashed', databases, () => postgres.crash()),
    unreachable('postgres-restarted', databases, () => postgres.restart()),
  ];
}

function proxyFaults(what: string, proxy: CuttableProxy): Fault[] {
  return [
    { kind: `${what}-cut`, start: () => proxy.cut(), heal: () => proxy.heal() },
    { kind: `${what}-stalled`, start: () => proxy.stall(), heal: () => proxy.heal() },
  ];
}

function frozenReplica(what: string, { pid }: Replica): Fault {
  return {
    kind: `${what}-frozen`,
    start: () => process.kill(pid, 'SIGSTOP'),
    heal: () => process.kill(pid, 'SIGCONT'),
  };
}

/** The server restarts within a second, but stays unreachable until the fault is healed. */
function unreachable(kind: string, databases: CuttableProxy[], strike: () => void): Fault {
  const start = (): void => {
    strike();
    for (const proxy of databases) proxy.cut();
  };
  const heal = (): void => {
    for (const proxy of databases) proxy.heal();
  };
  return { kind, start, heal };
}

/** Causes one fault after another until the time is over. No kind occurs twice before all kinds have occurred. */
export async function* faultStorm(
  deployment: Deployment,
  seed: number,
  durationMs: number,
): AsyncGenerator<FaultWindow> {
  const random = randomFrom(seed);
  const between = (min: number, max: number): number => min + random() * (max - min);
  const ends = performance.now() + durationMs;
  const faults = allFaults(deployment);
  for (let bag: Fault[] = []; performance.now() < ends;) {
    if (bag.length === 0) bag = shuffled(faults, random);
    const fault = bag.pop() as Fault;
    await delay(between(MIN_PAUSE, MAX_PAUSE) * deployment.leaseMs);
    yield await cause(fault, between(MIN_FAULT_MS, MAX_FAULT * deployment.leaseMs));
  }
}

async function cause(fault: Fault, ms: number): Promise<FaultWindow> {
  const from = Date.now();
  fault.start();
  try {
    await delay(ms);
  } finally {
    fault.heal();
  }
  return { kind: fault.kind, from, to: Date.now() };
}
