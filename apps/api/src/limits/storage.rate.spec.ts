import { ByteBudget } from './storage.rate.js';

const QUOTA = { limit: 60, setting: 'x' };

describe('the kilobytes that a key stores in a minute', () => {
  it('S-13 exceed the quota by at most one object, and are free again as time passes', () => {
    let now = 0;
    const budget = new ByteBudget(QUOTA, () => now);
    budget.take('a', 60 * 1_024 - 1);
    expect(budget.waitMs('a')).toBe(0);
    budget.take('a', 10 * 1_024 + 1);
    expect(budget.waitMs('a')).toBe(10_001);
    expect(budget.waitMs('b')).toBe(0);
    now += 10_001;
    expect(budget.waitMs('a')).toBe(0);
    now += 3_600_000;
    budget.take('a', 60 * 1_024);
    expect(budget.waitMs('a')).toBeGreaterThan(0); // an idle hour does not save up more than a minute
  });

  it('S-13 are not limited by a quota of 0', () => {
    const budget = new ByteBudget({ ...QUOTA, limit: 0 });
    budget.take('a', 1e12);
    expect(budget.waitMs('a')).toBe(0);
  });
});
