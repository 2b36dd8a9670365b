import type { RuntimeErrorCode } from '#rollcall/agent-runtime';

/** Errors of the runtime: 4xx if the caller can correct them, 500 if the operator or a developer must. */
export const RUNTIME_PROBLEMS = {
  SKILLS_TOO_LARGE: { status: 400, title: 'The preloaded skills are too large' },
  TOOL_UNKNOWN: { status: 400, title: 'The tool does not exist' },
  SPENDING_LIMIT_REACHED: { status: 402, title: 'The budget of the run does not allow this' },
  SKILL_NOT_FOUND: { status: 404, title: 'The skill does not exist' },
  TOOL_PIN_NOT_FOUND: { status: 404, title: 'The tool of an MCP server is unknown' },
  TOOL_PIN_CHANGED: { status: 409, title: 'The definition of the tool has changed' },
  RUN_MEMORY_REJECTED: { status: 409, title: 'The value cannot be stored in the memory of the run' },
  AGENT_FAILED_INTERNALLY: { status: 500, title: 'The agent failed because of an internal error' },
  MODEL_PRICE_UNKNOWN: { status: 500, title: 'The model has no prices, so its cost cannot be limited' },
  TOOLBOX_NAME_TAKEN: { status: 500, title: 'Two toolboxes have the same name' },
  TOOLBOX_UNKNOWN: { status: 500, title: 'The toolbox does not exist' },
  TOOL_INVALID: { status: 500, title: 'The definition of a tool is invalid' },
  TOOL_NAME_TAKEN: { status: 500, title: 'Two tools of a toolbox have the same name' },
  MODEL_CIRCUIT_OPEN: { status: 503, title: 'The model failed repeatedly and is not called for a limited time' },
  AGENT_FACTORY_UNKNOWN: { status: 404, title: 'The agent factory does not exist' },
  DELEGATION_TARGET_UNKNOWN: { status: 404, title: 'No such agent can receive the task' },
  DELEGATION_REFUSED: { status: 409, title: 'The delegation would exceed a limit of the tree of runs' },
  DELEGATION_FAILED: { status: 502, title: 'The delegated agent failed' },
  AGENT_FACTORY_INVALID: { status: 500, title: 'The agent factory is invalid' },
  AGENT_FACTORY_TAKEN: { status: 500, title: 'Two agent factories have the same name' },
} satisfies Record<RuntimeErrorCode, { status: number; title: string }>;
