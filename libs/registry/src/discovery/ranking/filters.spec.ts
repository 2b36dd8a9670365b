import { DEFAULT_LOW_BUDGET } from '../../budgets/budget.js';
import type { EntryOverrides } from '../../testing/directory-entries.js';
import { given } from '../../testing/given.js';
import type { AgentFilter } from './agent.query.js';
import { assess } from './assessment.js';
import { filterExclusions, filtersOf } from './filters.js';
import { estimateMicros, perMillion, priceOf, priceText, toMicros } from './price.js';

function exclusions(filter: AgentFilter, overrides: EntryOverrides): string[] {
  const agent = assess(given.entry(overrides), 0, DEFAULT_LOW_BUDGET);
  return filterExclusions(filtersOf(filter), agent).map(
    ({ code, text, eligibleWhen }) => `${code}: ${text}; eligible when ${eligibleWhen.text}`,
  );
}

const price = (usdPerTask: number | null, usdPer1kTokens: number | null) => ({ usdPerTask, usdPer1kTokens });

describe('filters', () => {
  it('S3.6 an empty filter accepts every agent', () => {
    expect(exclusions({}, {})).toEqual([]);
  });

  it('S3.6 a filter compares the adapter and the type of the provider', () => {
    const provider = { adapter: 'copilot', type: 'api', plan: null };
    expect(exclusions({ provider: { adapter: 'copilot', type: 'api' } }, { provider })).toEqual([]);
    expect(exclusions({ provider: { adapter: 'claude', type: 'subscription' } }, { provider })).toEqual([
      'provider_mismatch: its provider adapter is copilot; eligible when the query asks for provider adapter copilot',
      'provider_mismatch: its provider type is api; eligible when the query asks for provider type api',
    ]);
  });

  it('S3.6 a filter accepts an exact sandbox level or a range', () => {
    const passes = (sandboxLevel: AgentFilter['sandboxLevel']): boolean =>
      exclusions({ sandboxLevel }, { sandboxLevel: 2 }).length === 0;
    expect([1, 2, 3].map(passes)).toEqual([false, true, false]);
    expect([{ min: 2 }, { max: 2 }, { min: 1, max: 3 }, { min: 3 }, { max: 1 }].map(passes)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(exclusions({ sandboxLevel: { min: 3 } }, { sandboxLevel: 2 })).toEqual([
      'sandbox_level: its sandbox level is 2; eligible when it runs at sandbox level at least 3',
    ]);
  });

  it('S3.6 a filter limits both parts of a price, and excludes an agent whose price is unknown', () => {
    expect(exclusions({ maxUsdPer1kTokens: 0.003 }, { costModel: price(null, 0.003) })).toEqual([]);
    expect(exclusions({ maxUsdPer1kTokens: 0.0029 }, { costModel: price(null, 0.003) })).toEqual([
      'price_too_high: it costs $0.003/1k tokens; eligible when the query allows that price',
    ]);
    expect(exclusions({ maxUsdPerTask: 0.5 }, { costModel: price(1, null) })).toHaveLength(1);
    expect(exclusions({ maxUsdPerTask: 0 }, {})).toEqual([
      'price_unknown: it names no price; eligible when it registers with a cost model',
    ]);
    const provider = { adapter: 'copilot', type: 'subscription', plan: null };
    expect(exclusions({ maxUsdPerTask: 0, maxUsdPer1kTokens: 0 }, { provider })).toEqual([]);
  });

  it('S3.6 a filter compares the remaining tokens, and accepts an unlimited budget', () => {
    expect(exclusions({ minRemainingTokens: 1_000_000 }, {})).toEqual([]);
    expect(exclusions({ minRemainingTokens: 100 }, { remaining: 100 })).toEqual([]);
    expect(exclusions({ minRemainingTokens: 101 }, { remaining: 100 })).toHaveLength(1);
  });

  it('S3.6 a filter compares labels, even with names that JavaScript objects inherit', () => {
    expect(exclusions({ labels: { zone: 'eu' } }, { labels: { zone: 'eu', tier: 'gold' } })).toEqual([]);
    expect(exclusions({ labels: { zone: 'eu' } }, { labels: { zone: 'us' } })).toHaveLength(1);
    expect(exclusions({ labels: { constructor: 'x' } }, {})).toEqual([
      'label_mismatch: it has no label constructor; eligible when it carries the label constructor=x',
    ]);
  });
});

describe('prices', () => {
  it('S3.6 prices are whole numbers of micro-dollars', () => {
    expect(toMicros(0.1 + 0.2)).toBe(300_000);
    expect(perMillion(0.0000375)).toBe(37_500);
  });

  it('S3.6 without a declared price, a subscription costs 0, and the price of other providers is unknown', () => {
    const subscription = { adapter: 'copilot', type: 'subscription', plan: null };
    const free = priceOf({ costModel: price(null, null), provider: subscription });
    expect(free && estimateMicros(free, 10_000)).toBe(0);
    expect(priceOf({ costModel: price(null, null), provider: { ...subscription, type: 'api' } })).toBeUndefined();
  });

  it('S3.6 shows prices in dollars per task and per 1k tokens', () => {
    const text = (usdPerTask: number | null, usdPer1k: number | null): string =>
      priceText(priceOf({ costModel: price(usdPerTask, usdPer1k), provider: given.entry().record.provider }));
    expect(text(0, null)).toBe('$0/task');
    expect(text(null, 0.003)).toBe('$0.003/1k tokens');
    expect(text(0.01, 0.0000375)).toBe('$0.01/task + $0.0000375/1k tokens');
    expect(text(10, null)).toBe('$10/task');
    expect(text(null, null)).toBe('price unknown');
  });
});
