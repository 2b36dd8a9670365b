import * as fc from 'fast-check';
import { leasePolicyFaults, nextIntervalMs, DEFAULT_LEASE_POLICY } from './lease.policy.js';

const POLICY = { intervalMs: 10_000, missesUntilSuspect: 2, missesUntilEvicted: 3, graceMs: 1_000, jitter: 0.1 };

describe('the next heartbeat interval', () => {
  it('S3.4 the next heartbeat interval is the interval of the policy, shortened by at most the jitter', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (chance) => {
        const next = nextIntervalMs(POLICY, chance);
        expect(next).toBeGreaterThanOrEqual(9_000);
        expect(next).toBeLessThanOrEqual(10_000);
      }),
    );
  });
});

describe('the lease policy', () => {
  it('the defaults of the lease policy are valid', () => {
    expect(leasePolicyFaults(DEFAULT_LEASE_POLICY, 1_000)).toEqual([]);
  });

  it('reports each invalid combination of settings', () => {
    const faults = (changes: Partial<typeof POLICY>, sweep = 1_000): string =>
      leasePolicyFaults({ ...POLICY, ...changes }, sweep).join('\n');
    expect(faults({ intervalMs: 0 })).toContain('without a pause');
    expect(faults({ missesUntilSuspect: 0 })).toContain('misses no beat');
    expect(faults({ missesUntilEvicted: 2 })).toContain('without being suspect first');
    expect(faults({ graceMs: 10_000 })).toContain('one beat late');
    expect(faults({ graceMs: -1 })).toContain('negative');
    expect(faults({ jitter: 0.9 })).toContain('share by which an interval is shortened');
    expect(faults({}, 60_000)).toContain('stay listed after more missed beats');
  });
});
