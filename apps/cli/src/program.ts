import {
  Command as Commander,
  CommanderError,
  InvalidArgumentError,
  Option,
  type OutputConfiguration,
} from 'commander';
import type { Command, OptionSpec } from './command.js';
import type { ConnectionOptions } from './connection/connection.js';
import { usageError } from './failure.js';
import type { Io } from './io.js';
import { type Format, FORMATS } from './output/output.js';
import { parseSpan } from './output/text.js';

/** Options of every command. */
export const GLOBAL_OPTIONS = {
  output: { kind: 'text', short: 'o', value: 'FORMAT', about: 'Format of the result and of errors.', choices: FORMATS },
  url: { kind: 'text', value: 'URL', about: 'Address of the server (environment: ROLLCALL_URL).' },
  keyFile: { kind: 'text', value: 'FILE', about: 'File with the key (environment: ROLLCALL_KEY, ROLLCALL_KEY_FILE).' },
  context: { kind: 'text', value: 'NAME', about: 'Context of `rollcall login` (environment: ROLLCALL_CONTEXT).' },
  namespace: {
    kind: 'text',
    short: 'n',
    value: 'NAME',
    about: 'Namespace, for a key of several (environment: ROLLCALL_NAMESPACE).',
  },
  timeout: { kind: 'duration', value: 'TIME', about: 'Time limit of the command, such as 30s or 5m.' },
} satisfies Record<string, OptionSpec>;

export interface GlobalValues extends ConnectionOptions {
  readonly output?: Format;
  readonly timeout?: number;
}

/** All commands, and what the first word of a command with two words stands for. */
export interface CommandTable {
  readonly commands: readonly Command[];
  readonly groups: Readonly<Record<string, string>>;
}

export type Action = (
  command: Command,
  args: Readonly<Record<string, unknown>>,
  options: Readonly<Record<string, unknown>>,
  globals: GlobalValues,
) => Promise<void>;

export const YES = { kind: 'flag', short: 'y', about: 'Do not ask.' } as const;

/** The options of a command, with those that follow from its row. */
export function optionsOf({ options, destroys = false }: Command): Readonly<Record<string, OptionSpec>> {
  return destroys ? { ...options, yes: YES } : options;
}

/** Makes the parser of the command line from the table. */
export function programFor(
  { commands, groups: titles }: CommandTable,
  version: string,
  io: Io,
  action: Action,
): Commander {
  const program = new Commander('rollcall')
    .description('Registry, discovery and runtime for AI agents.')
    .version(version, '--version', 'Print the version.')
    .helpOption('-h, --help', 'Print this help.')
    .helpCommand(false)
    .usage('COMMAND [options]')
    .configureOutput(outputFor(io))
    .configureHelp({ showGlobalOptions: true });
  program.exitOverride(namingHelpOf(program));
  for (const [name, spec] of Object.entries(GLOBAL_OPTIONS)) program.addOption(optionFor(name, spec));
  const groups = new Map<string, Commander>();
  for (const row of commands) {
    const [first = '', second] = row.name.split(' ');
    if (second === undefined) addLeaf(program, first, row, action);
    else addLeaf(groupOf(program, groups, first, titles[first] ?? ''), second, row, action);
  }
  program.addHelpText(
    'after',
    '\nExample:\n  $ rollcall agents list\n\nHelp of a command: rollcall agents list --help. All commands: docs/cli.md.',
  );
  return program;
}

function groupOf(program: Commander, groups: Map<string, Commander>, name: string, title: string): Commander {
  const known = groups.get(name);
  if (known) return known;
  const group = inherit(program, new Commander(name)).description(title).usage('COMMAND [options]');
  program.addCommand(group);
  groups.set(name, group);
  return group;
}

function inherit(parent: Commander, child: Commander): Commander {
  return child.copyInheritedSettings(parent).helpCommand(false).exitOverride(namingHelpOf(child));
}

/** Adds to an error the command whose help explains it. */
function namingHelpOf(command: Commander): (error: CommanderError) => never {
  return (error) => {
    const names: string[] = [];
    for (let one: Commander | null = command; one; one = one.parent) names.unshift(one.name());
    throw Object.assign(error, { helpOf: names.join(' ') });
  };
}

