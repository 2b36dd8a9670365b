import { setImmediate as turn } from 'node:timers/promises';
import { Gate } from './gate.js';

const options = { failsAll: () => false, busy: () => new Error('busy') };

describe('Gate', () => {
  it('A8 gives the place of work that has ended to the one that waits, not to a newcomer beside it', async () => {
    const gate = new Gate({ ...options, limit: 1 });
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await turn();
      running -= 1;
    };
    const first = gate.run(work);
    const second = gate.run(work);
    const newcomer = first.then(async () => await gate.run(work));
    await Promise.all([first, second, newcomer]);
    expect([most, gate.waiting]).toEqual([1, 0]);
  });

  it('A8 runs as many at the same time as its limit, in the order of arrival', async () => {
    const gate = new Gate({ ...options, limit: 2 });
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
    await turn();
    expect(begun).toEqual([0, 1, 2]);
    for (const { resolve } of ends) resolve();
    await Promise.all(all);
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it('A8 refuses work that would wait longer than its patience, and goes on after work that failed', async () => {
    let now = 0;
    const gate = new Gate({ ...options, limit: 1, now: () => now });
    const first = Promise.withResolvers<void>();
    const all = [gate.run(async () => await first.promise), gate.run(async () => 'late', 3_000)];
    const patient = gate.run(async () => 'patient');
    now = 10_000;
    first.reject(new Error('failed'));
    await expect(all[0]).rejects.toThrow('failed');
    await expect(all[1]).rejects.toThrow('busy');
    expect(await patient).toBe('patient');
    expect(await gate.run(async () => 'next', 3_000)).toBe('next');
  });

  it('A8 fails all that wait with a failure that would be theirs too', async () => {
    const gate = new Gate({ ...options, limit: 1, failsAll: () => true });
    const all = [gate.run(async () => await Promise.reject(new Error('gone'))), gate.run(async () => 'waits')];
    for (const one of all) await expect(one).rejects.toThrow('gone');
    expect(await gate.run(async () => 'next')).toBe('next');
  });
});
