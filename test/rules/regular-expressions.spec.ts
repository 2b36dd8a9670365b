import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import ts from 'typescript';
import { HOSTILE_STRINGS, quickest } from '../support/hostile-values.js';

const ROOT = resolve(import.meta.dirname, '../..');
const LIMIT_MS = 50;
/** Small sizes first: a quadratic expression shows on 10 KB, and would take minutes on 100 KB. */
const SIZES = [1_000, 10_000, 100_000];

interface FoundExpression {
  where: string;
  expression: RegExp;
}

/** Every regular expression literal in the sources, without tests. */
function expressions(): FoundExpression[] {
  return globSync('{apps,libs}/*/src/**/*.{ts,tsx}', { cwd: ROOT })
    .filter((file) => !/\.spec\.ts$|\/testing\//.test(file))
    .flatMap((file) => literalsIn(file, readFileSync(resolve(ROOT, file), 'utf8')));
}

function literalsIn(file: string, text: string): FoundExpression[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const found: FoundExpression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node))
      found.push({ where: `${file}: ${node.text}`, expression: read(node.text) });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function read(literal: string): RegExp {
  const end = literal.lastIndexOf('/');
  return new RegExp(literal.slice(1, end), `${literal.slice(end + 1).replace('g', '')}g`);
}

/** Describes the first text on which the expression is too slow. */
async function slowOn({ where, expression }: FoundExpression): Promise<string[]> {
  for (const size of SIZES) {
    for (const [kind, whole] of Object.entries(HOSTILE_STRINGS)) {
      const text = whole.slice(0, size - 1) + whole.slice(-1);
      const took = await quickest(LIMIT_MS, () => text.replace(expression, ''));
      if (took > LIMIT_MS) return [`${where} takes ${Math.round(took)} ms on ${size} characters of ${kind}`];
    }
  }
  return [];
}

describe('regular expressions', () => {
  it('A1 A18 every regular expression in the sources is linear: 100 KB take less than 50 ms', async () => {
    const found = expressions();
    expect(found.length).toBeGreaterThan(40);
    const slow: string[] = [];
    for (const one of found) slow.push(...(await slowOn(one)));
    expect(slow).toEqual([]);
  }, 120_000);

  it('a quadratic expression is reported', async () => {
    const where = 'the former normal form of capabilities';
    expect(await slowOn({ where, expression: /\s*\.\s*/g })).toHaveLength(1);
  });
});
