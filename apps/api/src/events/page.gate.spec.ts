import { PageGate } from './page.gate.js';

describe('PageGate', () => {
  it('A8 runs as many at the same time as its limit, in the order of arrival', async () => {
    const gate = new PageGate(2, () => 0);
    const ends = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const begun: number[] = [];
    const work = (index: number, end: Promise<void>) => async (): Promise<void> => {
      begun.push(index);
      await end;
    };
    const all = ends.map(async ({ promise }, index) => await gate.run(work(index, promise)));
    expect(begun).toEqual([0, 1]);
    ends[1]?.resolve();
    await all[1];
    await new Promise(setImmediate);
    expect(begun).toEqual([0, 1, 2]);
    for (const { resolve } of ends) resolve();
    await Promise.all(all);
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it('A8 refuses work that waited too long, and goes on after work that failed', async () => {
    let now = 0;
    const gate = new PageGate(1, () => now);
    const first = Promise.withResolvers<void>();
    const all = [gate.run(async () => await first.promise), gate.run(async () => 'late')];
    now = 10_000;
    first.reject(new Error('failed'));
    await expect(all[0]).rejects.toThrow('failed');
    await expect(all[1]).rejects.toMatchObject({ code: 'TOO_MANY_CONCURRENT_REQUESTS' });
    expect(await gate.run(async () => 'next')).toBe('next');
  });
});
