import { DomainError } from '#rollcall/platform';

/** All error codes of the runtime. The API maps them in an exhaustive table: a new code does not compile without an entry. */
export type RuntimeErrorCode =
  | 'AGENT_FAILED_INTERNALLY'
  | 'MODEL_CIRCUIT_OPEN'
  | 'MODEL_PRICE_UNKNOWN'
  | 'SKILL_NOT_FOUND'
  | 'SKILLS_TOO_LARGE'
  | 'SPENDING_LIMIT_REACHED';

export abstract class RuntimeError extends DomainError {
  abstract override readonly code: RuntimeErrorCode;
}
