import { DomainError } from '#rollcall/platform';

/** All error codes of the runtime. The API maps them in an exhaustive table: a new code does not compile without an entry. */
export type RuntimeErrorCode =
  | 'AGENTS_STOPPING'
  | 'AGENT_ALREADY_EXISTS'
  | 'AGENT_BUSY'
  | 'AGENT_FACTORY_INVALID'
  | 'AGENT_FACTORY_TAKEN'
  | 'AGENT_FACTORY_UNKNOWN'
  | 'AGENT_FAILED_INTERNALLY'
  | 'AGENT_HOSTED_ELSEWHERE'
  | 'AGENT_NAME_RESERVED'
  | 'AGENT_SHUTDOWN_FAILED'
  | 'DEFINITION_CHANGED'
  | 'DEFINITION_CONFIGURED'
  | 'DEFINITION_EXISTS'
  | 'DEFINITION_INVALID'
  | 'DEFINITION_NAME_INVALID'
  | 'DEFINITION_NOT_FOUND'
  | 'DEFINITION_REVISION_NOT_FOUND'
  | 'DELEGATION_FAILED'
  | 'DELEGATION_REFUSED'
  | 'DELEGATION_TARGET_UNKNOWN'
  | 'MODEL_CIRCUIT_OPEN'
  | 'MODEL_PRICE_UNKNOWN'
  | 'RUN_MEMORY_REJECTED'
  | 'SKILLS_TOO_LARGE'
  | 'SKILL_NOT_FOUND'
  | 'SPAWN_INVALID'
  | 'SPENDING_LIMIT_REACHED'
  | 'TOOLBOX_NAME_TAKEN'
  | 'TOOLBOX_UNKNOWN'
  | 'TOOL_INVALID'
  | 'TOOL_NAME_TAKEN'
  | 'TOOL_PIN_CHANGED'
  | 'TOOL_PIN_NOT_FOUND'
  | 'TOOL_UNKNOWN';

export abstract class RuntimeError extends DomainError {
  abstract override readonly code: RuntimeErrorCode;
}
