import type { RollcallError } from '#rollcall/client';
import { InterruptedError } from './io.js';
import { escapeControls } from './output/text.js';

/** The exit codes of docs/cli.md. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  notNow: 5,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANINGS: Record<ExitCode, string> = {
  [EXIT.done]: 'done',
  [EXIT.failed]: 'failed, or refused by the server',
  [EXIT.usage]: 'wrong usage: an unknown command or option, or a value that the server rejects as invalid',
  [EXIT.notFound]: 'not found',
  [EXIT.notAllowed]: 'not signed in, or not allowed',
  [EXIT.notNow]:
    'not now: the server is away or busy, a time limit has passed, or a run waits for a person. Try again later',
  [EXIT.interrupted]: 'interrupted with Ctrl-C',
};

/** A failure of the command line itself. The message says what to do next. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    readonly code: string,
    message: string,
    readonly exitCode: ExitCode = EXIT.failed,
  ) {
    super(message);
  }
}

export const usageError = (message: string): CommandError => new CommandError('USAGE', message, EXIT.usage);

/** What is reported about a failure, in every output format. */
export interface Failure {
  readonly exitCode: ExitCode;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly exitCode: ExitCode;
    readonly status?: number;
    readonly fieldErrors?: readonly { field: string; message: string }[];
    readonly retryAfterMs?: number;
    readonly requestId?: string;
  };
}

export function describeFailure(error: unknown): Failure {
  if (isApiError(error)) return apiFailure(error);
  if (error instanceof CommandError) return failure(error.code, error.message, error.exitCode);
  if (error instanceof InterruptedError) return failure('INTERRUPTED', 'Interrupted.', EXIT.interrupted);
  return failure('FAILED', error instanceof Error ? error.message : String(error), EXIT.failed);
}

function failure(code: string, message: string, exitCode: ExitCode): Failure {
  return { exitCode, error: { code, message, exitCode } };
}

/** By its name, because the client is loaded only when a command calls the server. */
function isApiError(error: unknown): error is RollcallError {
  return error instanceof Error && error.name === 'RollcallError';
}

function apiFailure(error: RollcallError): Failure {
  const { code, status, fieldErrors, retryAfterMs, requestId } = error;
  const exitCode = exitCodeOf(error);
  return {
    exitCode,
    error: {
      code,
      message: error.message.replace(`${code}: `, ''),
      exitCode,
      ...(status !== undefined && { status }),
      ...(fieldErrors.length > 0 && { fieldErrors: fieldErrors.map(({ field, message }) => ({ field, message })) }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(requestId !== undefined && { requestId }),
    },
  };
}

function exitCodeOf({ code, status = 0 }: RollcallError): ExitCode {
  if (status === 404 || status === 410) return EXIT.notFound;
  if (status === 401 || status === 403) return EXIT.notAllowed;
  if (status === 400 || status === 422) return EXIT.usage;
  if (status === 429 || status >= 502) return EXIT.notNow;
  return code === 'SERVER_UNREACHABLE' || code === 'CALL_TIMED_OUT' || code === 'STREAM_ENDED'
    ? EXIT.notNow
    : EXIT.failed;
}

/** The text for people. Structured formats print the failure itself. */
export function failureText({ error }: Failure): string {
  const { code, message, fieldErrors = [], requestId } = error;
  if (code === 'INTERRUPTED') return '\n'; // the terminal shows ^C
  const lines = [
    `Error: ${message}`,
    ...fieldErrors.map(({ field, message: text }) => `  ${field}: ${text}`),
    ...(code === 'UNAUTHENTICATED' ? ['Sign in with: rollcall login'] : []),
    ...(requestId === undefined ? [] : [`(${code}, request ${requestId})`]),
  ];
  return `${lines.map(escapeControls).join('\n')}\n`;
}
