import { DEFAULT_PROTECTION_POLICY, type ProtectionPolicy } from './leases/protection.state.js';
import { checkOptions } from './registry.options.js';
import { DEFAULT_REGISTRY_OPTIONS } from './testing/test-registry.js';

const check =
  (changes: Partial<ProtectionPolicy>): (() => void) =>
  () =>
    checkOptions({ ...DEFAULT_REGISTRY_OPTIONS, protection: { ...DEFAULT_PROTECTION_POLICY, ...changes } });

describe('the options of the registry', () => {
  it('the defaults of the options are valid', () => {
    expect(check({})).not.toThrow();
  });

  it.each([
    [{ threshold: -0.1 }, 'it is the share of the fleet that may be silent'],
    [{ threshold: 15 }, 'protection.threshold (15) must be from 0 to 1'],
    [{ threshold: NaN }, 'protection.threshold (NaN) must be from 0 to 1'],
    [{ fewest: 0 }, 'protection.fewest (0) must be at least 1'],
    [{ longestMs: -1 }, 'protection.longestMs (-1) must not be negative'],
    [{ evictionsPerMinute: 0 }, 'agents that are gone would stay listed forever'],
    [{ sweepEveryMs: 0 }, 'protection.sweepEveryMs (0) must be more than 0'],
    [{ toleranceMs: -1 }, 'protection.toleranceMs (-1) must not be negative'],
    [{ sweepEveryMs: 60_000 }, 'sweepEveryMs (60000) must not be longer than intervalMs (10000)'],
  ])('B5 rejects the protection policy %p', (changes, message) => {
    expect(check(changes)).toThrow(message);
  });

  it('lists all faults of the options in one error', () => {
    expect(check({ threshold: 2, fewest: 0 })).toThrow(/threshold.*; .*fewest/);
  });
});
