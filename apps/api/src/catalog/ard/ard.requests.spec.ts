import { readExplore, readList, readSearch } from './ard.requests.js';

const REJECTED = expect.objectContaining({ code: 'MALFORMED_REQUEST' }) as Error;

describe('the requests of ARD', () => {
  it('absent fields get their defaults, and a single filter value becomes a list', () => {
    expect(readSearch({ query: { text: ' rain ', filter: { type: 'a', tags: ['b', 'c'] } } })).toEqual({
      query: { text: 'rain', filter: { type: ['a'], tags: ['b', 'c'] } },
      federation: 'auto',
      pageSize: 10,
    });
    expect(readList({})).toEqual({ filter: '', orderBy: 'identifier', pageSize: 20 });
    expect(readExplore({ resultType: { facets: [{ field: 'type' }] } })).toEqual({
      query: {},
      resultType: { facets: [{ field: 'type', limit: 20, minCount: 1 }] },
    });
  });

  it.each<[name: string, body: unknown]>([
    ['no body', undefined],
    ['no query', {}],
    ['no text', { query: { filter: { type: ['a'] } } }],
    ['an empty text', { query: { text: '  ' } }],
    ['a text that is too long', { query: { text: 'a'.repeat(2_049) } }],
    ['a page size of 0', { query: { text: 'a' }, pageSize: 0 }],
    ['a page size of 101', { query: { text: 'a' }, pageSize: 101 }],
    ['a page size that is not a number', { query: { text: 'a' }, pageSize: 'NaN' }],
    ['an unknown federation', { query: { text: 'a' }, federation: 'all' }],
    ['an unknown field', { query: { text: 'a' }, limit: 1 }],
    ['a filter without values', { query: { text: 'a', filter: { type: [] } } }],
    ['a filter with a number as value', { query: { text: 'a', filter: { type: [1] } } }],
  ])('a search with %s is rejected', (_name, body) => {
    expect(() => readSearch(body)).toThrow(REJECTED);
  });

  it.each(['0', '101', 'NaN', '1.5', '-1', '', ['1', '2']])('a list with the page size %j is rejected', (pageSize) => {
    expect(() => readList({ pageSize })).toThrow(REJECTED);
  });

  it.each<[name: string, body: unknown]>([
    ['no facets', { resultType: { facets: [] } }],
    ['another type of result', { resultType: 'counts' }],
    ['a limit of 0', { resultType: { facets: [{ field: 'type', limit: 0 }] } }],
  ])('an exploration with %s is rejected', (_name, body) => {
    expect(() => readExplore(body)).toThrow(REJECTED);
  });

  it('a rejection names all faults', () => {
    const faults = /query\.text: .*; pageSize: /;
    expect(() => readSearch({ query: { text: '' }, pageSize: 0 })).toThrow(faults);
  });
});
