import { DomainError } from '#rollcall/platform';

/** All error codes of the runtime. The API maps them in an exhaustive table: a new code does not compile without an entry. */
export type RuntimeErrorCode =
  | 'SKILL_NOT_FOUND'
  | 'SKILLS_TOO_LARGE'
  | 'TOOL_INVALID'
  | 'TOOL_NAME_TAKEN'
  | 'TOOL_UNKNOWN'
  | 'TOOLBOX_NAME_TAKEN'
  | 'TOOLBOX_UNKNOWN'
  | 'RUN_MEMORY_REJECTED'
  | 'AGENT_FAILED_INTERNALLY'
  | 'MODEL_CIRCUIT_OPEN'
  | 'MODEL_PRICE_UNKNOWN'
  | 'SPENDING_LIMIT_REACHED'
  | 'AGENT_FACTORY_INVALID'
  | 'AGENT_FACTORY_TAKEN'
  | 'AGENT_FACTORY_UNKNOWN'
  | 'DELEGATION_FAILED'
  | 'DELEGATION_REFUSED'
  | 'DELEGATION_TARGET_UNKNOWN';

export abstract class RuntimeError extends DomainError {
  abstract override readonly code: RuntimeErrorCode;
}
