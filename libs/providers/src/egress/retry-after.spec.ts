import { readRetryAfter } from './retry-after.js';

const NOON = 'Mon, 16 Nov 2026 12:00:00 GMT';
const A_DAY = 86_400_000;

describe('S1.10 readRetryAfter', () => {
  it.each([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['a fraction of a second', { 'retry-after': ' 1.5 ' }, 1_500],
    ['a delay of 0', { 'retry-after': '0' }, 0],
    ['milliseconds, which have priority over seconds', { 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [
      'a date, relative to the Date header of the response',
      { 'retry-after': 'Mon, 16 Nov 2026 12:00:30 GMT', date: NOON },
      30_000,
    ],
    ['a date in the past', { 'retry-after': 'Mon, 16 Nov 2026 11:59:00 GMT', date: NOON }, 0],
    ['more than a day, which is limited to a day', { 'retry-after': '99999999999' }, A_DAY],
    ['a number that overflows, which is limited to a day', { 'retry-after-ms': `1${'0'.repeat(400)}` }, A_DAY],
  ])('reads %s', (_what, headers, delayMs) => {
    expect(readRetryAfter(headers)).toBe(delayMs);
  });

  it.each([
    ['missing headers', {}],
    ['text', { 'retry-after': 'soon' }],
    ['a negative number', { 'retry-after': '-1', 'retry-after-ms': '-1' }],
    ['a number followed by letters', { 'retry-after': '5abc', 'retry-after-ms': '5abc' }],
    ['infinity', { 'retry-after-ms': 'Infinity' }],
    ['a date without a Date header to compare it with', { 'retry-after': NOON }],
  ])('returns undefined for %s', (_what, headers) => {
    expect(readRetryAfter(headers)).toBeUndefined();
  });
});
