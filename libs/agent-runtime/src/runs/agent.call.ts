import type { AgentEvent } from '#rollcall/providers';
import { ReactAgent } from '../agents/react.agent.js';
import { foreignCall } from './foreign.call.js';
import { loopCall } from './loop.call.js';
import type { Progress, RecordedCall } from './recorded.call.js';

/**
 * Executes an agent and records its steps: each is durable before the next begins. It yields the events of the agent, ending with
 * `finished`. The messages of the caller are already in the steps.
 */
export function recordedCall(call: RecordedCall, progress: Progress): AsyncGenerator<AgentEvent> {
  const { agent } = call;
  return agent instanceof ReactAgent ? loopCall({ ...call, agent }, progress) : foreignCall(call, progress);
}
