import { join } from 'node:path';
import { layoutOf, namesDeclaredTwice } from '../../bin/layout-report.js';

const ROOT = join(import.meta.dirname, '../..');

/** The exported names that two files may declare, each with its reason. A new pair needs another name, or one shared declaration. */
const APART =
  'the command line and the console format for a terminal and for a page, and neither may depend on the other';
const PERMITTED: Record<string, string> = { age: APART, count: APART, money: APART };

describe('one word, one meaning', () => {
  it('no exported name is declared by two files, except the permitted ones', () => {
    const twice = namesDeclaredTwice(layoutOf(ROOT)).map(([name, paths]) => `${name}: ${paths.join(', ')}`);
    expect(twice.filter((line) => !(line.slice(0, line.indexOf(':')) in PERMITTED))).toEqual([]);
  });
});
