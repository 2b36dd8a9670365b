import type { Random } from './random.js';
import { rawJson } from './slots.js';

/** Names that every object inherits, and names with a special meaning in JavaScript. */
export const INHERITED_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'valueOf',
  'toString',
  'hasOwnProperty',
  '__defineGetter__',
  'then',
  'toJSON',
  'length',
];

const SHORT_TEXTS = [
  ['', ' ', '\0', 'a\0b', '\u0001', 'a\r\nb', '\t', '\u007f', '\u0085', '\ud800', '\udc00a', '\uffff', '\u{10ffff}'],
  ['\u202eabc', '\ufeff', '\u200b', '\u2028', 'İ', 'ß', 'ﬀ', 'e\u0301', '👩‍👩‍👧‍👦', '１２', 'Ǆ', 'K'],
  ["'; DROP TABLE agent; --", '$1', '\\', '\\x00', '%', '_', '%s%n', '${7*7}', '<script>alert(1)</script>', '`id`'],
  ['../../etc/passwd', '..', '.', '/', '%2e%2e%2f', '%00', '%', '%zz', '*', '**', 'agent.*', '.*', 'a..b', '.a', 'a.'],
  ['NaN', 'Infinity', '-Infinity', '-0', '0x10', '1e309', '1_000', '1e3', '+1', '-1', '1.5', ' 1', '1 ', '0'],
  ['9007199254740993', '9223372036854775808', '99999999999999999999', '000000000000001', '2147483648'],
  ['null', 'undefined', 'true', 'false', '[]', '{}', '[object Object]', 'oldest', 'latest', 'total', 'fleet'],
  [
    '2026-02-30T25:61:61Z',
    '+275760-09-13T00:00:00.001Z',
    '0000-00-00',
    '2026-01-01T00:00:00+99:99',
    '-000001-01-01T00:00:00Z',
  ],
  [
    'http://[::1',
    'https://127.0.0.1\\@169.254.169.254/',
    'javascript:alert(1)',
    'http://0x7f.1/',
    'file:///etc/passwd',
  ],
  ['https://127.0.0.1:99999', 'https://user:pass@127.0.0.1/', 'https://127.0.0.1/\u0000', 'https://', '//127.0.0.1'],
  [
    'UTC+25',
    'Etc/GMT+99',
    'Europe/Berlin',
    'rl_',
    'rk_',
    'rl_x',
    'Bearer x',
    'eyJhbGciOiJub25lIn0.e30.',
    '""',
    'W/"1"',
    '"0"',
  ],
].flat();

/** Repetitions of these texts are slow for a bad regular expression or a quadratic loop. */
const REPEATED = [
  ' ',
  'a',
  '.',
  ' . ',
  'a.',
  '0',
  '\t',
  '-',
  '/',
  ',',
  'a,',
  '%',
  '\\',
  '"',
  '{',
  '[',
  '🙂',
  'é',
  '\n',
  'aA',
  '1.',
  ':',
];
const SHORT_LENGTHS = [2, 17, 64, 65, 101, 128, 129, 200, 201, 256, 257, 301, 501, 1_001, 2_001];
const LONG_LENGTHS = [5_000, 16_385, 65_536, 120_000, 200_000];
const NUMBERS = [
  ['0', '-0', '-1', '1', '1.5', '-1.5', '1e-7', '5e-324', '0.1', '100', '101', '200', '201', '1000', '1001', '10001'],
  ['2147483647', '2147483648', '-2147483649', '4294967296', '604801', '2592001', '1000000000000', '1000000000001'],
  ['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993', '9223372036854775807'],
  [
    '9223372036854775808',
    '18446744073709551616',
    '1e21',
    '1e308',
    '1e400',
    '-1e400',
    '1E+2',
    '8640000000000001',
    '253402300800000',
  ],
].flat();
const ARRAY_LENGTHS = [0, 2, 17, 65, 101, 201, 1_001, 5_000];
/** Several times the largest body that a server accepts. Without a limit, repeated long items exceed the longest string of V8. */
const MAX_ARRAY_CHARS = 5_000_000;

export function hostileText(random: Random): string {
  if (random.chance(0.65)) return random.pick(random.chance(0.15) ? INHERITED_NAMES : SHORT_TEXTS);
  const unit = random.pick(REPEATED);
  const text = unit.repeat(Math.ceil(random.pick(random.chance(0.6) ? SHORT_LENGTHS : LONG_LENGTHS) / unit.length));
  return random.chance(0.3) ? `a${text}!` : text;
}

/** Almost as long as the maximum body: quadratic time is visible only with such lengths. */
export function longText(random: Random): string {
  const unit = random.pick([' ', ' . ', '.', 'a.', 'a', '0', '\t', '-', ':']);
  return `a${unit.repeat(Math.ceil(random.pick([14_000, 120_000, 240_000]) / unit.length))}!`;
}

/** Returns JSON text, because JavaScript cannot represent many of these numbers exactly. */
export function hostileNumber(random: Random): string {
  return random.pick(NUMBERS);
}

export function hostileArray(random: Random, items: readonly unknown[]): unknown[] {
  const itemChars = JSON.stringify(items).length / Math.max(1, items.length);
  const length = Math.min(random.pick(ARRAY_LENGTHS), Math.ceil(MAX_ARRAY_CHARS / itemChars));
  const hostile = random.chance(0.5) ? hostileText(random).slice(0, 300) : undefined;
  return Array.from({ length }, (_, index) => hostile ?? items[index % Math.max(1, items.length)] ?? `item-${index}`);
}

/** A value whose type differs from the type of the field. */
export function wrongType(random: Random): unknown {
  return random.pick<() => unknown>([
    () => null,
    () => random.chance(0.5),
    () => [],
    () => ({}),
    () => [null],
    () => [[]],
    () => '',
    () => rawJson(hostileNumber(random)),
    () => hostileText(random),
    () => ({ [random.pick(INHERITED_NAMES)]: random.pick<unknown>([1, null, 'x', {}]) }),
    () => ({ length: 1e9 }),
    () => ({ min: rawJson(hostileNumber(random)), max: rawJson(hostileNumber(random)) }),
    () => nested(random.pick([2, 10, 60, 64, 65, 500])),
    () => manyKeys(random.pick([65, 1_000, 5_000])),
  ])();
}

export function manyKeys(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, index]));
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
