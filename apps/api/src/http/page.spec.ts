import { PagedList } from './page.js';
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
});
