import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** A stream of the process. `columns` and `isTTY` are set if it is a terminal. */
export interface Sink {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Everything a command reads from and writes to its process, so that a test can run commands in its own process. */
export interface Io {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  /** Whether a person can answer a question. */
  readonly isInteractive: boolean;
  /** Aborted by Ctrl-C, by SIGTERM, and when the terminal is closed. */
  readonly signal: AbortSignal;
  readInput(): Promise<string>;
  /** Asks on stderr. A hidden answer is not shown while it is typed. */
  ask(question: string, options?: { hidden?: boolean }): Promise<string>;
}

/** The streams, the environment and the signals of this process. */
export function processIo(): Io {
  const interrupt = new AbortController();
  const onSignal = (): void => {
    if (interrupt.signal.aborted) process.exit(130); // the second Ctrl-C does not wait
    interrupt.abort(new InterruptedError());
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal);
  const onError = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'EPIPE') process.exit(0); // the reader, such as `head`, needs no more
    if (error.code !== 'EIO') throw error; // the terminal was closed, which SIGHUP reports
  };
  process.stdout.on('error', onError);
  process.stderr.on('error', onError);
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    folder: process.cwd(),
    isInteractive: process.stdin.isTTY && process.stderr.isTTY,
    signal: interrupt.signal,
    readInput: async () => await readAll(process.stdin),
    ask: askOnTerminal,
  };
}

async function readAll(input: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** The user has pressed Ctrl-C. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';

  constructor() {
    super('interrupted');
  }
}

/** The question is the prompt of the line that is edited, because readline clears everything else on this line. */
async function askOnTerminal(question: string, { hidden = false } = {}): Promise<string> {
  if (hidden) process.stderr.write(question);
  const output = hidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  const terminal = createInterface({ input: process.stdin, output, terminal: true });
  try {
    const { promise, reject } = Promise.withResolvers<never>();
    terminal.once('SIGINT', () => reject(new InterruptedError()));
    return await Promise.race([terminal.question(question), promise]);
  } finally {
    terminal.close();
    if (hidden) process.stderr.write('\n');
  }
}
