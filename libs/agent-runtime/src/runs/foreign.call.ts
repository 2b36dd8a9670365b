import { type AgentEvent, type AgentResult, textPart } from '#rollcall/providers';
import { DeadlineReached } from '../loop/run.activity.js';
import type { PendingApproval } from '../loop/run.outcome.js';
import { inputHashOf } from '../tools/input.hash.js';
import { lastMessage, type Progress, type RecordedCall } from './recorded.call.js';
import { NEEDS_REVIEW } from './run.status.js';
import type { AgentStep, RunStep } from './run.step.js';
import { sumOf } from './run.usage.js';

type Finished = Extract<AgentStep, { type: 'finished' }>;

/**
 * A call of an agent that has its own loop. A call that was interrupted is repeated only if the agent is marked as idempotent or an
 * operator has approved the repetition, because it is unknown what the agent has done.
 */
export async function* foreignCall(call: RecordedCall, progress: Progress): AsyncGenerator<AgentEvent> {
  const { agent, steps, options, journal, isIdempotent, now } = call;
  if (steps.some(({ type }) => type === 'agent-called')) await journal.endHolds(steps);
  const known = recordedEnd(call, progress);
  if (known) return yield { type: 'finished', result: known };
  const { deadline } = options.context;
  if (deadline !== null && deadline <= now()) throw new DeadlineReached();
  const finishedBefore = steps.filter((step): step is Finished => step.type === 'finished').map(({ result }) => result);
  const conversationId = finishedBefore.at(-1)?.conversationId;
  await journal.append({ type: 'agent-called', idempotent: isIdempotent });
  const given = { ...options, callId: journal.run.id, ...(conversationId !== undefined && { conversationId }) };
  for await (const event of agent.handle(lastMessage(steps), given)) {
    if (event.type === 'text' || event.type === 'progress') journal.live(event.type, event.text);
    else if (event.type === 'finished') {
      progress.usage = sumOf([...finishedBefore, event.result]);
      await journal.append({ type: 'finished', result: event.result });
    } else if (event.type !== 'artifact') await journal.append(event);
    yield event;
  }
}

/** The result of a call that is not made now, because its result is recorded, or because it needs a review. */
function recordedEnd(
  { steps, journal, agent, isIdempotent }: RecordedCall,
  progress: Progress,
): AgentResult | undefined {
  const last = steps.findLast((step) => step.type !== 'tool-call' && step.type !== 'tool-result');
  if (last?.type === 'finished') {
    progress.usage = last.result.usage;
    return last.result;
  }
  if (last?.type === 'tool-finished') return { outcome: 'completed', parts: [textPart(last.output)], usage: {} };
  if (last?.type === 'approval-decided' && !last.approved)
    return stopped('rejected', `An operator decided not to repeat the call. ${last.reason ?? ''}`.trim());
  if (last?.type !== 'agent-called' || isIdempotent) return undefined;
  progress.pending = [pendingCall(journal.run.id, agent.name, steps)];
  return stopped(
    NEEDS_REVIEW,
    `The run was interrupted while the agent ${agent.name} worked. Approve or reject the repetition of the call.`,
  );
}

function pendingCall(callId: string, tool: string, steps: readonly RunStep[]): PendingApproval {
  const { parts: input } = lastMessage(steps);
  return { callId, tool, input, inputHash: inputHashOf(input) };
}

function stopped(reason: string, detail: string): AgentResult {
  return { outcome: 'stopped', reason, detail, parts: [], usage: {} };
}
