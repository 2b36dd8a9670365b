/** Codes of errors that the API itself detects. The libraries have their own codes. */
export type ApiErrorCode =
  | 'VALIDATION_FAILED'
  | 'MALFORMED_REQUEST'
  | 'MALFORMED_JSON'
  | 'ARCHIVE_INVALID'
  | 'REQUEST_INCOMPLETE'
  | 'CURSOR_INVALID'
  | 'NAMESPACE_REQUIRED'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'LENGTH_REQUIRED'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'HEADERS_TOO_LARGE'
  | 'IDEMPOTENCY_KEY_INVALID'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'UPGRADE_REQUIRED'
  | 'RATE_LIMITED'
  | 'TOO_MANY_CONCURRENT_REQUESTS'
  | 'SEALING_KEY_MISSING'
  | 'IDENTITY_PROVIDER_UNAVAILABLE'
  | 'INTERNAL'
  | 'NOT_READY'
  | 'SHUTTING_DOWN'
  | 'TIMED_OUT';

export interface FieldError {
  /** The path of the field, such as `budget.totalTokens`. */
  field: string;
  message: string;
}

export interface ApiErrorExtras {
  errors?: FieldError[];
  retryAfterMs?: number;
  /** Machine-readable members that are added to the standard ones. */
  details?: Record<string, unknown>;
  headers?: Record<string, string>;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly code: ApiErrorCode,
    message: string,
    readonly extras: ApiErrorExtras = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
