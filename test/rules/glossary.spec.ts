import { globSync, readFileSync } from 'node:fs';

/** The name of a test or a group of tests, from its opening quote on. */
const NAME = /\b(?:it|describe|ring)(?:\.each\([^\n]*\))?\(\s*(['"`])(.*?)\1/g;
const ID = /\b(?:S\d\.\d{1,2}|[ABDF]\d{1,2})\b/g;

function idsInTestNames(): string[] {
  const files = globSync(['libs/**/*spec.ts', 'apps/**/*spec.ts', 'test/**/*spec.ts']);
  const names = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(NAME)].map(([, , name = '']) => name));
  return [...new Set(names.flatMap((name) => name.match(ID) ?? []))].toSorted();
}

describe('docs/glossary.md', () => {
  it('explains every requirement id in a test name exactly once', () => {
    const rows = readFileSync('docs/glossary.md', 'utf8').matchAll(/^\| ([SABDF]\d{1,2}(?:\.\d{1,2})?) +\|/gm);
    const explained = [...rows].map(([, id = '']) => id);
    expect(explained.length).toBe(new Set(explained).size);
    expect(idsInTestNames().filter((id) => !explained.includes(id))).toEqual([]);
    expect(idsInTestNames().length).toBeGreaterThan(40);
  });
});
