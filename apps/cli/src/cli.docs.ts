import type { Command } from './command.js';
import { EXIT_MEANINGS } from './failure.js';
import { argumentText, flagsOf, GLOBAL_OPTIONS, optionsOf } from './program.js';
import { COMMANDS } from './table.js';

/** The reference of docs/cli.md. */
export function commandReference(): string {
  const index = ['| command | |', '| --- | --- |', ...COMMANDS.map(indexRow)];
  return [...index, '', ...COMMANDS.flatMap(section)].join('\n').trimEnd();
}

/** The tables of global options and of exit codes. */
export function globalOptionTable(): string {
  const rows = Object.entries(GLOBAL_OPTIONS).map(([name, spec]) => optionRow(name, spec));
  return ['| option | |', '| --- | --- |', ...rows].join('\n');
}

export function exitCodeTable(): string {
  const rows = Object.entries(EXIT_MEANINGS).map(([code, meaning]) => `| ${code} | ${meaning} |`);
  return ['| code | meaning |', '| --- | --- |', ...rows].join('\n');
}

function indexRow({ name, about }: Command): string {
  return `| [${name}](#rollcall-${name.replaceAll(' ', '-')}) | ${about} |`;
}

function section(row: Command): string[] {
  const words = Object.keys(row.arguments).map(argumentText);
  const options = Object.entries(optionsOf(row));
  const table = [
    ...Object.entries(row.arguments).map(([name, about]) => `| \`${argumentText(name)}\` | ${about} |`),
    ...options.map(([name, spec]) => optionRow(name, spec)),
  ];
  return [
    `### rollcall ${row.name}`,
    '',
    `${row.about}${row.details === undefined ? '' : ` ${row.details}`}`,
    '',
    '```sh',
    `# rollcall ${[row.name, ...words, ...(options.length > 0 ? ['[options]'] : [])].join(' ')}`,
    row.example,
    '```',
    '',
    ...(table.length > 0 ? ['| argument or option | |', '| --- | --- |', ...table, ''] : []),
    ...(row.permission === undefined ? [] : [`Permission: \`${row.permission}\`.`, '']),
  ];
}

function optionRow(name: string, spec: ReturnType<typeof optionsOf>[string]): string {
  const choices = 'choices' in spec && spec.choices ? ` One of: ${spec.choices.join(', ')}.` : '';
  const needed = spec.kind !== 'flag' && spec.required === true ? ' Required.' : '';
  return `| \`${flagsOf(name, spec)}\` | ${spec.about}${choices}${needed} |`.replaceAll('*', String.raw`\*`);
}
