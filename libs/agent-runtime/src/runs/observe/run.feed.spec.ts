import { SharedReads } from './run.feed.js';

describe('shared reads', () => {
  let stored = 0;
  let reads = 0;
  const read = async (): Promise<number> => {
    reads += 1;
    return await Promise.resolve(stored);
  };
  beforeEach(() => {
    stored = 0;
    reads = 0;
  });

  it('callers in the same iteration share one read, and each gets what was stored before its call', async () => {
    const shared = new SharedReads<number>();
    const first = shared.read('run', read);
    await Promise.resolve();
    stored = 1;
    expect(await Promise.all([first, shared.read('run', read), shared.read('run', read)])).toEqual([1, 1, 1]);
    expect(reads).toBe(1);
  });

  it('a call while a read is in progress starts another read', async () => {
    const shared = new SharedReads<number>();
    const gate = Promise.withResolvers<number>();
    const begun = Promise.withResolvers<void>();
    const first = shared.read('run', async () => {
      begun.resolve();
      return await gate.promise;
    });
    await begun.promise;
    stored = 2;
    const second = shared.read('run', read);
    gate.resolve(1);
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });

  it('different keys are read separately, and a failed read is not kept', async () => {
    const shared = new SharedReads<number>();
    const failed = shared.read('one', async () => await Promise.reject(new Error('unavailable')));
    const other = shared.read('two', read);
    await expect(failed).rejects.toThrow('unavailable');
    expect([await other, await shared.read('one', read)]).toEqual([0, 0]);
    expect(reads).toBe(2);
  });
});
