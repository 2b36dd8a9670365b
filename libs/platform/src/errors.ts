/**
 * An expected error with a stable code. It does not depend on a transport. The message states what to do next. Each
 * library has its own closed union of codes, and each transport maps every code in one exhaustive table.
 */
export abstract class DomainError extends Error {
  abstract readonly code: string;
  /** How long to wait before a retry can succeed, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Machine-readable details for the program of the caller. */
  readonly details?: Record<string, unknown>;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The codes of all errors that the platform throws. */
export type PlatformErrorCode =
  | 'DATABASE_UNAVAILABLE'
  | 'DATABASE_BUSY'
  | 'CURSOR_EXPIRED'
  | 'CURSOR_AHEAD'
  | 'CURSOR_FOREIGN'
  | 'EVENTS_BUSY'
  | 'SINK_NOT_FOUND'
  | 'DELIVERY_NOT_FOUND'
  | 'WEBHOOK_NOT_FOUND'
  | 'KEY_NOT_FOUND'
  | 'KEY_REVOKED'
  | 'KEY_NOT_ACTIVE'
  | 'KEY_FROM_ENVIRONMENT'
  | 'LAST_ADMIN_KEY'
  | 'QUOTA_EXCEEDED'
  | 'NAMESPACE_NOT_FOUND'
  | 'NAMESPACE_EXISTS'
  | 'NAMESPACE_NOT_EMPTY'
  | 'NAMESPACE_PERMANENT'
  | 'NAMESPACE_FULL';

export abstract class PlatformError extends DomainError {
  abstract override readonly code: PlatformErrorCode;
}
