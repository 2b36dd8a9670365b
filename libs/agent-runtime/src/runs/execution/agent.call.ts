import { type AgentEvent, type AgentResult, type AgentUsage, type HandleOptions, textPart } from '#rollcall/providers';
import type { LedgerOp, LedgerOutcome } from '#rollcall/registry';
import { toAgentEvent, toAgentResult } from '../../agents/agent.mapper.js';
import { ReactAgent } from '../../agents/react.agent.js';
import { isPaidByCall, paidCall, type PaymentOptions } from '../../calls/paid.call.js';
import { ChildScope } from '../../delegation/child.scope.js';
import type { DelegationTarget } from '../../delegation/targets/delegation.targets.js';
import { DeadlineReached } from '../../loop/run.activity.js';
import { ABANDONED, type PendingApproval } from '../../loop/run.outcome.js';
import { resume, type RunState, unclearCalls } from '../../loop/run.state.js';
import { type BudgetUsage, NO_LIMIT, type RunWriter } from '../../spending/spending.js';
import { inputHashOf } from '../../tools/input.hash.js';
import type { RunJournal } from '../journal/run.journal.js';
import { sumOf } from '../journal/run.usage.js';
import { NEEDS_REVIEW } from '../run.status.js';
import { type AgentStep, lastMessage, type RunStep, toLoopSteps } from '../run.step.js';

/** One execution of a run, from its beginning or from its last stored step. */
export interface AgentCall {
  readonly target: DelegationTarget;
  readonly options: HandleOptions & Required<Pick<HandleOptions, 'signal' | 'context'>>;
  readonly journal: RunJournal;
  /** Whether the call of an agent with its own loop may be repeated after an interruption. */
  readonly isIdempotent: boolean;
  readonly payment?: PaymentOptions;
  /** The usage of the run, if it is known without a read. Its budget exists then. */
  readonly usage?: BudgetUsage;
  readonly now: () => number;
}

/** What is known about an execution while it runs. */
export class CallProgress {
  usage: AgentUsage = {};
  /** The calls that an operator must decide about. */
  pending: readonly PendingApproval[] = [];
}

/**
 * Executes an agent and records its steps: each is stored before something outside depends on it. It yields the events of the agent,
 * ending with `finished`. The messages of the caller are already in the steps.
 */
export function recordedCall(call: AgentCall, progress: CallProgress): AsyncGenerator<AgentEvent> {
  const { agent } = call.target;
  return agent instanceof ReactAgent ? loopCall(agent, call, progress) : externalCall(call, progress);
}

/** A call of an agent that Rollcall runs itself. It continues from its stored steps, so no reply of the model is requested twice. */
async function* loopCall(
  agent: ReactAgent,
  { options, journal, usage: known }: AgentCall,
  progress: CallProgress,
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
 * agent is called; its result, the charge and the end of the run are stored together when the run ends. A call that was interrupted
 * is repeated only if the agent is marked as idempotent or an operator has approved the repetition, because it is unknown what the agent
 * has done.
 */
async function* externalCall(call: AgentCall, progress: CallProgress): AsyncGenerator<AgentEvent> {
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
async function begun(call: AgentCall, signal: AbortSignal): Promise<AsyncIterable<AgentEvent>> {
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

async function openBudget({ options, payment }: AgentCall, limit: typeof NO_LIMIT): Promise<void> {
  const { namespace, runId, parentRunId = null } = options.context;
  await payment?.spending.openRun({ namespace, runId, parentRunId, limit });
}

async function* recorded(
  events: AsyncIterable<AgentEvent>,
  { journal }: AgentCall,
  progress: CallProgress,
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
function recordedEnd({ journal, target, isIdempotent }: AgentCall, progress: CallProgress): AgentResult | undefined {
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

/** The calls of the loop that were in progress when the run was interrupted, and that must not be repeated without a decision. */
function interruptedCalls({ openSteps }: RunState): PendingApproval[] {
  return unclearCalls(openSteps).map(({ call: { id, name, input } }) => ({
    callId: id,
    tool: name,
    input,
    inputHash: inputHashOf(input),
  }));
}
