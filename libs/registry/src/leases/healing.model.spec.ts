import * as fc from 'fast-check';
import { leaseTtlMs, suspectAfterMs, DEFAULT_LEASE_POLICY } from './lease.policy.js';
import { normalProtection, DEFAULT_PROTECTION_POLICY, type SweepFacts, type SweepPolicy } from './protection.state.js';
import { decideProtection } from './self-preservation.js';

const LEASE_MS = leaseTtlMs(DEFAULT_LEASE_POLICY);
const SUSPECT_MS = suspectAfterMs(DEFAULT_LEASE_POLICY);
const STEP_MS = 1_000;
const POLICY: SweepPolicy = { ...DEFAULT_PROTECTION_POLICY, leaseMs: LEASE_MS };

interface Agent {
  name: number;
  /** The time from the end of a fault to the next heartbeat. It also determines when the agent sends its heartbeat in each interval. */
  delayMs: number;
  isDead: boolean;
  lastBeatAt: number;
  forgivenMs: number;
  suspect: boolean;
}

interface Fault {
  cutMs: number;
  calmMs: number;
  /** At the beginning of the fault, no sweep runs and no agent can send a heartbeat for this time. */
  frozenMs: number;
}

/** The leases of a fleet as the store keeps them, but in memory and with a clock that the test advances. */
class Fleet {
  now = 0;
  readonly evicted: Agent[] = [];
  private agents: Agent[];
  private state = normalProtection(0);
  private forgivenMs = 0;
  private forgivenUntil = 0;

  constructor(
    delays: readonly number[],
    private readonly policy: SweepPolicy = POLICY,
  ) {
    this.agents = delays.map((delayMs, name) => {
      return { name, delayMs, isDead: false, lastBeatAt: 0, forgivenMs: 0, suspect: false };
    });
  }

  kill(count: number): void {
    for (const agent of this.agents.slice(0, count)) agent.isDead = true;
  }

  get dead(): number {
    return this.agents.filter(({ isDead }) => isDead).length;
  }

  run(ms: number, isCut: (agent: Agent) => boolean): void {
    for (const end = this.now + ms; this.now < end;) {
      this.now += STEP_MS;
      for (const agent of this.agents) if (!agent.isDead && !isCut(agent) && this.isDue(agent)) this.beat(agent);
      if (this.now % this.policy.sweepEveryMs === 0) this.sweep();
    }
  }

  freeze(ms: number): void {
    this.now += Math.floor(ms / 1_000) * 1_000;
  }

  private isDue({ delayMs, lastBeatAt }: Agent): boolean {
    const { intervalMs } = DEFAULT_LEASE_POLICY;
    return this.now % intervalMs === delayMs % intervalMs || this.now - lastBeatAt >= intervalMs;
  }

  private beat(agent: Agent): void {
    agent.lastBeatAt = this.now;
    agent.forgivenMs = this.forgivenMs;
  }

  private sinceBeat({ lastBeatAt }: Agent): number {
    return this.now - lastBeatAt;
  }

  private silence(agent: Agent): number {
    const sinceBeatForgiven = Math.max(0, this.forgivenUntil - agent.lastBeatAt);
    return this.sinceBeat(agent) - Math.min(this.forgivenMs - agent.forgivenMs, sinceBeatForgiven);
  }

  private facts(): SweepFacts {
    const silences = this.agents.map((agent) => this.silence(agent));
    const isSuspect = (agent: Agent): boolean =>
      this.silence(agent) < LEASE_MS &&
      (this.silence(agent) >= SUSPECT_MS || (agent.suspect && this.sinceBeat(agent) >= SUSPECT_MS));
    return {
      fleet: this.agents.length,
      suspect: this.agents.filter(isSuspect).length,
      expired: silences.filter((silence) => silence >= LEASE_MS).length,
      beatingAgain: this.agents.filter((agent) => agent.suspect && this.sinceBeat(agent) < SUSPECT_MS).length,
      longestSilentMs: Math.max(0, ...silences),
      override: 'auto',
    };
  }

  private sweep(): void {
    const { state, mayEvict, gap } = decideProtection(this.state, this.facts(), this.now, this.policy);
    this.state = state;
    if (gap) {
      this.forgivenMs += gap.to - gap.from;
      this.forgivenUntil = gap.to;
    }
    for (const agent of this.agents) {
      if (this.sinceBeat(agent) < SUSPECT_MS) agent.suspect = false;
      else if (this.silence(agent) >= SUSPECT_MS) agent.suspect = true;
    }
    const expired = this.agents.filter((agent) => this.silence(agent) >= LEASE_MS);
    const evicted = expired.toSorted((one, other) => one.lastBeatAt - other.lastBeatAt).slice(0, mayEvict);
    this.evicted.push(...evicted);
    this.agents = this.agents.filter((agent) => !evicted.includes(agent));
  }
}

const steps = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min: min / STEP_MS, max: max / STEP_MS }).map((count) => count * STEP_MS);

/** Cuts off four of five agents. They come back one after the other, each after its own delay. */
function applyFault(fleet: Fleet, { cutMs, calmMs, frozenMs }: Fault): void {
  const isCut = ({ name }: Agent): boolean => name % 5 !== 0;
  fleet.freeze(frozenMs);
  fleet.run(cutMs, isCut);
  const healedAt = fleet.now;
  fleet.run(calmMs, (agent) => isCut(agent) && fleet.now < healedAt + agent.delayMs);
}

describe('a fleet with faults that heal', () => {
  const delays = (longest: number): fc.Arbitrary<number[]> =>
    fc.array(steps(0, longest), { minLength: 10, maxLength: 40 });

  it('D1 a fault that heals evicts no agent that sends a heartbeat within one lease after the fault', () => {
    const fault = fc.record({
      cutMs: steps(LEASE_MS, 100_000),
      calmMs: steps(LEASE_MS + 15_000, 100_000),
      frozenMs: fc.oneof(fc.constant(0), steps(4_000, 60_000)),
    });
    fc.assert(
      fc.property(delays(LEASE_MS - 2_000), fc.array(fault, { minLength: 1, maxLength: 3 }), (all, faults) => {
        const fleet = new Fleet(all);
        fleet.run(20_000, () => false);
        for (const one of faults) applyFault(fleet, one);
        fleet.run(120_000, () => false);
        expect(fleet.evicted.map(({ name }) => name)).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it('D1 every dead agent is evicted in bounded time, however often protection starts and ends', () => {
    const policy = { ...POLICY, longestMs: 120_000 };
    const longestThrottledMs = 40_000 + 2 * LEASE_MS; // for 40 evictions, one a second, and a pause while agents come back
    const bound = policy.longestMs + 2 * LEASE_MS + 2 * (longestThrottledMs + LEASE_MS);
    const frozenMs = fc.constant(0);
    const flap = fc.record({ cutMs: steps(25_000, 60_000), calmMs: steps(9_000, 18_000), frozenMs });
    const fault = fc.record({ cutMs: steps(1_000, 90_000), calmMs: steps(1_000, 90_000), frozenMs });
    const faults = fc.oneof(...[flap, fault].map((one) => fc.array(one, { minLength: 1, maxLength: 4 })));
    fc.assert(
      fc.property(delays(9_000), faults, fc.integer({ min: 1, max: 9 }), (all, repeated, dead) => {
        const fleet = new Fleet(all, policy);
        fleet.run(20_000, () => false);
        for (const one of repeated) applyFault(fleet, one);
        fleet.kill(dead);
        for (const diedAt = fleet.now; fleet.now < diedAt + bound;) for (const one of repeated) applyFault(fleet, one);
        expect(fleet.dead).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});
