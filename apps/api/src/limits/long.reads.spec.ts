import { LongReads } from './long.reads.js';

/** A read that ends when the test says so. */
function pending(): { read: () => Promise<void>; begun: () => boolean; end: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let hasBegun = false;
  const read = async (): Promise<void> => {
    hasBegun = true;
    await promise;
  };
  return { read, begun: () => hasBegun, end: resolve };
}

const settle = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

describe('long reads', () => {
  it('S-4 of one namespace are sent one at a time, and others do not wait for them', async () => {
    const reads = new LongReads();
    const [first, second, other] = [pending(), pending(), pending()];
    const sent = [reads.run('a', first.read), reads.run('a', second.read), reads.run('b', other.read)];
    await settle();
    expect([first.begun(), second.begun(), other.begun()]).toEqual([true, false, true]);
    first.end();
    await sent[0];
    await settle();
    expect(second.begun()).toBe(true);
    second.end();
    other.end();
    await Promise.all(sent);
  });

  it('S-4 are rejected if too many of one namespace wait, and accepted again afterwards', async () => {
    const reads = new LongReads();
    const all = Array.from({ length: 9 }, pending);
    const sent = all.map(async ({ read }) => await reads.run('a', read));
    await settle();
    const read = async (): Promise<string> => await Promise.resolve('read');
    await expect(reads.run('a', read)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(await reads.run('b', read)).toBe('read');
    for (const { end } of all) end();
    await Promise.all(sent);
    expect(await reads.run('a', read)).toBe('read');
  });

  it('S-4 that fail free their place', async () => {
    const reads = new LongReads();
    const fails = async (): Promise<never> => await Promise.reject(new Error('no answer'));
    for (let at = 0; at < 5; at += 1) await expect(reads.run('a', fails)).rejects.toThrow('no answer');
    expect(await reads.run('a', async () => await Promise.resolve(1))).toBe(1);
  });
});
