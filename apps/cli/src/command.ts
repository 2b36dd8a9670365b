import type { Rollcall } from '#rollcall/client';
import type { Connection, ConnectionOptions } from './connection/connection.js';
import type { ExitCode } from './failure.js';
import type { Io } from './io.js';
import type { Output } from './output/output.js';

interface OptionFacts {
  readonly about: string;
  readonly short?: string;
}

/** An option that is on or off. */
interface FlagOption extends OptionFacts {
  readonly kind: 'flag';
}

/** An option with a value. `value` is its name in the help, such as `ID`. */
interface ValueOption<Kind extends string> extends OptionFacts {
  readonly kind: Kind;
  readonly value: string;
  readonly required?: boolean;
}

interface TextOption<Choice extends string = string> extends ValueOption<'text'> {
  readonly choices?: readonly Choice[];
}

interface ListOption<Choice extends string = string> extends ValueOption<'list'> {
  readonly choices?: readonly Choice[];
}

export type OptionSpec =
  | FlagOption
  | TextOption
  | ListOption
  | ValueOption<'number'>
  /** US dollars, such as 0.25. The handler gets micro-dollars. */
  | ValueOption<'usd'>
  /** Such as 30s, 5m or 2h. The handler gets milliseconds. */
  | ValueOption<'duration'>;

/** Makes the options of commands. */
export const option = {
  flag: (about: string, more: { short?: string } = {}): FlagOption => ({ kind: 'flag', about, ...more }),
  text: <const Choice extends string = string>(
    value: string,
    about: string,
    more: { short?: string; choices?: readonly Choice[] } = {},
  ): TextOption<Choice> => ({ kind: 'text', value, about, ...more }),
  /** Comma-separated, or given several times. */
  list: <const Choice extends string = string>(
    value: string,
    about: string,
    more: { short?: string; choices?: readonly Choice[] } = {},
  ): ListOption<Choice> => ({ kind: 'list', value, about, ...more }),
  number: (value: string, about: string): ValueOption<'number'> => ({ kind: 'number', value, about }),
  /** The handler gets micro-dollars. */
  usd: (about: string): ValueOption<'usd'> => ({ kind: 'usd', value: 'USD', about }),
  /** The handler gets milliseconds. */
  duration: (about: string): ValueOption<'duration'> => ({ kind: 'duration', value: 'TIME', about }),
};

/** An option without which the command is wrong. */
export function required<const Option extends TextOption | ListOption>(declared: Option): Option & { required: true } {
  return { ...declared, required: true };
}

type Chosen<Option> = Option extends { choices?: readonly (infer Choice)[] } ? Choice : string;
type ValueOf<Option> = Option extends FlagOption
  ? boolean
  : Option extends { kind: 'number' | 'usd' | 'duration' }
    ? number | undefined
    : Option extends { kind: 'list' }
      ? Chosen<Option>[] | Missing<Option>
      : Chosen<Option> | Missing<Option>;
type Missing<Option> = Option extends { required: true } ? never : undefined;
type ArgumentOf<Name> = Name extends `${string}...`
  ? string[]
  : Name extends `${string}?`
    ? string | undefined
    : string;
type ArgumentName<Name> = Name extends `${infer Plain}...` ? Plain : Name extends `${infer Plain}?` ? Plain : Name;

type Options = Readonly<Record<string, OptionSpec>>;
type Arguments = Readonly<Record<string, string>>;

/** What a handler works with. */
export interface Session {
  readonly io: Io;
  readonly output: Output;
  readonly connection: Connection;
  /** The client is loaded when a command needs it. */
  client(): Promise<Rollcall>;
  /** Asks before something is destroyed. Without a terminal, `--yes` is required. */
  confirm(question: string): Promise<void>;
  /** All commands. */
  readonly commands: readonly Command[];
  /** The options of every command. */
  readonly globals: ConnectionOptions;
}

interface CommandFacts {
  /** One or two words: `agents list`. */
  readonly name: string;
  /** One sentence, in the imperative. */
  readonly about: string;
  /** Further sentences of the help. */
  readonly details?: string;
  /** A command line that works. `$RUN` and the like stand for ids. */
  readonly example: string;
  /** The permission that the key needs; undefined if the command does not call the server, or needs no key. */
  readonly permission?: string;
  /** It destroys something, so it asks first and has `--yes`. */
  readonly destroys?: boolean;
}

interface TypedCommand<A extends Arguments, O extends Options> extends CommandFacts {
  /** The arguments in order. `name?` is optional, and `names...` accepts several. */
  readonly arguments?: A;
  readonly options?: O;
  run(
    session: Session,
    args: { readonly [Name in keyof A as ArgumentName<Name> & string]: ArgumentOf<Name> },
    options: { readonly [Name in keyof O]: ValueOf<O[Name]> },
  ): Promise<ExitCode | void>;
}

/** A row of the table of commands. */
export interface Command extends CommandFacts {
  readonly arguments: Arguments;
  readonly options: Options;
  run(
    session: Session,
    args: Readonly<Record<string, unknown>>,
    options: Readonly<Record<string, unknown>>,
  ): Promise<ExitCode | void>;
}

/** Declares a command. The handler gets arguments and options with the types of their declarations. */
export function command<const A extends Arguments, const O extends Options>(declared: TypedCommand<A, O>): Command {
  return { arguments: {}, options: {}, ...declared };
}
