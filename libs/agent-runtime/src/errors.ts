import { DomainError } from '#rollcall/platform';

/** All error codes of the runtime. The API maps them in an exhaustive table: a new code does not compile without an entry. */
export type RuntimeErrorCode =
  | 'AGENT_FAILED_INTERNALLY'
  | 'DEFINITION_CHANGED'
  | 'DEFINITION_CONFIGURED'
  | 'DEFINITION_EXISTS'
  | 'DEFINITION_INVALID'
  | 'DEFINITION_NAME_INVALID'
  | 'DEFINITION_NOT_FOUND'
  | 'DEFINITION_REVISION_NOT_FOUND'
  | 'MODEL_CIRCUIT_OPEN'
  | 'MODEL_PRICE_UNKNOWN'
  | 'RUN_MEMORY_REJECTED'
  | 'SKILLS_TOO_LARGE'
  | 'SKILL_NOT_FOUND'
  | 'SPENDING_LIMIT_REACHED'
  | 'TOOLBOX_NAME_TAKEN'
  | 'TOOLBOX_UNKNOWN'
  | 'TOOL_INVALID'
  | 'TOOL_NAME_TAKEN'
  | 'TOOL_UNKNOWN';

export abstract class RuntimeError extends DomainError {
  abstract override readonly code: RuntimeErrorCode;
}
