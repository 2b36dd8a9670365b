import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { PERMISSIONS } from '../../apps/api/src/auth/permissions.js';
import { OPTIONS } from '../../apps/api/src/boot/arguments.js';
import { commandReference, exitCodeTable, globalOptionTable } from '../../apps/cli/src/cli.docs.js';
import { completionFor } from '../../apps/cli/src/completion.js';
import { flagsOf } from '../../apps/cli/src/program.js';
import { COMMANDS, GROUPS } from '../../apps/cli/src/table.js';

const PAGE = readFileSync(resolve(import.meta.dirname, '../../docs/cli.md'), 'utf8');
/** The text without the formatting of tables, which the formatter changes. */
const unformatted = (text: string): string => text.replaceAll(/[ -]+/g, ' ').replaceAll(/ *\| */g, '|');

/** What the completion for bash offers after these words; the last one is the word in progress. */
function completed(...words: string[]): string[] {
  const script = `${completionFor('bash', COMMANDS)}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rollcall; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['-c', script, 'bash', 'rollcall', ...words], { encoding: 'utf8' });
  return output.split('\n').filter((line) => line !== '');
}

describe('the table of commands (S1.11)', () => {
  it('has each name once, a description for each first word, and an example that uses the command', () => {
    const names = COMMANDS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    const groups = names.filter((name) => name.includes(' ')).map((name) => name.split(' ')[0] ?? '');
    expect(Object.keys(GROUPS).toSorted()).toEqual([...new Set(groups)].toSorted());
    for (const { name, example } of COMMANDS) expect(example).toMatch(new RegExp(`\\brollcall ${name}\\b`));
  });

  it('names only permissions that exist', () => {
    const named = COMMANDS.flatMap(({ permission }) => (permission === undefined ? [] : [permission]));
    expect(named.filter((permission) => !(PERMISSIONS as readonly string[]).includes(permission))).toEqual([]);
  });

  it('describes the options of `start` as the server reads them', () => {
    const { options = {} } = COMMANDS.find(({ name }) => name === 'start') ?? {};
    const described = Object.entries(options).map(([name, spec]) => [
      /--([\w-]+)/.exec(flagsOf(name, spec))?.[1],
      spec.about,
    ]);
    expect(described).toEqual(Object.entries(OPTIONS).map(([name, { about }]) => [name, about]));
  });

  it.each([
    ['commands', commandReference],
    ['global options', globalOptionTable],
    ['exit codes', exitCodeTable],
  ])('docs/cli.md has the %s of the table (update: npm run docs)', (_, reference) => {
    const lines = reference().split('\n').map(unformatted);
    expect(lines.filter((line) => !unformatted(PAGE).includes(line))).toEqual([]);
  });

  it('docs/cli.md has no command that is not in the table', () => {
    const headings = [...PAGE.matchAll(/^### rollcall (.+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(COMMANDS.map(({ name }) => name));
  });
});

describe('the completion', () => {
  it.each([
    [['age'], ['agents']],
    [
      ['agents', 'q'],
      ['query', 'quarantine'],
    ],
    [['agents', 'list', '--st'], ['--status']],
    [['runs', 'list', '-o', 'y'], ['yaml']],
    [['runs', 'get', 'some-id', '--out'], ['--output']],
    [['run', 'a task', '--def'], ['--definition']],
  ])('completes %j in bash', (words, expected) => {
    expect(completed(...words)).toEqual(expected);
  });

  it('offers every command and every option in fish', () => {
    const script = completionFor('fish', COMMANDS);
    for (const { name, options } of COMMANDS) {
      expect(script).toContain(` -a ${name.split(' ')[1] ?? name}`);
      for (const [option, spec] of Object.entries(options))
        expect(script).toContain(` -l ${/--([\w-]+)/.exec(flagsOf(option, spec))?.[1]}`);
    }
  });
});
