import { closestName, suggestion } from './closest.name.js';

describe('suggestions for misspelled names', () => {
  it.each([
    ['clok', 'clock'],
    ['clokc', 'clock'],
    ['lcock', 'clock'],
    ['httpFetch', 'http_fetch'],
    ['http_fecth', 'http_fetch'],
    ['kc', undefined],
    ['search', undefined],
    ['c'.repeat(200), undefined],
  ])('for %s it is %s', (name, expected) => {
    expect(closestName(name, ['clock', 'http_fetch', 'recall'])).toBe(expected);
  });

  it('is a part of a sentence, and empty if no name is similar', () => {
    expect([suggestion('clokc', ['clock']), suggestion('x', ['clock'])]).toEqual([' (did you mean clock?)', '']);
  });
});
