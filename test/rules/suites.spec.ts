import { existsSync, globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { select, summary } from '../../bench/support/suite.js';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');
const programsIn = (path: string): string[] =>
  [...read(path).matchAll(/program: '([\w.-]+)'/g)].map(([, name]) => name ?? '');

/** The first one compares two commits, and the second one uses no HTTP, so `npm run bench:all` does not run them. */
const SEPARATE = new Set(['against.bench', 'directory.bench']);

describe('npm run storm and npm run bench:all', () => {
  it('C7 run every storm and every benchmark', () => {
    const files = globSync('bench/*.ts', { cwd: ROOT }).map((path) => path.slice('bench/'.length, -'.ts'.length));
    const benches = files.filter((name) => name.endsWith('.bench') && !SEPARATE.has(name));
    expect(programsIn('bench/all.ts').toSorted()).toEqual(benches.toSorted());
    const storms = files.filter((name) => /-storm$|^frozen-postgres$/.test(name));
    expect(programsIn('bench/storms.ts').toSorted()).toEqual(storms.toSorted());
    for (const name of [...benches, ...storms]) expect(existsSync(resolve(ROOT, 'bench', `${name}.ts`))).toBe(true);
  });

  it('select programs by name, and reject an unknown name or option', () => {
    const entries = ['a', 'b'].map((name) => ({ name, program: name, about: '' }));
    const names = (...given: string[]): string[] => select(entries, given).map(({ name }) => name);
    expect([names(), names('--small'), names('b')]).toEqual([['a', 'b'], ['a', 'b'], ['b']]);
    expect(() => names('c')).toThrow('c is unknown. Use --small or: a, b');
    expect(() => names('--fast')).toThrow('--fast is unknown');
  });

  it('print a table with the result of each program, its targets and the total', () => {
    const results = [
      { name: 'heal', passed: true, seconds: 31, lines: ['{"evicted":0}'] },
      { name: 'heartbeat', passed: false, seconds: 7, lines: ['target: x ≥ 2', 'target: y ≥ 1'] },
    ];
    expect(summary(results).split('\n')).toEqual([
      'heal       passed    31 s  {"evicted":0}',
      'heartbeat  FAILED     7 s  target: x ≥ 2',
      `${' '.repeat(27)}target: y ≥ 1`,
      '',
      '1 of 2 failed.',
    ]);
  });
});
