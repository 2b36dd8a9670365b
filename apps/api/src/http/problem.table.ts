import type { RuntimeErrorCode } from '#rollcall/agent-runtime';
import type { PlatformErrorCode } from '#rollcall/platform';
import type { ProviderErrorCode } from '#rollcall/providers';
import type { RegistryErrorCode } from '#rollcall/registry';
import type { ApiErrorCode } from './api.error.js';
import { PROVIDER_PROBLEMS } from './provider.problems.js';
import { RUNTIME_PROBLEMS } from './runtime.problems.js';

export type ErrorCode = ApiErrorCode | PlatformErrorCode | RegistryErrorCode | ProviderErrorCode | RuntimeErrorCode;

interface ProblemKind {
  status: number;
  title: string;
}

/** The HTTP status and title of each error code. The table is exhaustive: a new code does not compile without an entry. */
export const PROBLEMS = {
  VALIDATION_FAILED: { status: 400, title: 'The request has invalid fields' },
  MALFORMED_REQUEST: { status: 400, title: 'The request is malformed' },
  MALFORMED_JSON: { status: 400, title: 'The body is not valid JSON' },
  ARCHIVE_INVALID: { status: 400, title: 'The archive is invalid' },
  REQUEST_INCOMPLETE: { status: 400, title: 'The request ended before it was complete' },
  CURSOR_INVALID: { status: 400, title: 'The cursor is invalid' },
  CURSOR_AHEAD: { status: 400, title: 'The cursor is ahead of the event log' },
  IDEMPOTENCY_KEY_INVALID: { status: 400, title: 'The Idempotency-Key is invalid' },
  NAMESPACE_REQUIRED: { status: 400, title: 'The request must name a namespace' },
  UNKNOWN_STRATEGY: { status: 400, title: 'The strategy does not exist' },
  INVALID_QUERY: { status: 400, title: 'The query is invalid' },
  TOO_MANY_LABELS: { status: 400, title: 'The agent would have too many labels' },
  INVALID_BUDGET: { status: 400, title: 'The budget is invalid' },
  RUN_TREE_TOO_DEEP: { status: 400, title: 'The tree of runs would be too deep' },
  UNAUTHENTICATED: { status: 401, title: 'A valid credential is required' },
  BUDGET_EXHAUSTED: { status: 402, title: 'The budget does not allow this' },
  LEASE_TOKEN_REFUSED: { status: 403, title: 'The lease token is not valid for this agent' },
  NOT_THE_OWNER: { status: 403, title: 'The agent or run belongs to another owner' },
  FORBIDDEN: { status: 403, title: 'The credential does not allow this' },
  SETTLEMENT_TOO_LARGE: { status: 403, title: 'The settlement is too far above its reservation' },
  RESERVATION_TOO_LARGE: { status: 403, title: 'The reservation is larger than the credential allows' },
  QUOTA_EXCEEDED: { status: 403, title: 'The credential has reached its quota' },
  NAMESPACE_FULL: { status: 403, title: 'The namespace has reached its limit' },
  ROUTE_NOT_FOUND: { status: 404, title: 'The route does not exist' },
  NAMESPACE_NOT_FOUND: { status: 404, title: 'The namespace does not exist' },
  AGENT_NOT_FOUND: { status: 404, title: 'The agent does not exist' },
  REGISTER_AGAIN: { status: 404, title: 'The agent must register again' },
  SINK_NOT_FOUND: { status: 404, title: 'The sink does not exist' },
  DELIVERY_NOT_FOUND: { status: 404, title: 'The delivery does not exist' },
  WEBHOOK_NOT_FOUND: { status: 404, title: 'The webhook does not exist' },
  KEY_NOT_FOUND: { status: 404, title: 'The API key does not exist' },
  BUDGET_NOT_FOUND: { status: 404, title: 'The budget does not exist' },
  RESERVATION_NOT_FOUND: { status: 404, title: 'The reservation does not exist' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'The path does not support this method' },
  REQUEST_TIMEOUT: { status: 408, title: 'The request took too long to arrive' },
  IDEMPOTENCY_IN_PROGRESS: { status: 409, title: 'The first request with this Idempotency-Key is still in progress' },
  AGENT_ALREADY_REGISTERED: { status: 409, title: 'A live agent has this agentId' },
  STALE_GENERATION: { status: 409, title: 'A newer registration of this agent exists' },
  GENERATION_AHEAD: { status: 409, title: 'This registration of the agent does not exist' },
  NAMESPACE_EXISTS: { status: 409, title: 'The namespace already exists' },
  NAMESPACE_NOT_EMPTY: { status: 409, title: 'The namespace is not empty' },
  NAMESPACE_PERMANENT: { status: 409, title: 'The default namespace cannot be deleted' },
  KEY_REVOKED: { status: 409, title: 'The API key is revoked' },
  KEY_NOT_ACTIVE: { status: 409, title: 'The API key is no longer active' },
  KEY_FROM_ENVIRONMENT: { status: 409, title: 'The API key comes from the configuration' },
  LAST_ADMIN_KEY: { status: 409, title: 'The last admin key cannot be removed' },
  BUDGET_EXISTS: { status: 409, title: 'The budget already exists' },
  BUDGET_UNLIMITED: { status: 409, title: 'The budget has no limit to raise' },
  RESERVATION_CLOSED: { status: 409, title: 'The reservation has ended' },
  RESERVATION_KEY_REUSED: { status: 409, title: 'The key belongs to another reservation' },
  CURSOR_EXPIRED: { status: 410, title: 'The events after this cursor are no longer kept' },
  CURSOR_FOREIGN: { status: 410, title: 'The cursor belongs to another event log' },
  LENGTH_REQUIRED: { status: 411, title: 'The request must have a Content-Length' },
  AGENT_CHANGED: { status: 412, title: 'The agent has changed since it was read' },
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The content type of the body is not supported' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'The Idempotency-Key was used for another request' },
  UPGRADE_REQUIRED: { status: 426, title: 'This path requires a WebSocket' },
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  TOO_MANY_CONCURRENT_REQUESTS: { status: 429, title: 'Too many requests at the same time' },
  SNAPSHOTS_BUSY: { status: 429, title: 'Too many snapshots are being read at the same time' },
  EVENTS_BUSY: { status: 429, title: 'Too many pages of events are being read at the same time' },
  DATABASE_BUSY: { status: 429, title: 'Other requests have locked the same records' },
  HEADERS_TOO_LARGE: { status: 431, title: 'The headers are too large' },
  INTERNAL: { status: 500, title: 'An internal error occurred' },
  INVALID_CAPABILITY_ALIAS: { status: 500, title: 'The capability aliases of this deployment are invalid' },
  CIRCUIT_OPEN: { status: 503, title: 'The agent failed repeatedly and is not called for a limited time' },
  SEALING_KEY_MISSING: { status: 500, title: 'This deployment has no key to encrypt secrets with' },
  DATABASE_UNAVAILABLE: { status: 503, title: 'The database does not respond' },
  DIRECTORY_STALE: { status: 503, title: 'The directory of this replica is out of date' },
  IDENTITY_PROVIDER_UNAVAILABLE: { status: 503, title: 'The identity provider does not respond' },
  NOT_READY: { status: 503, title: 'This replica is not ready' },
  SHUTTING_DOWN: { status: 503, title: 'This replica is shutting down' },
  TIMED_OUT: { status: 503, title: 'The request timed out' },
  ...PROVIDER_PROBLEMS,
  ...RUNTIME_PROBLEMS,
} satisfies Record<ErrorCode, ProblemKind>;
