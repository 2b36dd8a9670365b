import * as fc from 'fast-check';
import {
  flapPenalty,
  flapPolicyFaults,
  isSuppressed,
  NEVER_FLAPPED,
  noteFlap,
  suppressedUntil,
  DEFAULT_FLAP_POLICY,
  type FlapState,
} from './flap.damping.js';

const POLICY = DEFAULT_FLAP_POLICY;
const flaps = (...moments: number[]): FlapState =>
  moments.reduce((state, now) => noteFlap(state, now, POLICY), NEVER_FLAPPED);

describe('flap damping', () => {
  it('B5 does not suppress an agent that leaves and returns occasionally', () => {
    const state = flaps(0, 120_000, 240_000, 360_000);
    expect(isSuppressed(state, 360_000, POLICY)).toBe(false);
    expect(suppressedUntil(state, 360_000, POLICY)).toBeNull();
  });

  it('B5 suppresses an agent that leaves and returns too often, until its penalty has decayed', () => {
    const state = flaps(0, 0, 0);
    expect(isSuppressed(state, 0, POLICY)).toBe(true);
    const until = suppressedUntil(state, 0, POLICY) ?? 0;
    expect(until).toBe(Math.floor(Math.log2(3) * 60_000) + 1);
    expect(isSuppressed(state, until - 2, POLICY)).toBe(true);
    expect(isSuppressed(state, until, POLICY)).toBe(false);
  });

  it('B5 suppresses at the higher threshold and releases at the lower one, so that the state does not oscillate', () => {
    const between = { penalty: 2_000, at: 0 };
    expect(isSuppressed({ ...between, suppressed: true }, 0, POLICY)).toBe(true);
    expect(isSuppressed({ ...between, suppressed: false }, 0, POLICY)).toBe(false);
  });

  it('B5 halves a penalty in its half-life', () => {
    expect(flapPenalty({ penalty: 1_000, at: 0, suppressed: false }, 60_000, POLICY)).toBe(500);
    expect(flapPenalty({ penalty: 1_000, at: 60_000, suppressed: false }, 0, POLICY)).toBe(1_000);
  });

  it('B5 suppresses no agent for longer than longestMs after its last flap', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5_000), { minLength: 1, maxLength: 2_000 }), (pauses) => {
        let now = 0;
        let state: FlapState = NEVER_FLAPPED;
        for (const pause of pauses) state = noteFlap(state, (now += pause), POLICY);
        const until = suppressedUntil(state, now, POLICY) ?? now;
        expect(until - now).toBeLessThanOrEqual(POLICY.longestMs + 1);
        expect(isSuppressed(state, until, POLICY)).toBe(false);
        if (until > now + 2) expect(isSuppressed(state, until - 2, POLICY)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('reports each invalid setting', () => {
    expect(flapPolicyFaults(POLICY)).toEqual([]);
    expect(flapPolicyFaults({ ...POLICY, reuseBelow: 4_000 }).join()).toContain(
      'excluded and included at the same time',
    );
    expect(flapPolicyFaults({ ...POLICY, halfLifeMs: 0 }).join()).toContain(
      'the decay of a penalty would be undefined',
    );
    expect(flapPolicyFaults({ ...POLICY, longestMs: 1 }).join()).toContain('no penalty could reach');
    expect(flapPolicyFaults({ ...POLICY, reuseBelow: 0 }).join()).toContain('never decays to 0');
  });
});
