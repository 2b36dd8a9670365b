export { AgentRuntimeModule } from './agent-runtime.module.js';
export { GuardedAgents } from './calls/guarded.agents.js';
export type { RuntimeErrorCode } from './errors.js';
