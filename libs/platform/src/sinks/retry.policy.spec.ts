import { assert, double, integer, property } from 'fast-check';
import { isExhausted, retryDelay } from './retry.policy.js';

const POLICY = { maxAttempts: 5, firstDelayMs: 1_000, maxDelayMs: 60_000 };

describe('the wait before the next try', () => {
  it('doubles with every failure, up to the longest', () => {
    expect([1, 2, 3, 7, 8, 1_000].map((failures) => retryDelay(POLICY, failures, 1))).toEqual([
      1_000, 2_000, 4_000, 60_000, 60_000, 60_000,
    ]);
  });

  it('is between half and the whole of that, as chance has it', () => {
    assert(
      property(integer({ min: 1, max: 200 }), double({ min: 0, max: 1, noNaN: true }), (failures, chance) => {
        const full = Math.min(60_000, 1_000 * 2 ** (failures - 1));
        const wait = retryDelay(POLICY, failures, chance);
        expect(wait).toBeGreaterThanOrEqual(full / 2);
        expect(wait).toBeLessThanOrEqual(full);
      }),
    );
  });

  it('is what the other side asks for, if that is longer and within the limit', () => {
    expect(retryDelay(POLICY, 1, 1, 30_000)).toBe(30_000);
    expect(retryDelay(POLICY, 1, 1, 3_600_000)).toBe(60_000);
    expect(retryDelay(POLICY, 3, 1, 10)).toBe(4_000);
  });
});

describe('giving up', () => {
  it('comes with the last try, or never', () => {
    expect([4, 5].map((failures) => isExhausted(POLICY, failures))).toEqual([false, true]);
    expect(isExhausted({ ...POLICY, maxAttempts: null }, 1e9)).toBe(false);
  });
});
