import { setImmediate as immediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Counts, type Database } from '../postgres/database.js';
import { GroupCommit, type GroupCommitOptions } from './group-commit.js';

const NO_DATABASE = { counts: new Counts(), detached: <T>(work: () => T): T => work() } as unknown as Database;

interface HeldBatch {
  batch: readonly string[];
  release(results?: readonly string[]): void;
  fail(error: Error): void;
}

/** Creates a group commit whose batches wait until the test releases them. */
function heldGroup(options: Partial<GroupCommitOptions<string, string>> = {}): {
  group: GroupCommit<string, string>;
  batches: HeldBatch[];
} {
  const batches: HeldBatch[] = [];
  const group = new GroupCommit<string, string>(NO_DATABASE, {
    name: 'test',
    maxBatch: 3,
    failure: (error) => `failed: ${(error as Error).message}`,
    commit: async (batch) =>
      await new Promise((resolve, reject) => {
        const release = (results = batch.map((item) => `${item} done`)): void => resolve(results);
        batches.push({ batch, release, fail: reject });
      }),
    ...options,
  });
  return { group, batches };
}

async function untilBatch(batches: readonly HeldBatch[], count: number): Promise<void> {
  while (batches.length < count) await immediate();
}

describe('GroupCommit', () => {
  it('commits items that arrive together in one batch and returns to each its own result', async () => {
    const { group, batches } = heldGroup();
    const results = Promise.all([group.run('a'), group.run('b')]);
    await untilBatch(batches, 1);
    expect(batches[0]?.batch).toEqual(['a', 'b']);
    batches[0]?.release();
    expect(await results).toEqual(['a done', 'b done']);
  });

  it('collects the next batch while a batch commits', async () => {
    const { group, batches } = heldGroup();
    const first = group.run('a');
    await untilBatch(batches, 1);
    const others = Promise.all(['b', 'c'].map((item) => group.run(item)));
    await immediate();
    expect(batches).toHaveLength(1);
    batches[0]?.release();
    await untilBatch(batches, 2);
    expect(batches[1]?.batch).toEqual(['b', 'c']);
    batches[1]?.release();
    expect([await first, ...(await others)]).toEqual(['a done', 'b done', 'c done']);
  });

  it('never puts two items with the same key into one batch', async () => {
    const { group, batches } = heldGroup({ keyOf: (item) => item[0] ?? '' });
    const all = Promise.all(['a1', 'a2', 'b1'].map((item) => group.run(item)));
    await untilBatch(batches, 1);
    expect(batches[0]?.batch).toEqual(['a1', 'b1']);
    batches[0]?.release();
    await untilBatch(batches, 2);
    expect(batches[1]?.batch).toEqual(['a2']);
    batches[1]?.release();
    expect(await all).toEqual(['a1 done', 'a2 done', 'b1 done']);
  });

  it('returns the failure to every item of a failed batch, and continues with the next batch', async () => {
    const { group, batches } = heldGroup({ maxBatch: 1 });
    const all = Promise.all([group.run('a'), group.run('b')]);
    await untilBatch(batches, 1);
    batches[0]?.fail(new Error('busy'));
    await untilBatch(batches, 2);
    batches[1]?.release();
    expect(await all).toEqual(['failed: busy', 'b done']);
  });

  it('returns the failure to waiting items immediately if they would fail with the same error', async () => {
    const { group, batches } = heldGroup({ maxBatch: 1, failsAll: () => true });
    const all = Promise.all([group.run('a'), group.run('b'), group.run('c')]);
    await untilBatch(batches, 1);
    batches[0]?.fail(new Error('gone'));
    expect(await all).toEqual(['failed: gone', 'failed: gone', 'failed: gone']);
    expect(batches).toHaveLength(1);
  });

  it('returns a failure to an item for which the commit has no result', async () => {
    const { group, batches } = heldGroup();
    const all = Promise.all([group.run('a'), group.run('b')]);
    await untilBatch(batches, 1);
    batches[0]?.release(['a done']);
    expect(await all).toEqual(['a done', 'failed: test: an item has no result']);
  });

  it('delivers all results even if one callback throws', async () => {
    const { group, batches } = heldGroup();
    const received: string[] = [];
    group.submit('a', () => {
      throw new Error('a caller that throws');
    });
    group.submit('b', (result) => received.push(result));
    await untilBatch(batches, 1);
    batches[0]?.release();
    await group.idle();
    expect(received).toEqual(['b done']);
  });

  it('sorts a batch by key, so that all replicas lock rows in the same order', async () => {
    const { group, batches } = heldGroup({ keyOf: (item) => item });
    const all = group.runAll(['c', 'a', 'b']);
    await untilBatch(batches, 1);
    expect(batches[0]?.batch).toEqual(['a', 'b', 'c']);
    batches[0]?.release();
    expect(await all).toEqual(['c done', 'a done', 'b done']);
  });

  it('fails only the item that caused the error, and commits the other items of its batch', async () => {
    const commits: string[] = [];
    const { group } = heldGroup({
      maxBatch: 8,
      mayBeOneItem: (error) => (error as Error).message === 'bad item',
      commit: async (batch) => {
        commits.push(batch.join(''));
        if (batch.includes('c')) throw new Error('bad item');
        return batch.map((item) => `${item} done`);
      },
    });
    const results = await group.runAll(['a', 'b', 'c', 'd', 'e']);
    expect(results).toEqual(['a done', 'b done', 'failed: bad item', 'd done', 'e done']);
    expect(commits).toEqual(['abcde', 'abc', 'ab', 'c', 'de']);
  });

  it('reports a batch after all its items have their results', async () => {
    const order: unknown[] = [];
    const { group, batches } = heldGroup({ onDelivered: (items, results) => order.push([items, results]) });
    group.submit('a', (result) => order.push(result));
    await untilBatch(batches, 1);
    batches[0]?.release();
    await group.idle();
    expect(order).toEqual(['a done', [['a'], ['a done']]]);
  });

  it('returns one result to every item, in batches of the permitted size, for any arrivals and failures', async () => {
    const arrivals = fc.array(fc.record({ key: fc.nat(3), pause: fc.boolean() }), { maxLength: 40 });
    const failures = fc.array(fc.boolean(), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(arrivals, failures, async (items, failing) => {
        const sizes: number[] = [];
        const group = new GroupCommit<{ key: number; id: number }, number>(NO_DATABASE, {
          name: 'test',
          maxBatch: 5,
          keyOf: ({ key }) => String(key),
          failure: () => -1,
          commit: async (batch) => {
            sizes.push(batch.length);
            expect(new Set(batch.map(({ key }) => key)).size).toBe(batch.length);
            await immediate();
            if (failing[sizes.length - 1]) throw new Error('failed');
            return batch.map(({ id }) => id);
          },
        });
        const results: number[][] = items.map(() => []);
        for (const [id, { key, pause }] of items.entries()) {
          group.submit({ key, id }, (result) => results[id]?.push(result));
          if (pause) await immediate();
        }
        await group.idle();
        for (const [id, received] of results.entries()) expect([[id], [-1]]).toContainEqual(received);
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(items.length);
      }),
      { numRuns: 100 },
    );
  });
});
