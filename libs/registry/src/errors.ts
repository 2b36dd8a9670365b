/** Every way the registry can refuse. An edge answers each one in a table, so a new code does not compile until it does. */
export type RegistryErrorCode =
  | 'DATABASE_UNAVAILABLE'
  | 'DATABASE_BUSY'
  | 'CURSOR_EXPIRED'
  | 'CURSOR_AHEAD'
  | 'CURSOR_FOREIGN'
  | 'UNKNOWN_STRATEGY'
  | 'INVALID_QUERY'
  | 'INVALID_CAPABILITY_ALIAS'
  | 'DIRECTORY_STALE'
  | 'AGENT_NOT_FOUND'
  | 'REGISTER_AGAIN'
  | 'AGENT_ALREADY_REGISTERED'
  | 'AGENT_CHANGED'
  | 'TOO_MANY_LABELS'
  | 'STALE_GENERATION'
  | 'GENERATION_AHEAD'
  | 'LEASE_TOKEN_REFUSED'
  | 'CIRCUIT_OPEN'
  | 'SNAPSHOTS_BUSY'
  | 'EVENTS_BUSY'
  | 'SINK_NOT_FOUND'
  | 'DELIVERY_NOT_FOUND'
  | 'BUDGET_NOT_FOUND'
  | 'BUDGET_EXISTS'
  | 'BUDGET_EXHAUSTED'
  | 'BUDGET_UNLIMITED'
  | 'INVALID_BUDGET'
  | 'RESERVATION_NOT_FOUND'
  | 'RESERVATION_CLOSED'
  | 'RESERVATION_KEY_REUSED'
  | 'RESERVATION_TOO_LARGE'
  | 'SETTLEMENT_TOO_LARGE'
  | 'RUN_TREE_TOO_DEEP'
  | 'QUOTA_EXCEEDED';

/** A refusal with a stable code and no idea of transport. The message says what to do next. */
export abstract class RegistryError extends Error {
  abstract readonly code: RegistryErrorCode;
  /** When trying again may help, in milliseconds from now. */
  readonly retryAfterMs?: number;
  /** Facts for the caller's program, beside the message for people. */
  readonly details?: Record<string, unknown>;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
