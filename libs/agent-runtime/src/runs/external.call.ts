import { type AgentEvent, type AgentResult, textPart } from '#rollcall/providers';
import type { LedgerOp, LedgerOutcome } from '#rollcall/registry';
import { isPaidByCall, paidCall } from '../calls/paid.call.js';
import { ChildScope } from '../delegation/child.scope.js';
import { DeadlineReached } from '../loop/run.activity.js';
import type { PendingApproval } from '../loop/run.outcome.js';
import type { RunWriter } from '../spending/run.writer.js';
import { NO_LIMIT } from '../spending/spending.js';
import { inputHashOf } from '../tools/input.hash.js';
import type { Progress, RecordedCall } from './recorded.call.js';
import { NEEDS_REVIEW } from './run.status.js';
import { type AgentStep, lastMessage, type RunStep } from './run.step.js';
import { sumOf } from './run.usage.js';

type Finished = Extract<AgentStep, { type: 'finished' }>;

const LATE: AgentResult = {
  outcome: 'stopped',
  reason: 'deadline',
  detail: 'The deadline of the run has passed.',
  parts: [],
  usage: {},
};

/**
 * A call of an agent that has its own loop, in three parts: `begin` stores that the agent is called and reserves what it may use; the
 * agent is called; its result, the charge and the end of the run are stored together by whoever ends the run. A call that was interrupted
 * is repeated only if the agent is marked as idempotent or an operator has approved the repetition, because it is unknown what the agent
 * has done.
 */
export async function* externalCall(call: RecordedCall, progress: Progress): AsyncGenerator<AgentEvent> {
  const { journal, options, now } = call;
  if (journal.steps.some(({ type }) => type === 'agent-called')) await journal.endReservations();
  const known = recordedEnd(call, progress);
  if (known) return yield { type: 'finished', result: known };
  const remainingMs = (options.context.deadline ?? Infinity) - now();
  const isRoot = journal.run.parentId === null; // the caller of a delegated run observes its deadline
  const scope = new ChildScope(options.signal, undefined, isRoot ? remainingMs : Infinity);
  try {
    if (remainingMs <= 0) throw new DeadlineReached();
    yield* recorded(await begun(call, scope.signal), call, progress);
  } catch (error) {
    const isLate = scope.endedBy === 'deadline' || error instanceof DeadlineReached;
    if (!isRoot || !isLate) throw error;
    yield { type: 'finished', result: LATE };
  } finally {
    scope.close();
  }
}

/** The events of the agent. The first of them is requested after it is stored that the agent is called. */
async function begun(call: RecordedCall, signal: AbortSignal): Promise<AsyncIterable<AgentEvent>> {
  const { target, journal, isIdempotent, payment } = call;
  const message = lastMessage(journal.steps);
  const conversationId = finishedBefore(journal.steps).at(-1)?.conversationId;
  const options = {
    ...call.options,
    signal,
    callId: journal.run.id,
    ...(conversationId !== undefined && { conversationId }),
  };
  const begin = async (ops: readonly LedgerOp[] = []): Promise<readonly LedgerOutcome[]> =>
    await journal.begin({ type: 'agent-called', idempotent: isIdempotent }, ops);
  if (!payment || !isPaidByCall(target.agent)) {
    await begin();
    return target.agent.handle(message, options);
  }
  if (!call.usage) await openBudget(call, payment.childLimit ?? NO_LIMIT);
  const writer: RunWriter = {
    execution: journal.execution,
    commit: begin,
    close: async (ops) => await journal.close(ops),
  };
  return paidCall({ target, message, options, payment, writer });
}

async function openBudget({ options, payment }: RecordedCall, limit: typeof NO_LIMIT): Promise<void> {
  const { namespace, runId, parentRunId = null } = options.context;
  await payment?.spending.openRun({ namespace, runId, parentRunId, limit });
}

async function* recorded(
  events: AsyncIterable<AgentEvent>,
  { journal }: RecordedCall,
  progress: Progress,
): AsyncGenerator<AgentEvent> {
  for await (const event of events) {
    if (event.type === 'text' || event.type === 'progress') journal.live(event.type, event.text);
    else if (event.type === 'finished') {
      progress.usage = sumOf([...finishedBefore(journal.steps), event.result]);
      journal.add({ type: 'finished', result: event.result });
    } else if (event.type !== 'artifact') {
      journal.add(event);
      await journal.commit();
    }
    yield event;
  }
}

function finishedBefore(steps: readonly RunStep[]): AgentResult[] {
  return steps.filter((step): step is Finished => step.type === 'finished').map(({ result }) => result);
}

/** The result of a call that is not made now, because its result is recorded, or because it needs a review. */
function recordedEnd({ journal, target, isIdempotent }: RecordedCall, progress: Progress): AgentResult | undefined {
  const { steps } = journal;
  const last = steps.findLast((step) => step.type !== 'tool-call' && step.type !== 'tool-result');
  if (last?.type === 'finished') {
    progress.usage = last.result.usage;
    return last.result;
  }
  if (last?.type === 'tool-finished') return { outcome: 'completed', parts: [textPart(last.output)], usage: {} };
  if (last?.type === 'approval-decided' && !last.approved)
    return stopped('rejected', `An operator decided not to repeat the call. ${last.reason ?? ''}`.trim());
  if (last?.type !== 'agent-called' || isIdempotent) return undefined;
  const { name } = target.agent;
  progress.pending = [pendingCall(journal.run.id, name, steps)];
  return stopped(
    NEEDS_REVIEW,
    `The run was interrupted while the agent ${name} worked. Approve or reject the repetition of the call.`,
  );
}

function pendingCall(callId: string, tool: string, steps: readonly RunStep[]): PendingApproval {
  const { parts: input } = lastMessage(steps);
  return { callId, tool, input, inputHash: inputHashOf(input) };
}

function stopped(reason: string, detail: string): AgentResult {
  return { outcome: 'stopped', reason, detail, parts: [], usage: {} };
}
