import * as fc from 'fast-check';
import { testDatabase, type TestDatabase } from '../testing/index.js';
import { bigintArray, integerArray, realArray, textArray } from './binary.arrays.js';

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(async () => await database.drop());

async function read(type: string, array: Buffer | null): Promise<unknown> {
  const [row] = await database.db.query<{ values: unknown }>(`SELECT to_jsonb($1::${type}[]) AS values`, [array]);
  return row?.values;
}

/** Answers how many lists were written and read. */
async function expectHeld<T>(
  type: string,
  element: fc.Arbitrary<T>,
  encode: (values: T[]) => Buffer | null,
): Promise<number> {
  let runs = 0;
  const lists = fc.array(fc.option(element), { minLength: 1, maxLength: 50 });
  const property = fc.asyncProperty(lists as fc.Arbitrary<T[]>, async (values) => {
    runs += 1;
    expect((await read(type, encode(values))) ?? values).toEqual(values);
  });
  await fc.assert(property, { numRuns: 60 });
  return runs;
}

describe('arrays in the binary protocol', () => {
  it('of texts are read by Postgres as they were written', async () => {
    const texts = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', ''));
    expect(await expectHeld('text', texts, textArray)).toBe(60);
  });

  it('of numbers too', async () => {
    await expectHeld('bigint', fc.nat({ max: Number.MAX_SAFE_INTEGER }), bigintArray);
    await expectHeld('integer', fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), integerArray);
    expect(await read('real', realArray([0.5, undefined, 1e-60, 1_000]))).toEqual([0.5, null, 0, 1_000]);
  });

  it('of nothing but nulls are null', async () => {
    expect(integerArray([null, undefined])).toBeNull();
    expect(await read('text', textArray([null]))).toEqual([null]);
  });
});