function addLeaf(parent: Commander, name: string, row: Command, action: Action): void {
  const leaf = inherit(parent, new Commander(name)).description(sentences(row)).summary(row.about);
  const names = Object.keys(row.arguments);
  for (const declared of names) leaf.argument(argumentText(declared), row.arguments[declared] ?? '');
  for (const [option, spec] of Object.entries(optionsOf(row))) leaf.addOption(optionFor(option, spec));
  leaf.addHelpText('after', `\nExample:\n  $ ${row.example}`);
  leaf.action(async (...given: unknown[]) => {
    const args = Object.fromEntries(names.map((declared, at) => [declared.replace(/\?$|\.\.\.$/, ''), given[at]]));
    await action(row, args, valuesOf(row, leaf.opts()), globalsOf(leaf));
  });
  parent.addCommand(leaf);
}

function sentences({ about, details, permission }: Command): string {
  const needs = permission === undefined ? '' : `\n\nThe key needs the permission ${permission}.`;
  return `${about}${details === undefined ? '' : `\n\n${details}`}${needs}`;
}

/** The declared options; a flag that was not given is false. */
function valuesOf(row: Command, given: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(optionsOf(row));
  return Object.fromEntries(
    entries.map(([name, { kind }]) => [name, given[name] ?? (kind === 'flag' ? false : undefined)]),
  );
}

function globalsOf(leaf: Commander): GlobalValues {
  const root = leaf.parent?.parent ?? leaf.parent;
  return root?.opts<GlobalValues>() ?? {};
}

/** `id` → `<ID>`, `id?` → `[ID]`, `paths...` → `<PATHS...>` */
export function argumentText(declared: string): string {
  const name = declared.replace(/\?$|\.\.\.$/, '').toUpperCase();
  if (declared.endsWith('...')) return `<${name}...>`;
  return declared.endsWith('?') ? `[${name}]` : `<${name}>`;
}

/** `keyFile` → `--key-file <FILE>` */
export function flagsOf(name: string, spec: OptionSpec): string {
  const long = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const flags = spec.short === undefined ? long : `-${spec.short}, ${long}`;
  return spec.kind === 'flag' ? flags : `${flags} <${spec.value}>`;
}

function optionFor(name: string, spec: OptionSpec): Option {
  const option = new Option(flagsOf(name, spec), spec.about);
  if (spec.kind === 'flag') return option;
  const choices = 'choices' in spec ? spec.choices : undefined;
  if (choices) option.choices(choices);
  option.makeOptionMandatory(spec.required === true);
  const read = READERS[spec.kind];
  if (read) option.argParser((value: string, before: unknown) => read(value, before, choices));
  return option;
}

type Reader = (value: string, before: unknown, choices?: readonly string[]) => unknown;

const READERS: Partial<Record<OptionSpec['kind'], Reader>> = {
  number: (value) => {
    if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
    throw new InvalidArgumentError('It must be a number.');
  },
  usd: (value) => {
    if (/^\d+(\.\d{1,6})?$/.test(value)) return Math.round(Number(value) * 1_000_000);
    throw new InvalidArgumentError('It must be an amount of US dollars such as 0.25.');
  },
  duration: (value) => {
    const ms = parseSpan(value);
    if (ms !== undefined) return ms;
    throw new InvalidArgumentError('It must be a time such as 30s, 5m or 2h.');
  },
  list: (value, before, choices) => {
    const values = value.split(',').map((one) => one.trim());
    const wrong = choices && values.find((one) => !choices.includes(one));
    if (wrong !== undefined) throw new InvalidArgumentError(`Allowed choices are ${choices?.join(', ')}.`);
    return [...((before as string[] | undefined) ?? []), ...values];
  },
};

/** Errors are reported by `main`, in the chosen format. */
function outputFor({ stdout, stderr }: Io): OutputConfiguration {
  return {
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
    outputError: () => {},
    getOutHelpWidth: () => stdout.columns ?? 100,
    getErrHelpWidth: () => stderr.columns ?? 100,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  };
}

/** Returns undefined if the help or the version was printed, which is no error. */
export function usageFailure(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help') return usageError('A command is missing. The list is above.');
  const [message = ''] = error.message.replace(/^error: /, '').split('\n');
  const suggestion = /\(Did you mean .*\)/.exec(error.message)?.[0];
  const { helpOf = 'rollcall' } = error as { helpOf?: string };
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return usageError(
    `${text}${/[.?)]$/.test(text) ? '' : '.'}${suggestion === undefined ? '' : ` ${suggestion}`} See: ${helpOf} --help`,
  );
}
