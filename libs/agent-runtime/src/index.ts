export { AgentRuntimeModule } from './agent-runtime.module.js';
export type { AgentRuntimeOptions } from './agent-runtime.options.js';
export { GuardedAgents } from './calls/guarded.agents.js';
export type { RuntimeErrorCode } from './errors.js';
export { type ListedTool, ToolCatalog } from './tools/tool.catalog.js';
export { HTTP_FETCH_MODES } from './tools/tools.options.js';
