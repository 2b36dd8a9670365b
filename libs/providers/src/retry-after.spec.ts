import { readRetryAfter } from './retry-after.js';

const NOON = 'Mon, 16 Nov 2026 12:00:00 GMT';
const A_DAY = 86_400_000;

describe('S1.10 how long to wait', () => {
  it.each([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['a fraction of a second', { 'retry-after': ' 1.5 ' }, 1_500],
    ['nothing at all', { 'retry-after': '0' }, 0],
    ['milliseconds, which are more exact', { 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [
      'a date, read against the date of the answer',
      { 'retry-after': 'Mon, 16 Nov 2026 12:00:30 GMT', date: NOON },
      30_000,
    ],
    ['a date that has passed', { 'retry-after': 'Mon, 16 Nov 2026 11:59:00 GMT', date: NOON }, 0],
    ['more than a day', { 'retry-after': '99999999999' }, A_DAY],
    ['for ever', { 'retry-after-ms': `1${'0'.repeat(400)}` }, A_DAY],
  ])('is told by %s', (_what, headers, wait) => {
    expect(readRetryAfter(headers)).toBe(wait);
  });

  it.each([
    ['nothing', {}],
    ['words', { 'retry-after': 'soon' }],
    ['a negative number', { 'retry-after': '-1', 'retry-after-ms': '-1' }],
    ['a number with a tail', { 'retry-after': '5abc', 'retry-after-ms': '5abc' }],
    ['infinity', { 'retry-after-ms': 'Infinity' }],
    ['a date without another to compare it with', { 'retry-after': NOON }],
  ])('is not told by %s', (_what, headers) => {
    expect(readRetryAfter(headers)).toBeUndefined();
  });
});
