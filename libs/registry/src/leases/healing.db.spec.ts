import { TwoReplicas } from '../testing/two-replicas.js';
import { DEFAULT_LEASE_POLICY, leaseTtlMs } from './lease.policy.js';
import type { Heartbeat } from './lease.store.js';

const FLEET = 300;
const CUT_OFF = 180;
const STEP_MS = 500;

let replicas: TwoReplicas;
let fleet: Heartbeat[];
/** The simulated time since the start of the test, in milliseconds. */
let clock: number;
/** When the agents were registered, and how much time the test has skipped since. */
let startedAt: number;
let skippedMs: number;
let evicted: string[];
let modes: Set<string | undefined>;

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  clock = 0;
  evicted = [];
  modes = new Set();
});
afterEach(async () => await replicas.stop());

async function registerAll(count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `agent-${String(index).padStart(3, '0')}`);
  fleet = [];
  for (const agentId of ids) fleet.push((await replicas.given.agent({ agentId })).credential);
  startedAt = performance.now();
  skippedMs = 0;
}

/**
 * Advances the time of the database by one step. Real time that has passed counts as part of the step, so that a slow
 * machine does not prolong the silence.
 */
async function step(): Promise<void> {
  const missingMs = clock + STEP_MS - skippedMs - (performance.now() - startedAt);
  if (missingMs <= 0) return;
  await replicas.elapse(missingMs);
  skippedMs += missingMs;
}

/** Runs the registry for this time: one sweep a second, and a heartbeat of each of these agents every ten seconds. */
async function run(ms: number, beats: (agent: number) => boolean): Promise<void> {
  for (const end = clock + ms; clock < end; clock += STEP_MS) {
    await step();
    const due = fleet.filter((_, agent) => isDue(agent) && beats(agent));
    if (due.length > 0) await replicas.here.heartbeats.beatAll(due);
    if (clock % 1_000 === 0) evicted.push(...(await replicas.here.sweeper.sweep()).evicted);
    modes.add((await replicas.here.protection.read()).explanation?.state);
  }
}

/** The heartbeats are spread evenly over the interval of ten seconds. */
function isDue(agent: number): boolean {
  return clock % DEFAULT_LEASE_POLICY.intervalMs === (agent % 20) * STEP_MS;
}

const allAgents = (): boolean => true;
const notCutOff = (agent: number): boolean => agent >= CUT_OFF;

describe('a fault that heals', () => {
  it('D1 B10 no agent is evicted if 180 of 300 agents are cut off for 45 s and come back within 9.5 s', async () => {
    await registerAll(FLEET);
    await run(10_000, allAgents);
    await run(45_000, notCutOff);
    expect(modes).toEqual(new Set(['normal', 'protecting']));
    await run(45_000, allAgents);
    expect(evicted).toEqual([]);
    expect((await replicas.here.protection.read()).explanation).toMatchObject({ state: 'normal', reason: 'healthy' });
  });

  it('D1 B10 agents that do not come back get one more lease, in which they are suspect', async () => {
    await registerAll(20);
    const beating = (agent: number): boolean => agent >= 2;
    await run(10_000, allAgents);
    await run(45_000, (agent) => agent >= 8);
    await run(11_000, beating);
    expect((await replicas.here.protection.read()).explanation?.state).toBe('normal');
    expect((await replicas.here.agents.get('agent-000')).status).toBe('suspect');
    await run(leaseTtlMs(DEFAULT_LEASE_POLICY) - 12_000, beating);
    expect(evicted).toEqual([]);
    await run(15_000, beating);
    expect(evicted.toSorted()).toEqual(['agent-000', 'agent-001']);
    expect(await replicas.loggedEvents('agent.recovered')).toHaveLength(6);
  });

  it('D1 B10 agents get a full lease when an operator ends the protection', async () => {
    await registerAll(4);
    const beating = (agent: number): boolean => agent >= 1;
    await run(10_000, allAgents);
    await replicas.here.protection.override('protect');
    await run(60_000, beating);
    await replicas.here.protection.override('auto');
    await run(leaseTtlMs(DEFAULT_LEASE_POLICY) - 2_000, beating);
    expect(evicted).toEqual([]);
    await run(5_000, beating);
    expect(evicted).toEqual(['agent-000']);
  });
});
