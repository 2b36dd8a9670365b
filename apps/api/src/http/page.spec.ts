import * as fc from 'fast-check';
import { PAGE_BYTES } from '#rollcall/platform';
import { type Page, PagedList } from './page.js';
import { ApiError } from './problems/api.error.js';

const NUMBERS = new PagedList('numbers');

describe('a page', () => {
  it('a page has a next cursor if there is one row more than requested', () => {
    const page = NUMBERS.toPage([1, 2, 3], 2, String, String);
    expect(page.items).toEqual(['1', '2']);
    expect(NUMBERS.readCursor(page.nextCursor ?? '')).toBe('2');
  });

  it('the last page has no next cursor', () => {
    expect(NUMBERS.toPage([1, 2], 2, String, String).nextCursor).toBeNull();
    expect(NUMBERS.toPage([], 2, String, String)).toEqual({ items: [], nextCursor: null });
  });

  it('rejects a cursor of another list, and text that is not a cursor', () => {
    const names = new PagedList('names', /^.{1,128}$/);
    const { nextCursor } = NUMBERS.toPage([1, 2], 1, String, String);
    for (const cursor of [nextCursor ?? '', 'Mw', 'zzz', 'bm9uc2Vuc2U', ''])
      expect(() => names.readCursor(cursor)).toThrow(ApiError);
  });

  it('a position may contain the separator of the cursor', () => {
    const names = new PagedList('names', /^.{1,128}$/);
    const { nextCursor } = names.toPage(['a:b', 'c'], 1, String, String);
    expect(names.readCursor(nextCursor ?? '')).toBe('a:b');
  });

  it('S-4 pages of any rows have at most 1 MB or one row, and following the cursors returns every row once', () => {
    const rows = fc.array(fc.integer({ min: 0, max: 600_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(rows, fc.integer({ min: 1, max: 12 }), (sizes, limit) => {
        const all = sizes.map((size, at) => ({ at: at + 1, text: 'x'.repeat(size) }));
        const seen: number[] = [];
        let cursor: string | null = null;
        do {
          const after: number = Number(cursor === null ? 0 : NUMBERS.readCursor(cursor));
          const { items, nextCursor }: Page<{ at: number }> = NUMBERS.toPage(
            all.slice(after, after + limit + 1),
            limit,
            (row) => row,
            ({ at }) => String(at),
          );
          expect(items.length === 1 || JSON.stringify(items).length <= PAGE_BYTES + 2 * limit).toBe(true);
          seen.push(...items.map(({ at }) => at));
          cursor = nextCursor;
        } while (cursor !== null);
        expect(seen).toEqual(all.map(({ at }) => at));
      }),
      { numRuns: 30 },
    );
  });
});
