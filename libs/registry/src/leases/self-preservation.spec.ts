import * as fc from 'fast-check';
import { decideProtection, type ProtectionDecision } from './self-preservation.js';
import {
  normalProtection,
  DEFAULT_PROTECTION_POLICY,
  type ProtectionState,
  type SweepFacts,
} from './protection.state.js';

const POLICY = { ...DEFAULT_PROTECTION_POLICY, longestMs: 60_000, evictionsPerMinute: 60, leaseMs: 31_000 };
const HEALTHY: SweepFacts = {
  fleet: 100,
  suspect: 0,
  expired: 0,
  beatingAgain: 0,
  longestSilentMs: 0,
  override: 'auto',
};

/** Runs one sweep a second with these facts, and returns the last decision. */
function sweep(all: Partial<SweepFacts>[], from: ProtectionState = normalProtection(0), start = 0): ProtectionDecision {
  let state = from;
  let now = start;
  let last: ProtectionDecision | undefined;
  for (const facts of all) {
    now += 1_000;
    last = decideProtection(state, { ...HEALTHY, ...facts }, now, POLICY);
    state = last.state;
  }
  if (!last) throw new Error('Pass the facts of at least one sweep.');
  return last;
}

const times = (count: number, facts: Partial<SweepFacts>): Partial<SweepFacts>[] => Array(count).fill(facts);

describe('self-preservation', () => {
  it('B5 allows the eviction of expired agents while few agents are silent', () => {
    expect(sweep([{ expired: 10, suspect: 5 }])).toMatchObject({ mayEvict: 10, explanation: { reason: 'few_silent' } });
    expect(sweep([{}]).explanation).toMatchObject({ state: 'normal', reason: 'healthy' });
  });

  it('B5 allows no eviction while more than 15 % of the fleet is silent', () => {
    const { mayEvict, explanation } = sweep([{ expired: 16 }]);
    expect(mayEvict).toBe(0);
    expect(explanation).toMatchObject({ state: 'protecting', since: 1_000, until: 61_000, reason: 'mass_silence' });
    expect(explanation.text).toBe(
      '16 of 100 agents are silent (16 %), more than 15 %: the cause may be the registry or the network, so no agent is evicted for now.',
    );
    expect(explanation.numbers).toEqual({
      fleet: 100,
      suspect: 0,
      expired: 16,
      silentShare: 0.16,
      threshold: 0.15,
      mayEvict: 0,
    });
  });

  it('B5 counts suspects, so that the first expired agent of a mass silence is not evicted', () => {
    expect(sweep([{ expired: 1, suspect: 59 }])).toMatchObject({ mayEvict: 0, state: { mode: 'protecting' } });
    expect(sweep([{ expired: 0, suspect: 60 }])).toMatchObject({ mayEvict: 0, state: { mode: 'protecting' } });
  });

  it('B5 allows the eviction of up to two silent agents in the smallest fleets', () => {
    expect(sweep([{ fleet: 4, expired: 2 }]).mayEvict).toBe(2);
    expect(sweep([{ fleet: 4, expired: 3 }]).mayEvict).toBe(0);
  });

  it('D1 forgives the silence of the last agents that come back after an outage, even if most agents were only suspect', () => {
    const left = sweep([...times(3, { suspect: 60 }), { expired: 3, longestSilentMs: 7_000 }]);
    expect(left).toMatchObject({ mayEvict: 0, gap: { from: -3_000, to: 4_000 }, explanation: { reason: 'healed' } });
  });

  it('D1 ends protection as soon as the fleet sends heartbeats again, and forgives all silence until then', () => {
    const left = sweep([...times(5, { expired: 60 }), { expired: 2, longestSilentMs: 36_000 }]);
    expect(left.state).toMatchObject({ mode: 'normal', since: 6_000, until: null });
    expect(left).toMatchObject({ mayEvict: 0, gap: { from: -30_000, to: 6_000 }, explanation: { reason: 'healed' } });
    expect(sweep([{ expired: 2 }], left.state, 6_000)).toMatchObject({ mayEvict: 2, gap: null });
  });

  it('D1 evicts no agent for one lease when agents come back after the time box, and then continues to evict', () => {
    const throttled = sweep(times(62, { expired: 60 })).state;
    const healing = sweep([{ expired: 59, beatingAgain: 1 }], throttled, 62_000);
    expect(healing).toMatchObject({ mayEvict: 0, explanation: { state: 'throttled', reason: 'healing' } });
    const held = sweep(times(30, { expired: 50, beatingAgain: 1 }), healing.state, 63_000);
    expect(held.mayEvict).toBe(0);
    expect(sweep(times(3, { expired: 50, beatingAgain: 1 }), held.state, 93_000).mayEvict).toBe(1);
  });

  it('D1 protection that starts and ends repeatedly has one time box', () => {
    const flapping = Array.from({ length: 7 }, () => [
      ...times(5, { expired: 20 }),
      ...times(5, { expired: 0 }),
    ]).flat();
    const after = sweep([...flapping, { expired: 20 }]);
    expect(after.state.mode).toBe('throttled');
    const forgiven = sweep([{ expired: 2, longestSilentMs: 60_000 }], after.state, 71_000);
    expect(forgiven.explanation.reason).toBe('few_silent'); // the end of protection at 66 s has used the only forgiveness after the time box
    expect(forgiven.mayEvict).toBe(2);
  });

  it('D1 starts a new time box after two leases without protection', () => {
    const calm = sweep([...times(5, { expired: 20 }), ...times(62, {})]);
    expect(sweep([{ expired: 20 }], calm.state, 67_000).state).toMatchObject({ mode: 'protecting', until: 128_000 });
  });

  it('D1 does not count time without sweeps towards the time box', () => {
    const protecting = sweep(times(5, { expired: 60 })).state;
    const late = decideProtection(protecting, { ...HEALTHY, expired: 60 }, 106_000, POLICY);
    expect(late.state).toMatchObject({ mode: 'protecting', until: 161_000 });
  });

  it('B5 evicts at a limited rate after the time box', () => {
    const { state, mayEvict, explanation } = sweep(times(62, { expired: 60 }));
    expect(state.mode).toBe('throttled');
    expect(mayEvict).toBe(1);
    expect(explanation.reason).toBe('time_box_over');
  });

  it('B5 does not accumulate evictions for a burst', () => {
    const throttled = sweep(times(62, { expired: 60 })).state;
    const waited = sweep(times(30, { suspect: 60 }), throttled, 62_000).state;
    expect(sweep([{ expired: 60 }], waited, 92_000).mayEvict).toBeLessThanOrEqual(2);
  });

  it('B5 extends all leases by the delay of a late sweep, and evicts no agent in that sweep', () => {
    const before = sweep([{}]).state;
    const late = decideProtection(before, { ...HEALTHY, expired: 100 }, 31_000, POLICY);
    expect(late).toMatchObject({ mayEvict: 0, gap: { from: 2_000, to: 31_000 }, state: { mode: 'normal' } });
    expect(late.explanation.text).toBe('No sweep ran for 29000 ms: all leases are extended by that time.');
    expect(decideProtection(late.state, { ...HEALTHY, expired: 1 }, 32_000, POLICY).gap).toBeNull();
  });

  it('B5 treats a sweep within the tolerance, and always the first sweep, as punctual', () => {
    expect(decideProtection(sweep([{}]).state, HEALTHY, 4_000, POLICY).gap).toBeNull();
    expect(decideProtection(normalProtection(0), HEALTHY, 1_000_000, POLICY).gap).toBeNull();
  });

  it('B5 follows the override of an operator, and decides by the numbers again when the override ends', () => {
    const held = sweep([{ expired: 1, override: 'protect' }]);
    expect(held).toMatchObject({ mayEvict: 0, explanation: { state: 'protecting', until: null, reason: 'operator' } });
    const forced = sweep([{ expired: 90, override: 'evict' }]);
    expect(forced).toMatchObject({ mayEvict: 90, explanation: { state: 'normal', reason: 'operator' } });
    expect(sweep([{ expired: 1 }, { expired: 1 }], held.state, 1_000)).toMatchObject({
      mayEvict: 1,
      state: { mode: 'normal' },
    });
  });

  it('D1 starts the time box when an operator ends the override and agents are silent', () => {
    const held = sweep(times(90, { expired: 60, override: 'protect' }));
    expect(sweep([{ expired: 60 }], held.state, 90_000).state).toMatchObject({ mode: 'protecting', until: 151_000 });
  });

  it('D4 moves the stored times back with a clock that is set back, and evicts no agent', () => {
    const protecting = sweep(times(5, { expired: 60 })).state;
    const back = decideProtection(protecting, { ...HEALTHY, expired: 60 }, -3_595_000, POLICY);
    expect(back).toMatchObject({ mayEvict: 0, gap: null, clockBackMs: 3_600_000 });
    expect(back.state).toMatchObject({ mode: 'protecting', since: -3_599_000, until: -3_539_000 });
    expect(back.explanation.reason).toBe('clock_back');
    expect(decideProtection(back.state, { ...HEALTHY, expired: 60 }, -3_594_000, POLICY).clockBackMs).toBe(0);
  });
});

