import { setImmediate as immediate } from 'node:timers/promises';
import { Semaphore } from './semaphore.js';

describe('Semaphore', () => {
  it('A8 gives the slot of finished work to the work that waits, and not to new work', async () => {
    const semaphore = new Semaphore(1);
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await immediate();
      running -= 1;
    };
    const first = semaphore.run(work);
    const second = semaphore.run(work);
    const third = first.then(async () => await semaphore.run(work));
    await Promise.all([first, second, third]);
    expect([most, semaphore.waiting, semaphore.inUse]).toEqual([1, 0, 0]);
  });

  it('A8 starts work in the order of arrival, and never runs more at the same time than the limit allows', async () => {
    const semaphore = new Semaphore(2);
    const ends = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const started: number[] = [];
    const work = (index: number, end: Promise<void>) => async (): Promise<void> => {
      started.push(index);
      await end;
    };
    const all = ends.map(async ({ promise }, index) => await semaphore.run(work(index, promise)));
    expect(started).toEqual([0, 1]);
    ends[1]?.resolve();
    await all[1];
    await immediate();
    expect(started).toEqual([0, 1, 2]);
    for (const { resolve } of ends) resolve();
    await Promise.all(all);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  it('returns permits once, even if the release is called twice', async () => {
    const semaphore = new Semaphore(2);
    const first = await semaphore.acquire();
    await semaphore.acquire();
    first();
    first();
    expect(semaphore.inUse).toBe(1);
  });

  it('does not take permits that are not free, or that other callers wait for', async () => {
    const semaphore = new Semaphore(3);
    const two = semaphore.tryAcquire(2);
    expect(semaphore.tryAcquire(2)).toBeUndefined();
    const waiting = semaphore.acquire({ count: 3 });
    expect(semaphore.tryAcquire()).toBeUndefined();
    two?.();
    (await waiting)();
    expect([semaphore.tryAcquire(3), semaphore.inUse]).toEqual([expect.any(Function), 3]);
  });

  it('removes a caller whose signal is aborted from the queue, and admits the callers behind it', async () => {
    const semaphore = new Semaphore(2);
    const held = await semaphore.acquire();
    const cancelled = new AbortController();
    const large = semaphore.acquire({ count: 2, signal: cancelled.signal });
    const small = semaphore.acquire();
    cancelled.abort(new Error('cancelled'));
    await expect(large).rejects.toThrow('cancelled');
    await small;
    held();
    expect([semaphore.inUse, semaphore.waiting]).toEqual([1, 0]);
    await expect(semaphore.acquire({ signal: cancelled.signal })).rejects.toThrow('cancelled');
    expect(semaphore.inUse).toBe(1);
  });

  it('rejects the callers that wait, and accepts later callers', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const waiting = [semaphore.acquire(), semaphore.acquire()];
    semaphore.rejectWaiting(new Error('closed'));
    for (const one of waiting) await expect(one).rejects.toThrow('closed');
    const later = semaphore.acquire();
    held();
    await later;
    expect(semaphore.inUse).toBe(1);
  });

  it('is idle when the last permit is returned, and not while a waiting caller takes it over', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.idle();
    const first = await semaphore.acquire();
    const second = semaphore.acquire();
    let isIdle = false;
    const idle = semaphore.idle().then(() => (isIdle = true));
    first();
    const release = await second;
    await immediate();
    expect(isIdle).toBe(false);
    release();
    await idle;
    expect(isIdle).toBe(true);
  });

  it('rejects a request for more permits than there are, because it would wait forever', async () => {
    await expect(new Semaphore(2).acquire({ count: 3 })).rejects.toThrow(
      '3 permits were requested, but the limit is 2',
    );
  });
});
