import { DomainError } from '#rollcall/platform';

/** All error codes of the runtime. The API maps them in an exhaustive table: a new code does not compile without an entry. */
export type RuntimeErrorCode =
  | 'SKILL_NOT_FOUND'
  | 'SKILLS_TOO_LARGE'
  | 'TOOL_INVALID'
  | 'TOOL_NAME_TAKEN'
  | 'TOOL_UNKNOWN'
  | 'TOOL_PIN_CHANGED'
  | 'TOOL_PIN_NOT_FOUND'
  | 'TOOLBOX_NAME_TAKEN'
  | 'TOOLBOX_UNKNOWN'
  | 'RUN_MEMORY_REJECTED';

export abstract class RuntimeError extends DomainError {
  abstract override readonly code: RuntimeErrorCode;
}
