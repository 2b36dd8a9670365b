import type { Heartbeat } from './heartbeat.js';
import { leaseTtlMs, DEFAULT_LEASE_POLICY } from './lease.policy.js';
import { TwoReplicas } from '../testing/two-replicas.js';

const FLEET = 300;
const CUT_OFF = 180;
const STEP_MS = 500;

let replicas: TwoReplicas;
let fleet: Heartbeat[];
/** Milliseconds that have passed in the test. */
let clock: number;
let evicted: string[];
let modes: Set<string | undefined>;

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  clock = 0;
  evicted = [];
  modes = new Set();
});
afterEach(async () => await replicas.stop());

async function joinAll(count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `agent-${String(index).padStart(3, '0')}`);
  fleet = [];
  for (const agentId of ids) fleet.push((await replicas.given.agent({ agentId })).claim);
}

/** Runs the registry for this long: one sweep a second, and a beat of each of these agents every ten seconds. */
async function run(ms: number, beats: (agent: number) => boolean): Promise<void> {
  for (const end = clock + ms; clock < end; clock += STEP_MS) {
    await replicas.elapse(STEP_MS);
    const due = fleet.filter((_, agent) => isDue(agent) && beats(agent));
    if (due.length > 0) await replicas.here.heartbeats.beatAll(due);
    if (clock % 1_000 === 0) evicted.push(...(await replicas.here.sweeper.sweep()).evicted);
    modes.add((await replicas.here.protection.read()).explanation?.state);
  }
}

/** Beats are spread evenly over the interval of ten seconds. */
function isDue(agent: number): boolean {
  return clock % DEFAULT_LEASE_POLICY.intervalMs === (agent % 20) * STEP_MS;
}

const everybody = (): boolean => true;
const notCutOff = (agent: number): boolean => agent >= CUT_OFF;

describe('a fault that heals', () => {
  it('D1 B10 evicts none of the 180 of 300 agents that were cut off for 45 s and come back within 9.5 s', async () => {
    await joinAll(FLEET);
    await run(10_000, everybody);
    await run(45_000, notCutOff);
    expect(modes).toEqual(new Set(['normal', 'protecting']));
    await run(45_000, everybody);
    expect(evicted).toEqual([]);
    expect((await replicas.here.protection.read()).explanation).toMatchObject({ state: 'normal', reason: 'healthy' });
  });

  it('D1 B10 gives agents that do not come back one lease from then on, and leaves them suspect meanwhile', async () => {
    await joinAll(20);
    const gone = (agent: number): boolean => agent >= 2;
    await run(10_000, everybody);
    await run(45_000, (agent) => agent >= 8);
    await run(11_000, gone);
    expect((await replicas.here.protection.read()).explanation?.state).toBe('normal');
    expect((await replicas.here.agents.get('agent-000')).status).toBe('suspect');
    await run(leaseTtlMs(DEFAULT_LEASE_POLICY) - 12_000, gone);
    expect(evicted).toEqual([]);
    await run(15_000, gone);
    expect(evicted.toSorted()).toEqual(['agent-000', 'agent-001']);
    expect(await replicas.loggedEvents('agent.recovered')).toHaveLength(6);
  });

  it('D1 B10 gives agents a full lease when an operator ends the protection', async () => {
    await joinAll(4);
    const gone = (agent: number): boolean => agent >= 1;
    await run(10_000, everybody);
    await replicas.here.protection.override('protect');
    await run(60_000, gone);
    await replicas.here.protection.override('auto');
    await run(leaseTtlMs(DEFAULT_LEASE_POLICY) - 2_000, gone);
    expect(evicted).toEqual([]);
    await run(5_000, gone);
    expect(evicted).toEqual(['agent-000']);
  });
});
