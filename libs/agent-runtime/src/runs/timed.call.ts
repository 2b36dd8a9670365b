import type { AgentEvent, AgentResult } from '#rollcall/providers';
import { ReactAgent } from '../agents/react.agent.js';
import { ChildScope } from '../delegation/child.scope.js';
import { DeadlineReached } from '../loop/run.activity.js';
import { recordedCall } from './agent.call.js';
import type { Progress, RecordedCall } from './recorded.call.js';

const LATE: AgentResult = {
  outcome: 'stopped',
  reason: 'deadline',
  detail: 'The deadline of the run has passed.',
  parts: [],
  usage: {},
};

/** A recorded call that is aborted at the deadline of the run. The loop of Rollcall itself observes the deadline. */
export async function* timedCall(call: RecordedCall, progress: Progress): AsyncGenerator<AgentEvent> {
  const { agent, options, now } = call;
  if (agent instanceof ReactAgent) return yield* recordedCall(call, progress);
  const remainingMs = (options.context.deadline ?? Infinity) - now();
  const scope = new ChildScope(options.signal, undefined, remainingMs);
  try {
    yield* recordedCall({ ...call, options: { ...options, signal: scope.signal } }, progress);
  } catch (error) {
    if (scope.endedBy !== 'deadline' && !(error instanceof DeadlineReached)) throw error;
    yield { type: 'finished', result: LATE };
  } finally {
    scope.close();
  }
}
