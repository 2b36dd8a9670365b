import { setImmediate as immediate } from 'node:timers/promises';
import { Gate } from './gate.js';

const options = { failsAll: () => false, busy: () => new Error('busy') };

describe('Gate', () => {
  it('A8 gives the slot of finished work to the work that waits, and not to new work', async () => {
    const gate = new Gate({ ...options, limit: 1 });
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await immediate();
      running -= 1;
    };
    const first = gate.run(work);
    const second = gate.run(work);
    const third = first.then(async () => await gate.run(work));
    await Promise.all([first, second, third]);
    expect([most, gate.waiting]).toEqual([1, 0]);
  });

  it('A8 starts work in the order of arrival, and never runs more at the same time than the limit allows', async () => {
    const gate = new Gate({ ...options, limit: 2 });
    const ends = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const started: number[] = [];
    const work = (index: number, end: Promise<void>) => async (): Promise<void> => {
      started.push(index);
      await end;
    };
    const all = ends.map(async ({ promise }, index) => await gate.run(work(index, promise)));
    expect(started).toEqual([0, 1]);
    ends[1]?.resolve();
    await all[1];
    await immediate();
    expect(started).toEqual([0, 1, 2]);
    for (const { resolve } of ends) resolve();
    await Promise.all(all);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  it('A8 rejects work that has waited longer than its maximum wait, and continues after failed work', async () => {
    let now = 0;
    const gate = new Gate({ ...options, limit: 1, now: () => now });
    const first = Promise.withResolvers<void>();
    const all = [gate.run(async () => await first.promise), gate.run(async () => 'late', 3_000)];
    const waiting = gate.run(async () => 'waiting');
    now = 10_000;
    first.reject(new Error('failed'));
    await expect(all[0]).rejects.toThrow('failed');
    await expect(all[1]).rejects.toThrow('busy');
    expect(await waiting).toBe('waiting');
    expect(await gate.run(async () => 'next', 3_000)).toBe('next');
  });

  it('A8 rejects all waiting work immediately if that work would fail with the same error', async () => {
    const gate = new Gate({ ...options, limit: 1, failsAll: () => true });
    const all = [gate.run(async () => await Promise.reject(new Error('gone'))), gate.run(async () => 'waits')];
    for (const one of all) await expect(one).rejects.toThrow('gone');
    expect(await gate.run(async () => 'next')).toBe('next');
  });
});
