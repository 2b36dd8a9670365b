import { DEFAULT_LOW_BUDGET } from '../../budgets/budget.js';
import { CLOSED_CIRCUIT } from '../../circuit/circuit.breaker.js';
import type { EntryOverrides } from '../../testing/directory-entries.js';
import { given } from '../../testing/given.js';
import { assess } from './assessment.js';
import { isLowBudget, isRoutable, nextChangeAt, routability } from './routability.js';

const NOW = 100_000;
const OPEN = { ...CLOSED_CIRCUIT, phase: 'open' as const, consecutiveFailures: 5, openUntil: NOW + 4_000 };
const HALF_OPEN = { ...OPEN, phase: 'half_open' as const, openUntil: NOW - 1 };
const PROBED = { ...HALF_OPEN, probe: { id: 'p', expiresAt: NOW + 900 } };

const codes = (overrides: EntryOverrides): string[] => routability(given.entry(overrides), NOW).map(({ code }) => code);
const standing = (overrides: EntryOverrides) => assess(given.entry(overrides), NOW, DEFAULT_LOW_BUDGET);

describe('routability', () => {
  it('B1 accepts a healthy agent', () => {
    expect(codes({})).toEqual([]);
    expect(isRoutable(given.entry(), NOW)).toBe(true);
  });

  it('B4 excludes an agent that is draining or quarantined, whatever its health', () => {
    expect(codes({ desiredState: 'draining' })).toEqual(['draining']);
    expect(codes({ desiredState: 'quarantined' })).toEqual(['quarantined']);
  });

  it('S3.8 excludes an agent with an open circuit, and says when a probe is allowed', () => {
    const [exclusion] = routability(given.entry({ circuit: OPEN }), NOW);
    expect(exclusion).toEqual({
      code: 'circuit_open',
      text: 'its circuit is open after 5 failures in a row',
      eligibleWhen: { text: 'its circuit admits a probe in 4 s', inMs: 4_000 },
    });
    expect(isRoutable(given.entry({ circuit: OPEN }), NOW + 4_000)).toBe(true);
  });

  it('S3.8 accepts an agent with a half-open circuit unless a probe is in progress', () => {
    expect(codes({ circuit: HALF_OPEN })).toEqual([]);
    const [exclusion] = routability(given.entry({ circuit: PROBED }), NOW);
    expect(exclusion).toMatchObject({ code: 'circuit_probing', eligibleWhen: { inMs: 900 } });
    expect(exclusion.eligibleWhen.text).toBe('the probe has ended, at the latest in 900 ms');
  });

  it('S3.10 excludes an agent with an exhausted budget, and never one with an unlimited budget', () => {
    expect(codes({ remaining: 0, totalTokens: 10 })).toEqual(['budget_exhausted']);
    expect(codes({ remaining: 1, totalTokens: 10 })).toEqual([]);
    expect(codes({})).toEqual([]);
  });

  it('B5 excludes a flapping agent until its damping ends', () => {
    expect(codes({ dampedUntil: NOW + 1 })).toEqual(['flapping']);
    expect(codes({ dampedUntil: NOW })).toEqual([]);
  });

  it('B1 reports all reasons together', () => {
    const all = { desiredState: 'draining' as const, circuit: OPEN, remaining: 0, dampedUntil: NOW + 5 };
    expect(codes(all)).toEqual(['draining', 'flapping', 'circuit_open', 'budget_exhausted']);
    expect(isRoutable(given.entry(all), NOW)).toBe(false);
  });

  it('B5 accepts a suspect agent and marks it', () => {
    expect(codes({ suspect: true })).toEqual([]);
    expect(standing({ suspect: true }).marks).toEqual(['suspect']);
    expect(standing({ suspect: false }).marks).toEqual([]);
    expect(standing({ suspect: true }).record.status).toBe('suspect');
  });

  it('B1 returns the next time at which the routability of an agent changes without a write', () => {
    expect(nextChangeAt(given.entry(), NOW)).toBe(Infinity);
    expect(nextChangeAt(given.entry({ circuit: OPEN, dampedUntil: NOW + 3_000 }), NOW)).toBe(NOW + 3_000);
    expect(nextChangeAt(given.entry({ circuit: OPEN, dampedUntil: NOW - 1 }), NOW)).toBe(NOW + 4_000);
    expect(nextChangeAt(given.entry({ circuit: PROBED }), NOW)).toBe(NOW + 900);
  });
});

describe('assessments', () => {
  it('B1 the standings have the order ready, saturated, suspect, probe', () => {
    const places = [{}, { ratio: 1 }, { ratio: 1, suspect: true }, { circuit: HALF_OPEN }].map(
      (overrides) => standing(overrides).standing,
    );
    expect(places).toEqual([0, 1, 2, 3]);
  });

  it('S3.8 an assessment shows the circuit at the given time, not as it was stored', () => {
    const { record } = assess(given.entry({ circuit: OPEN }), NOW + 4_000, DEFAULT_LOW_BUDGET);
    expect(record.health).toMatchObject({ circuitBreakerState: 'half_open', consecutiveFailures: 5 });
  });

  it('S3.6 an assessment marks a budget as low by its share or by its size', () => {
    const low = (remaining: number | undefined, totalTokens?: number): boolean =>
      isLowBudget(given.entry({ remaining, totalTokens }).record.budget, { fraction: 0.1, tokens: 20_000 });
    expect(low(49_999, 500_000)).toBe(true);
    expect(low(50_000, 500_000)).toBe(false);
    expect(low(12_000, 12_000)).toBe(true);
    expect(low(undefined)).toBe(false);
  });
});
