import { type Ordered, pageOf, type PageRequest } from './catalog.requests.js';

const all: Ordered<string>[] = ['d', 'a', 'c', 'b'].map((name) => ({ key: name < 'c' ? '1' : '2', name, value: name }));
const page = (more: Partial<PageRequest> = {}, of = all): { items: readonly string[]; pageToken?: string } =>
  pageOf(of, { request: 'list', pageSize: 2, ...more });
const INVALID = expect.objectContaining({ code: 'MALFORMED_REQUEST' }) as Error;
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('pages of entries', () => {
  it('pages are in the order of key and name, and the last page has no token', () => {
    const first = page();
    expect(first.items).toEqual(['a', 'b']);
    expect(page({ pageToken: first.pageToken })).toEqual({ items: ['c', 'd'] });
    expect(page({ descending: true }).items).toEqual(['c', 'd']);
    expect(page({ pageSize: 4 })).not.toHaveProperty('pageToken');
    expect(page({}, [])).toEqual({ items: [] });
  });

  it('an element that is added or removed between two pages does not repeat or hide another element', () => {
    const { pageToken } = page();
    const changed = [...all.filter(({ name }) => name !== 'b'), { key: '0', name: 'e', value: 'e' }];
    expect(page({ pageToken }, changed).items).toEqual(['c', 'd']);
  });

  it('a token of another request is rejected', () => {
    const { pageToken } = page();
    expect(() => page({ pageToken, request: 'other' })).toThrow(INVALID);
  });

  it.each(['', 'forged', '%00', encoded({}), encoded([]), encoded(['x', 'y', 'z']), encoded([1, 2, 3]), encoded(null)])(
    'the token %j is rejected',
    (pageToken) => {
      expect(() => page({ pageToken })).toThrow(INVALID);
    },
  );
});
