/**
 * A refusal with a stable code and no knowledge of any transport. The message says what to do next. Each library has its own
 * closed union of codes, and each edge answers every code from one exhaustive table.
 */
export abstract class DomainError extends Error {
  abstract readonly code: string;
  /** When trying again may help, in milliseconds from now. */
  readonly retryAfterMs?: number;
  /** Facts for the caller's program, beside the message for people. */
  readonly details?: Record<string, unknown>;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Every way in which the platform can refuse. */
export type PlatformErrorCode =
  | 'DATABASE_UNAVAILABLE'
  | 'DATABASE_BUSY'
  | 'CURSOR_EXPIRED'
  | 'CURSOR_AHEAD'
  | 'CURSOR_FOREIGN'
  | 'EVENTS_BUSY'
  | 'SINK_NOT_FOUND'
  | 'DELIVERY_NOT_FOUND';

export abstract class PlatformError extends DomainError {
  abstract override readonly code: PlatformErrorCode;
}
