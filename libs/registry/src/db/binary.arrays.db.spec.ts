import fc from 'fast-check';
import { testDatabase, type TestDatabase } from '../testing/index.js';
import { bigintArray, integerArray, realArray, textArray } from './binary.arrays.js';

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(async () => await database.drop());

async function read(type: string, array: Buffer | null): Promise<unknown> {
  const [row] = await database.db.query<{ values: unknown }>(`SELECT to_jsonb($1::${type}[]) AS values`, [array]);
  return row?.values;
}

async function holds<T>(type: string, element: fc.Arbitrary<T>, encode: (values: T[]) => Buffer | null): Promise<void> {
  const lists = fc.array(fc.option(element), { minLength: 1, maxLength: 50 });
  const property = fc.asyncProperty(lists as fc.Arbitrary<T[]>, async (values) =>
    expect((await read(type, encode(values))) ?? values).toEqual(values),
  );
  await fc.assert(property, { numRuns: 60 });
}

describe('arrays in the binary protocol', () => {
  it('of texts are read by Postgres as they were written', async () => {
    await holds(
      'text',
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
      textArray,
    );
  });

  it('of numbers too', async () => {
    await holds('bigint', fc.nat({ max: Number.MAX_SAFE_INTEGER }), bigintArray);
    await holds('integer', fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), integerArray);
    expect(await read('real', realArray([0.5, undefined, 1e-60, 1_000]))).toEqual([0.5, null, 0, 1_000]);
  });

  it('of nothing but nulls are null', async () => {
    expect(integerArray([null, undefined])).toBeNull();
    expect(await read('text', textArray([null]))).toEqual([null]);
  });
});
