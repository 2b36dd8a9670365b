import type { RuntimeErrorCode } from '#rollcall/agent-runtime';

/** Errors of the runtime: 4xx if the caller can correct them, 500 if the operator or a developer must. */
export const RUNTIME_PROBLEMS = {
  DEFINITION_INVALID: { status: 400, title: 'The definition is invalid' },
  DEFINITION_NAME_INVALID: { status: 400, title: 'The name of the definition is invalid' },
  DEFINITION_NOT_FOUND: { status: 404, title: 'The definition does not exist' },
  DEFINITION_REVISION_NOT_FOUND: { status: 404, title: 'The revision of the definition does not exist' },
  DEFINITION_CONFIGURED: { status: 409, title: 'The definition comes from the deployment' },
  DEFINITION_EXISTS: { status: 409, title: 'A definition has this name' },
  DEFINITION_CHANGED: { status: 412, title: 'The definition has changed since it was read' },
  SKILLS_TOO_LARGE: { status: 400, title: 'The preloaded skills are too large' },
  TOOL_UNKNOWN: { status: 400, title: 'The tool does not exist' },
  SPENDING_LIMIT_REACHED: { status: 402, title: 'The budget of the run does not allow this' },
  SKILL_NOT_FOUND: { status: 404, title: 'The skill does not exist' },
  RUN_MEMORY_REJECTED: { status: 409, title: 'The value cannot be stored in the memory of the run' },
  AGENT_FAILED_INTERNALLY: { status: 500, title: 'The agent failed because of an internal error' },
  MODEL_PRICE_UNKNOWN: { status: 500, title: 'The model has no prices, so its cost cannot be limited' },
  TOOLBOX_NAME_TAKEN: { status: 500, title: 'Two toolboxes have the same name' },
  TOOLBOX_UNKNOWN: { status: 500, title: 'The toolbox does not exist' },
  TOOL_INVALID: { status: 500, title: 'The definition of a tool is invalid' },
  TOOL_NAME_TAKEN: { status: 500, title: 'Two tools of a toolbox have the same name' },
  MODEL_CIRCUIT_OPEN: { status: 503, title: 'The model failed repeatedly and is not called for a limited time' },
} satisfies Record<RuntimeErrorCode, { status: number; title: string }>;
