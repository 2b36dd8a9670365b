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
  ])('the suggestion for %s is %s', (name, expected) => {
    expect(closestName(name, ['clock', 'http_fetch', 'recall'])).toBe(expected);
  });

  it('a suggestion is a part of a sentence, and is empty if no name is similar', () => {
    expect([suggestion('clokc', ['clock']), suggestion('x', ['clock'])]).toEqual([' (did you mean clock?)', '']);
  });
});
