import { assert, double, integer, property } from 'fast-check';
import { isExhausted, retryDelay } from './event.sink.js';

const POLICY = { maxAttempts: 5, firstDelayMs: 1_000, maxDelayMs: 60_000 };

describe('the delay before the next attempt', () => {
  it('the delay doubles with every failure, up to the maximum', () => {
    expect([1, 2, 3, 7, 8, 1_000].map((failures) => retryDelay(POLICY, failures, 1))).toEqual([
      1_000, 2_000, 4_000, 60_000, 60_000, 60_000,
    ]);
  });

  it('the delay is random between half of the computed value and the whole value', () => {
    assert(
      property(integer({ min: 1, max: 200 }), double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
        const full = Math.min(60_000, 1_000 * 2 ** (failures - 1));
        const delay = retryDelay(POLICY, failures, random);
        expect(delay).toBeGreaterThanOrEqual(full / 2);
        expect(delay).toBeLessThanOrEqual(full);
      }),
    );
  });

  it('a longer delay that the receiver requests is used, up to the maximum', () => {
    expect(retryDelay(POLICY, 1, 1, 30_000)).toBe(30_000);
    expect(retryDelay(POLICY, 1, 1, 3_600_000)).toBe(60_000);
    expect(retryDelay(POLICY, 3, 1, 10)).toBe(4_000);
  });
});

describe('a failed delivery', () => {
  it('the attempts are exhausted when their number reaches the maximum, and never if there is no maximum', () => {
    expect([4, 5].map((failures) => isExhausted(POLICY, failures))).toEqual([false, true]);
    expect(isExhausted({ ...POLICY, maxAttempts: null }, 1e9)).toBe(false);
  });
});
