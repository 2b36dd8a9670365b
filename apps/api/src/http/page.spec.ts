import { ApiError } from './api.error.js';
import { readCursor, toPage } from './page.js';

const NUMBER = /^\d+$/;

describe('pages', () => {
  it('tell by one row more than asked for that there is another page', () => {
    const page = toPage([1, 2, 3], 2, String, String);
    expect(page.items).toEqual(['1', '2']);
    expect(readCursor(page.nextCursor ?? '', NUMBER)).toBe('2');
  });

  it('have no next cursor at the end', () => {
    expect(toPage([1, 2], 2, String, String).nextCursor).toBeNull();
    expect(toPage([], 2, String, String)).toEqual({ items: [], nextCursor: null });
  });

  it('refuse a cursor that is not of this list', () => {
    expect(() => readCursor('bm9uc2Vuc2U', NUMBER)).toThrow(ApiError);
  });
});
