import {
  type Agent,
  type AgentEvent,
  type AgentMessage,
  type AgentResult,
  aborted,
  type HandleOptions,
  ProviderError,
} from '#rollcall/providers';
import { GracePeriod } from '../calls/grace.period.js';

/** How long an aborted agent may take to end. After this time, it is abandoned. */
const GRACE_MS = 500;

type Observer = (event: Exclude<AgentEvent, { type: 'finished' }>) => void;

/**
 * Calls an agent and returns its result. When the signal is aborted, the call rejects within the grace time, even if the agent
 * ignores the signal: its events are closed, and what it does afterwards has no effect.
 */
export async function callChild(
  agent: Agent,
  message: AgentMessage,
  options: HandleOptions & { signal: AbortSignal },
  observe: Observer,
): Promise<AgentResult> {
  const grace = new GracePeriod(options.signal, GRACE_MS);
  const events = agent.handle(message, options)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await grace.wait(events.next());
      if (!step) throw aborted(`The call to agent ${agent.name}`);
      if (step.done) throw new ProviderError('AGENT_CRASHED', `Agent ${agent.name} ended without a result.`);
      if (step.value.type === 'finished') return step.value.result;
      observe(step.value);
    }
  } finally {
    const closed = Promise.resolve(events.return?.()).catch(() => undefined);
    await grace.wait(closed); // the agent may report the outcome of the call when its events are closed
    grace.end();
  }
}
