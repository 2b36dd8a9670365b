/** How an agent thinks, lives and dies. */
export { GuardedAgent, type GuardedAgentOptions } from './calls/guarded.agent.js';
