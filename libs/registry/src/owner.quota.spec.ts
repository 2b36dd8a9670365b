import { QuotaWatch } from './owner.quota.js';

const quotaOf = (limit: number): { limit: number; setting: string } => ({ limit, setting: 'QUOTA' });

/** Registers agents one by one until a count reaches the quota. */
function fill(limit: number, replicas: number): { owned: number; counts: number } {
  const watches = Array.from({ length: replicas }, () => new QuotaWatch(quotaOf(limit)));
  let counts = 0;
  for (let owned = 0; ; owned++) {
    const watch = watches[owned % replicas];
    if (!watch?.mustCount('key:a')) continue;
    counts += 1;
    if (owned >= limit) return { owned, counts };
    watch.noteCount('key:a', owned);
  }
}

describe('a quota watch', () => {
  it.each([1, 2, 10])(
    'A6 never lets %i replicas exceed the quota, and rarely counts while much of the quota is left',
    (replicas) => {
      const { owned, counts } = fill(10_000, replicas);
      expect(owned).toBe(10_000);
      expect(counts).toBeLessThan(300 + 50 * replicas);
    },
  );

  it('A6 counts at every request if the quota is small', () => {
    expect(fill(5, 1)).toEqual({ owned: 5, counts: 6 });
  });

  it('A6 never counts without a quota, and watches each credential separately', () => {
    expect(new QuotaWatch(quotaOf(0)).mustCount('key:a')).toBe(false);
    const watch = new QuotaWatch(quotaOf(10_000));
    watch.noteCount('key:a', 0);
    expect([watch.mustCount('key:a', 990), watch.mustCount('key:a'), watch.mustCount('key:b')]).toEqual([
      false,
      true,
      true,
    ]);
  });
});
