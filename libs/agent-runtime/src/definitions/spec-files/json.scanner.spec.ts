import * as fc from 'fast-check';
import { JsonScanner } from './json.scanner.js';

function isValid(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('S4.3 lines in JSON', () => {
  it.each([
    ['', 1],
    ['{\n"a": 1,\n}', 3],
    ['{\n"a": 1\n"b": 2}', 3],
    ['[1,\n2,,\n3]', 2],
    ['{"a":\n\n01}', 3],
    ['{}\n\nx', 3],
    ['{"a": "\n"}', 1],
    ["{\r\n'a': 1}", 2],
    ['{"a": tru}', 1],
    ['[1}', 1],
  ])('finds the error in %j', (text, line) => {
    expect(isValid(text)).toBe(false);
    expect(new JsonScanner(text).errorLine).toBe(line);
  });

  it('finds the lines of the keys of two levels, but not of keys in lists', () => {
    const scanner = new JsonScanner('{\n"a": {\n"b": 1,\n"c": [{"d": 1}]},\n"e": 2}');
    expect(['a', 'e'].map((key) => scanner.lineOf(key))).toEqual([2, 5]);
    expect(['b', 'c', 'd'].map((key) => scanner.lineOf('a', key))).toEqual([3, 4, 2]);
    expect(scanner.lineOf('missing')).toBe(1);
  });

  it('finds keys of the first level that occur twice', () => {
    expect([...new JsonScanner('{"a": {"b": 1, "b": 2}, "\\u0061": 3}').duplicates]).toEqual(['a']);
  });

  it.each(['x', '\\n', '\\u0041', 'é'])('reads a text of half a million characters: %s', (part) => {
    const scanner = new JsonScanner(`{"a": "${part.repeat(500_000 / part.length)}",\n"b": 1}`);
    expect([scanner.isComplete, scanner.lineOf('b')]).toEqual([true, 2]);
  });

  it('reads half a million levels', () => {
    expect(new JsonScanner('['.repeat(500_000)).isComplete).toBe(false);
  });

  it('agrees with JSON.parse on what is valid', () => {
    const token = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '1',
      '-0.5e3',
      'null',
      ' ',
      '\n',
      '"\\u12"',
      'x',
    );
    const text = fc.oneof(
      fc.array(token, { maxLength: 12 }).map((tokens) => tokens.join('')),
      fc.json(),
    );
    fc.assert(
      fc.property(text, (json) => {
        expect(new JsonScanner(json).isComplete).toBe(isValid(json));
      }),
      { numRuns: 2_000 },
    );
  });
});
