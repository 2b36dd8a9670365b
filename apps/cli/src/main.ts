import { existsSync, readFileSync } from 'node:fs';
import type { Rollcall } from '#rollcall/client';
import type { Command, Session } from './command.js';
import { findConnection } from './connection/connection.js';
import { CommandError, EXIT, type ExitCode, describeFailure, usageError } from './failure.js';
import { InterruptedError, type Io } from './io.js';
import { type Format, FORMATS, Output } from './output/output.js';
import { type GlobalValues, programFor, usageFailure } from './program.js';
import { COMMANDS, GROUPS } from './table.js';

/** A lost connection is repeated once only, because a person waits. */
const RETRIES = 1;

/** Runs one command line, without the name of the program. It returns the exit code and never throws. */
export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  let output = new Output(io, formatIn(argv));
  try {
    const program = programFor(
      { commands: COMMANDS, groups: GROUPS },
      versionOf(),
      io,
      async (command, args, options, globals) => {
        output = new Output(io, globals.output ?? 'table');
        exitCode = (await runCommand(command, args, options, globals, { io, output })) ?? EXIT.done;
      },
    );
    await program.parseAsync(wordsFor(argv), { from: 'user' });
    return exitCode;
  } catch (thrown) {
    const error = usageFailure(thrown);
    if (error === undefined) return EXIT.done;
    const failure = describeFailure(io.signal.aborted ? new InterruptedError() : error);
    await output.failure(failure);
    return failure.exitCode;
  }
}

/** `rollcall`, `rollcall help agents list` and `rollcall agents help list` print a help, as `--help` does. */
function wordsFor(argv: readonly string[]): string[] {
  const at = argv[0] !== undefined && argv[0] in GROUPS ? 1 : 0;
  if (argv.length === 0 || argv[at] === 'help') return [...argv.toSpliced(at, 1), '--help'];
  return [...argv];
}

async function runCommand(
  command: Command,
  args: Readonly<Record<string, unknown>>,
  options: Readonly<Record<string, unknown>>,
  globals: GlobalValues,
  { io, output }: { io: Io; output: Output },
): Promise<ExitCode | void> {
  const limit = new TimeLimit(globals.timeout, io);
  const session = new CommandSession(limit.io, output, globals, options['yes'] === true);
  try {
    return await command.run(session, args, options);
  } catch (error) {
    throw limit.isOver ? limit.error() : error;
  } finally {
    limit.end();
  }
}

class CommandSession implements Session {
  readonly commands = COMMANDS;
  private connected?: Promise<Rollcall>;

  constructor(
    readonly io: Io,
    readonly output: Output,
    readonly globals: GlobalValues,
    private readonly isConfirmed: boolean,
  ) {}

  get connection(): Session['connection'] {
    return findConnection(this.globals, this.io);
  }

  /** Handlers take the methods out of the session, so they are bound. */
  readonly client = async (): Promise<Rollcall> => await (this.connected ??= this.connect());

  readonly confirm = async (question: string): Promise<void> => {
    if (this.isConfirmed) return;
    if (!this.io.isInteractive)
      throw usageError(`${question} There is no terminal to answer: repeat the command with --yes.`);
    const answer = await this.io.ask(`${question} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('NOT_CONFIRMED', 'Nothing was changed.');
  };

  private async connect(): Promise<Rollcall> {
    const { url, key, namespace } = this.connection;
    const { rollcallClient } = await import('#rollcall/client');
    const { signal } = this.io;
    return rollcallClient({
      url,
      credential: key,
      retries: RETRIES,
      ...(namespace !== undefined && { namespace }),
      fetch: async (address, init) =>
        await fetch(address, { ...init, signal: AbortSignal.any([signal, ...(init.signal ? [init.signal] : [])]) }),
    });
  }
}

/** Aborts a command after `--timeout`. */
class TimeLimit {
  readonly io: Io;
  isOver = false;
  private readonly timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly ms: number | undefined,
    io: Io,
  ) {
    if (ms === undefined) {
      this.io = io;
      return;
    }
    const controller = new AbortController();
    this.timer = setTimeout(() => {
      this.isOver = true;
      controller.abort(this.error());
    }, ms);
    this.io = { ...io, signal: AbortSignal.any([io.signal, controller.signal]) };
  }

  error(): CommandError {
    return new CommandError('TIMED_OUT', `The command took longer than ${this.ms} ms (--timeout).`, EXIT.notNow);
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

/** The format before the command line is parsed, so that a parsing error is reported in it. */
function formatIn(argv: readonly string[]): Format {
  for (const [at, word] of argv.entries()) {
    const value =
      /^(?:--output=|-o=?)(.+)$/.exec(word)?.[1] ?? (word === '-o' || word === '--output' ? argv[at + 1] : undefined);
    if (FORMATS.includes(value as Format)) return value as Format;
  }
  return 'table';
}

/** Searches the parent folders, because the sources and dist/ have different depths. */
function versionOf(): string {
  for (let folder = new URL('./', import.meta.url); folder.pathname !== '/'; folder = new URL('../', folder)) {
    const manifest = new URL('package.json', folder);
    if (existsSync(manifest)) return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
  }
  return 'unknown';
}
