import * as fc from 'fast-check';
import { averageLatency } from './circuit.changes.js';

/** Half of the last digit that is kept. */
const ROUNDING = 0.000_5 + 1e-6;
const latency = fc.double({ min: 0, max: 1e9, noNaN: true });
const calls = fc.array(latency, { minLength: 1, maxLength: 60 });

function averageOf(latencies: readonly number[], before: number | null = null): number {
  const average = latencies.reduce<number | null>(averageLatency, before);
  if (average === null) throw new Error('there is no call');
  return average;
}

describe('the average latency', () => {
  it('is the latency of the only call', () => {
    expect(averageLatency(null, 120)).toBe(120);
  });

  it('moves by a fifth of the difference with each call', () => {
    expect(averageLatency(100, 200)).toBe(120);
    expect(averageLatency(200, 100)).toBe(180);
  });

  it('stays between the shortest and the longest call', () => {
    fc.assert(
      fc.property(calls, (latencies) => {
        const average = averageOf(latencies);
        expect(average).toBeGreaterThanOrEqual(Math.min(...latencies) - ROUNDING);
        expect(average).toBeLessThanOrEqual(Math.max(...latencies) + ROUNDING);
      }),
    );
  });

  it('moves towards the latest call and does not pass it', () => {
    fc.assert(
      fc.property(latency, latency, (before, latest) => {
        const after = averageLatency(before, latest);
        expect(after).toBeGreaterThanOrEqual(Math.min(before, latest) - ROUNDING);
        expect(after).toBeLessThanOrEqual(Math.max(before, latest) + ROUNDING);
      }),
    );
  });

  it('is higher or equal if any call is slower', () => {
    fc.assert(
      fc.property(calls, fc.nat(), latency, (latencies, at, slower) => {
        const changed = latencies.map((one, index) => (index === at % latencies.length ? one + slower : one));
        expect(averageOf(changed)).toBeGreaterThanOrEqual(averageOf(latencies) - ROUNDING * 5);
      }),
    );
  });

  it('forgets the past: after 150 equal calls, it is their latency', () => {
    fc.assert(
      fc.property(latency, latency, (before, steady) => {
        const calm = Array.from({ length: 150 }, () => steady);
        expect(Math.abs(averageOf(calm, before) - steady)).toBeLessThanOrEqual(ROUNDING * 5);
      }),
    );
  });
});
