import { PlatformError } from '../errors.js';

/**
 * Postgres did not answer in time, or the connection to it broke. Nothing of the interrupted transaction is kept, unless
 * its COMMIT was already under way: then it may have been done, and only the answer is missing.
 */
export class DatabaseUnavailableError extends PlatformError {
  readonly code = 'DATABASE_UNAVAILABLE';
  override readonly retryAfterMs = 2_000;

  constructor(cause: unknown) {
    super('The database does not answer. Try again in a moment; with an Idempotency-Key that is always safe.', {
      cause,
    });
  }
}

/** Postgres answered, but the row was locked, or the statement needed longer than it may take. */
export class DatabaseBusyError extends PlatformError {
  readonly code = 'DATABASE_BUSY';
  override readonly retryAfterMs = 1_000;

  constructor(cause: unknown) {
    super('The database is too busy with the same records. Nothing was changed; try again in a moment.', { cause });
  }
}

export const TOO_MANY_CONNECTIONS = '53300';
export const LOCK_NOT_AVAILABLE = '55P03';
const QUERY_CANCELED = '57014';
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';

const BUSY = new Set([LOCK_NOT_AVAILABLE, QUERY_CANCELED, SERIALIZATION_FAILURE, DEADLOCK]);

/** SQLSTATE classes: 08 connection, 53 out of resources, 57P shutdown and restart; 25P03 a transaction idle for too long. */
const GONE = /^(08|53|57P|25P03)/;
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);
/** node-postgres reports these without a code. */
const DRIVER_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|not queryable/;

export function isConnectionError(error: unknown): boolean {
  if (error instanceof DatabaseUnavailableError) return true;
  const { code, message } = describe(error);
  return GONE.test(code) || SOCKET_CODES.has(code) || DRIVER_MESSAGES.test(message);
}

/** Turns the driver's many ways of saying "not now" into our two; everything else passes unchanged. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof PlatformError) return error;
  if (isConnectionError(error)) return new DatabaseUnavailableError(error);
  if (BUSY.has(describe(error).code)) return new DatabaseBusyError(error);
  return error;
}

export function sqlState(error: unknown): string | undefined {
  return describe(error instanceof PlatformError ? error.cause : error).code || undefined;
}

function describe(error: unknown): { code: string; message: string } {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return { code: typeof code === 'string' ? code : '', message: String(message ?? error) };
}