describe('self-preservation, for any sequence of sweeps', () => {
  const anyFacts = fc.record({ fleet: fc.integer({ min: 0, max: 40 }), suspect: fc.nat(20), expired: fc.nat(20) });

  it('B5 never allows more evictions than expired agents, and none in the first sweep of a mass silence', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyFacts, fc.integer({ min: 500, max: 9_000 })), { maxLength: 60 }), (sweeps) => {
        let state = normalProtection(0);
        let now = 0;
        for (const [{ fleet, suspect, expired }, pause] of sweeps) {
          now += pause;
          const facts = { ...HEALTHY, fleet: fleet + suspect + expired, suspect, expired };
          const { mayEvict, gap, state: next } = decideProtection(state, facts, now, POLICY);
          expect(mayEvict).toBeLessThanOrEqual(expired);
          const mass = suspect + expired >= 3 && (suspect + expired) / facts.fleet > 0.15;
          if (mass && state.mode === 'normal') expect(mayEvict).toBe(0);
          if (!mass && !gap) expect({ mayEvict, mode: next.mode }).toEqual({ mayEvict: expired, mode: 'normal' });
          state = next;
        }
      }),
    );
  });

  it('B5 eventually evicts all agents that stay silent', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 50 }), (dead, alive) => {
        let left = dead;
        let state = normalProtection(0);
        for (let now = 1_000; now < 400_000 && left > 0; now += 1_000) {
          const decision = decideProtection(state, { ...HEALTHY, fleet: left + alive, expired: left }, now, POLICY);
          left -= decision.mayEvict;
          state = decision.state;
        }
        expect(left).toBe(0);
      }),
    );
  });
});
