import type { AgentEvent } from '#rollcall/providers';
import { toAgentEvent, toAgentResult } from '../agents/event.mapper.js';
import type { ReactAgent } from '../agents/react.agent.js';
import { ABANDONED } from '../loop/run.outcome.js';
import { resume } from '../loop/run.state.js';
import { interruptedCalls, toLoopSteps } from './interrupted.calls.js';
import type { Progress, RecordedCall } from './recorded.call.js';

/** A call of an agent that Rollcall runs itself. It continues from its stored steps, so no reply of the model is requested twice. */
export async function* loopCall(
  agent: ReactAgent,
  { options, journal, usage: known }: RecordedCall,
  progress: Progress,
): AsyncGenerator<AgentEvent> {
  const { context: from, signal, budget } = options;
  const context = agent.contextOf(from);
  const usage = agent.newUsage();
  const before = toLoopSteps(journal.steps);
  const state = resume(before);
  for (const step of before) usage.add(step);
  progress.usage = usage.total;
  progress.pending = interruptedCalls(state);
  const limit = budget && { tokens: budget.tokens ?? null, microUsd: budget.microUsd ?? null };
  const given = { ...(limit && { limit }), ...(known && { usage: known }) };
  const events = agent.run({ context, state, signal, streams: true, writer: journal, ...given });
  try {
    for (;;) {
      const next = await events.next();
      if (next.done) {
        yield { type: 'finished', result: toAgentResult(next.value, usage.total, context.runId) };
        return;
      }
      if (next.value.type === 'step') {
        usage.add(next.value.step);
        progress.usage = usage.total;
        journal.add(next.value.step);
      } else journal.live(next.value.type, next.value.text);
      const event = toAgentEvent(next.value);
      if (event) yield event;
    }
  } finally {
    await events.return(ABANDONED);
  }
}
