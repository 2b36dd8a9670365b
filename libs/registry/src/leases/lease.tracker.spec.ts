import * as fc from 'fast-check';
import { leasePolicyFaults, leaseTtlMs, nextIntervalMs, USUAL_LEASE_POLICY } from './lease.policy.js';
import { beatLease, extendLease, trackLease, type Lease } from './lease.tracker.js';

const POLICY = { intervalMs: 10_000, missesUntilSuspect: 2, missesUntilEvicted: 3, graceMs: 1_000, jitter: 0.1 };
const lease: Lease = { lastBeatAt: 0, extendedByMs: 0 };
const stateAt = (now: number, of: Lease = lease): string => trackLease(of, POLICY, now).state;

describe('leases', () => {
  it('S3.4 are active, suspect from the second missed beat, and expire at the third: after K, not 2K', () => {
    expect(stateAt(20_999)).toBe('active');
    expect(stateAt(21_000)).toBe('suspect');
    expect(stateAt(30_999)).toBe('suspect');
    expect(stateAt(31_000)).toBe('expired');
  });

  it('S3.4 count the beats that were missed', () => {
    const missed = [0, 10_999, 11_000, 21_000, 31_000].map((now) => trackLease(lease, POLICY, now).missedBeats);
    expect(missed).toEqual([0, 0, 1, 2, 3]);
  });

  it('S3.4 are renewed by a beat, which takes back every extension', () => {
    const extended = { lastBeatAt: 0, extendedByMs: 5_000 };
    expect(beatLease(extended, 8_000)).toEqual({ lastBeatAt: 8_000, extendedByMs: 0 });
    expect(beatLease({ lastBeatAt: 9_000, extendedByMs: 0 }, 8_000).lastBeatAt).toBe(9_000);
  });

  it('B5 get back the time in which nobody could be heard', () => {
    const before = trackLease(lease, POLICY, 15_000).expiresAt - 15_000;
    const extended = extendLease(lease, { from: 15_000, to: 75_000 });
    expect(trackLease(extended, POLICY, 75_000).expiresAt - 75_000).toBe(before);
  });

  it('B5 get back only what came after a beat within the gap', () => {
    const heard = { lastBeatAt: 50_000, extendedByMs: 0 };
    expect(extendLease(heard, { from: 15_000, to: 75_000 }).extendedByMs).toBe(25_000);
    expect(extendLease(heard, { from: 15_000, to: 40_000 })).toBe(heard);
  });

  it('S3.4 answer every beat with an interval no longer than the policy says', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (chance) => {
        const next = nextIntervalMs(POLICY, chance);
        expect(next).toBeGreaterThanOrEqual(9_000);
        expect(next).toBeLessThanOrEqual(10_000);
      }),
    );
  });

  it('S3.4 B5 are a lower bound: no agent expires before K intervals, whatever the gaps', () => {
    const gap = fc.record({ from: fc.nat(50_000), length: fc.nat(50_000) });
    fc.assert(
      fc.property(fc.nat(50_000), fc.array(gap, { maxLength: 4 }), (lastBeatAt, gaps) => {
        const start: Lease = { lastBeatAt, extendedByMs: 0 };
        const extended = gaps.reduce((l, { from, length }) => extendLease(l, { from, to: from + length }), start);
        const { suspectAt, expiresAt } = trackLease(extended, POLICY, 0);
        expect(expiresAt).toBeGreaterThanOrEqual(lastBeatAt + leaseTtlMs(POLICY));
        expect(suspectAt).toBeLessThan(expiresAt);
        expect(stateAt(expiresAt - 1, extended)).toBe('suspect');
        expect(stateAt(expiresAt, extended)).toBe('expired');
      }),
    );
  });
});

describe('the lease policy', () => {
  it('is usable as it comes', () => {
    expect(leasePolicyFaults(USUAL_LEASE_POLICY, 1_000)).toEqual([]);
  });

  it('teaches what does not fit together', () => {
    const faults = (changes: Partial<typeof POLICY>, sweep = 1_000): string =>
      leasePolicyFaults({ ...POLICY, ...changes }, sweep).join('\n');
    expect(faults({ intervalMs: 0 })).toContain('without pause');
    expect(faults({ missesUntilSuspect: 0 })).toContain('punctual agent');
    expect(faults({ missesUntilEvicted: 2 })).toContain('without ever having been suspect');
    expect(faults({ graceMs: 10_000 })).toContain('one more beat');
    expect(faults({ graceMs: -1 })).toContain('negative');
    expect(faults({ jitter: 0.9 })).toContain('share taken off');
    expect(faults({}, 60_000)).toContain('stay listed for more missed beats');
  });
});
