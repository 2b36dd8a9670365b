import { PlatformError } from '../errors.js';

export const TOO_MANY_CONNECTIONS = '53300';
const DISK_FULL = '53100';

/** What the operator must know about some states of Postgres. */
const PROBLEMS: Record<string, string> = {
  [DISK_FULL]: 'The disk of the database is full, so nothing can be written. The operator must free or add space.',
  [TOO_MANY_CONNECTIONS]: 'The database accepts no more connections (max_connections).',
};

/**
 * Postgres did not respond in time, or the connection broke. The transaction was rolled back, unless its COMMIT was
 * already sent: then it may have been committed although the response is missing.
 */
export class DatabaseUnavailableError extends PlatformError {
  readonly code = 'DATABASE_UNAVAILABLE';
  override readonly retryAfterMs = 2_000;

  constructor(cause: unknown) {
    const problem = PROBLEMS[codeAndMessage(cause).code] ?? 'The database does not respond.';
    super(`${problem} Try again later; a retry with an Idempotency-Key is always safe.`, { cause });
  }
}

/** Postgres responded, but a row was locked for too long, or the statement exceeded its time limit. */
export class DatabaseBusyError extends PlatformError {
  readonly code = 'DATABASE_BUSY';
  override readonly retryAfterMs = 1_000;

  constructor(cause: unknown) {
    super('The database is busy with the same records. Nothing was changed; try again later.', { cause });
  }
}

/** This version cannot use the database. A restart does not help until an operator has fixed the cause. */
export class DatabaseRefusedError extends Error {
  override readonly name = 'DatabaseRefusedError';
}

const LOCK_NOT_AVAILABLE = '55P03';
const QUERY_CANCELED = '57014';
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';

const BUSY_STATES = new Set([LOCK_NOT_AVAILABLE, QUERY_CANCELED, SERIALIZATION_FAILURE, DEADLOCK]);

/**
 * SQLSTATE classes: 08 connection, 53 out of resources, 57P shutdown and restart; 25P03 is a transaction that was idle
 * for too long; 25006 is a write on a server that is read-only, such as a primary that was replaced.
 */
const CONNECTION_STATES = /^(08|53|57P|25P03|25006)/;
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
/** node-postgres reports these errors without a code. */
const DRIVER_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|^timeout expired$|Query read timeout|Client has encountered a connection error|not queryable/;

export function isConnectionError(error: unknown): boolean {
  if (error instanceof DatabaseUnavailableError) return true;
  const { code, message } = codeAndMessage(error);
  return CONNECTION_STATES.test(code) || SOCKET_CODES.has(code) || DRIVER_MESSAGES.test(message);
}

/** Converts temporary errors of the driver to `DatabaseUnavailableError` or `DatabaseBusyError`. Other errors are returned unchanged. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof PlatformError) return error;
  if (isConnectionError(error)) return new DatabaseUnavailableError(error);
  if (BUSY_STATES.has(codeAndMessage(error).code)) return new DatabaseBusyError(error);
  return error;
}

export function sqlState(error: unknown): string | undefined {
  return codeAndMessage(error instanceof PlatformError ? error.cause : error).code || undefined;
}

function codeAndMessage(error: unknown): { code: string; message: string } {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return { code: typeof code === 'string' ? code : '', message: String(message ?? error) };
}

/** Whether the database was unavailable or busy, so that the same work may succeed later. */
export function isOutage(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof DatabaseBusyError;
}
