import { ApiError } from './api.error.js';
import { readCursor, toPage } from './page.js';

const NUMBER = /^\d+$/;

describe('a page', () => {
  it('a page has a next cursor if there is one row more than requested', () => {
    const page = toPage([1, 2, 3], 2, String, String);
    expect(page.items).toEqual(['1', '2']);
    expect(readCursor(page.nextCursor ?? '', NUMBER)).toBe('2');
  });

  it('the last page has no next cursor', () => {
    expect(toPage([1, 2], 2, String, String).nextCursor).toBeNull();
    expect(toPage([], 2, String, String)).toEqual({ items: [], nextCursor: null });
  });

  it('rejects a cursor of another list', () => {
    expect(() => readCursor('bm9uc2Vuc2U', NUMBER)).toThrow(ApiError);
  });
});
