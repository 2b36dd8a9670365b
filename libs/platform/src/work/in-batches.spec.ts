import { inBatches } from './in-batches.js';

describe('inBatches', () => {
  it.each([
    [0, 1],
    [9, 1],
    [10, 2],
    [25, 3],
  ])(
    'handles %i rows in %i passes of at most 10 rows, and stops after a pass that is not full',
    async (rows, passes) => {
      const limits: number[] = [];
      let left = rows;
      const total = await inBatches(10, (limit) => {
        limits.push(limit);
        const handled = Math.min(limit, left);
        left -= handled;
        return Promise.resolve(handled);
      });
      expect({ total, limits }).toEqual({ total: rows, limits: Array(passes).fill(10) });
    },
  );

  it('fails with the error of a failed pass', async () => {
    await expect(inBatches(10, () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  });
});
