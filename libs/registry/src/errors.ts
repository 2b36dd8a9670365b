import { DomainError } from '#rollcall/platform';

/** All error codes of the registry. The API maps them in an exhaustive table: a new code does not compile without an entry. */
export type RegistryErrorCode =
  | 'UNKNOWN_STRATEGY'
  | 'INVALID_QUERY'
  | 'INVALID_CAPABILITY_ALIAS'
  | 'DIRECTORY_STALE'
  | 'AGENT_NOT_FOUND'
  | 'REGISTER_AGAIN'
  | 'AGENT_ALREADY_REGISTERED'
  | 'AGENT_NAME_RESERVED'
  | 'AGENT_CHANGED'
  | 'TOO_MANY_LABELS'
  | 'STALE_GENERATION'
  | 'GENERATION_AHEAD'
  | 'LEASE_TOKEN_REFUSED'
  | 'NOT_THE_OWNER'
  | 'CIRCUIT_OPEN'
  | 'SNAPSHOTS_BUSY'
  | 'BUDGET_NOT_FOUND'
  | 'BUDGET_EXISTS'
  | 'BUDGET_EXHAUSTED'
  | 'BUDGET_UNLIMITED'
  | 'PRICE_UNKNOWN'
  | 'INVALID_BUDGET'
  | 'RESERVATION_NOT_FOUND'
  | 'RESERVATION_CLOSED'
  | 'RESERVATION_KEY_REUSED'
  | 'BUDGET_SHARE_EXCEEDED'
  | 'RESERVATION_TOO_LARGE'
  | 'SETTLEMENT_TOO_LARGE'
  | 'RUN_TREE_TOO_DEEP'
  | 'CONTRACT_NOT_FOUND'
  | 'CONTRACT_INVALID'
  | 'CONTRACT_CLOSED'
  | 'CONTRACT_FOREIGN'
  | 'CONTRACT_NOT_INVITED'
  | 'CONTRACT_NOT_AWARDED'
  | 'BID_INVALID'
  | 'BID_LATE'
  | 'BID_REVISED_TOO_OFTEN';

export abstract class RegistryError extends DomainError {
  abstract override readonly code: RegistryErrorCode;
}
