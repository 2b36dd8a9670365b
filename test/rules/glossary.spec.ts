import { globSync, readFileSync } from 'node:fs';

/** The name of a test or a group of tests, from its opening quote on. The name of `it.each([…])` follows a closing parenthesis. */
const NAME = /(?:\b(?:it|describe|ring)|\))\(\s*(['"`])(.*?)\1/g;
const ID = /\b(?:S\d\.\d{1,2}|[ABCDFN]\d{1,2})\b/g;

function idsIn(source: string): string[] {
  return [...source.matchAll(NAME)].flatMap(([, , name = '']) => name.match(ID) ?? []);
}

function idsInTestNames(): string[] {
  const files = globSync(['libs/**/*spec.ts', 'apps/**/*spec.ts', 'test/**/*spec.ts']);
  return [...new Set(files.flatMap((file) => idsIn(readFileSync(file, 'utf8'))))].toSorted();
}

describe('docs/glossary.md', () => {
  it('explains every requirement id in a test name exactly once', () => {
    const rows = readFileSync('docs/glossary.md', 'utf8').matchAll(/^\| ([SABCDFN]\d{1,2}(?:\.\d{1,2})?) +\|/gm);
    const explained = [...rows].map(([, id = '']) => id);
    expect(explained.length).toBe(new Set(explained).size);
    expect(idsInTestNames().filter((id) => !explained.includes(id))).toEqual([]);
    expect(idsInTestNames().length).toBeGreaterThan(40);
  });

  it('the check reads the name of an it.each that spans several lines', () => {
    const source = [
      'it.each([',
      "  ['S0.1 (a row)', f(1)],",
      "] as const)('S0.2 %s', () => {});",
      "it('S0.3 x');",
    ].join('\n');
    expect(idsIn(source)).toEqual(['S0.2', 'S0.3']);
  });
});
