import {
  type Agent,
  type AgentEvent,
  type AgentResult,
  type AgentUsage,
  type HandleOptions,
  ProviderError,
  type RemoteTask,
  textPart,
  toWire,
} from '#rollcall/providers';
import type { LedgerOp, LedgerOutcome } from '#rollcall/registry';
import { toAgentEvent, toAgentResult } from '../../agents/agent.mapper.js';
import { ReactAgent } from '../../agents/react.agent.js';
import { isPaidByCall, paidCall, type PaymentOptions } from '../../calls/paid.call.js';
import { ChildScope } from '../../delegation/child.scope.js';
import type { DelegationTarget } from '../../delegation/targets/delegation.targets.js';
import type { ConversationHistory } from '../../conversations/conversation.history.js';
import { approvalHashOf } from '../../loop/approval.hash.js';
import { approvalOf } from '../../loop/next.move.js';
import { DeadlineReached } from '../../loop/run.activity.js';
import { ABANDONED, type PendingApproval } from '../../loop/run.outcome.js';
import { resume, type RunState, unclearCalls } from '../../loop/run.state.js';
import { type BudgetUsage, NO_LIMIT, type RunWriter } from '../../spending/spending.js';
import type { TaskOptions } from '../../tasks/pull.agent.js';
import { TaskLostError } from '../../tasks/task.errors.js';
import { taskIdOf } from '../../tasks/task.js';
import type { ToolSet } from '../../tools/tool.set.js';
import { traceAgentCall } from '../../tracing/tracing.middleware.js';
import type { RunJournal } from '../journal/run.journal.js';
import { sumOf } from '../journal/run.usage.js';
import { NEEDS_REVIEW } from '../run.status.js';
import { AGENT_WORK, type AgentStep, decisionsOf, lastMessage, type RunStep, toLoopSteps } from '../run.step.js';

/** One execution of a run, from its beginning or from its last stored step. */
export interface AgentCall {
  readonly target: DelegationTarget;
  readonly options: HandleOptions & Required<Pick<HandleOptions, 'signal' | 'context'>>;
  readonly journal: RunJournal;
  readonly payment?: PaymentOptions;
  /** What the earlier runs of the conversation contain. A delegated run begins without them. */
  readonly history?: ConversationHistory;
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
  if (agent instanceof ReactAgent) return loopCall(agent, call, progress);
  return traceAgentCall(agent, call.options.context, () => externalCall(call, progress));
}

/** A call of an agent that Rollcall runs itself. It continues from its stored steps, so no reply of the model is requested twice. */
async function* loopCall(
  agent: ReactAgent,
  { options, journal, history, usage: known }: AgentCall,
  progress: CallProgress,
): AsyncGenerator<AgentEvent> {
  const { context: from, signal, budget } = options;
  const context = agent.contextOf(from);
  const usage = agent.newUsage();
  const before = toLoopSteps(journal.steps);
  const state = resume(before, await history?.earlierState(journal.run));
  for (const step of before) usage.add(step);
  progress.usage = usage.total;
  progress.pending = interruptedCalls(state, agent.toolsOf(context));
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

/** What an execution does about a call of an agent that has its own loop. */
type Plan =
  /** The call is not made: its result is recorded, or it needs a review. */
  | { readonly does: 'end'; readonly result: AgentResult }
  /** `isRepeated`: an earlier execution may have sent the message. */
  | { readonly does: 'send'; readonly isRepeated: boolean }
  /** The agent has accepted the message as a task, so it is asked for the task, and nothing is sent. */
  | { readonly does: 'ask'; readonly task: RemoteTask }
  /** The agent takes its tasks, and the task of the call is stored. The run continues to wait for its result. */
  | { readonly does: 'wait'; readonly callId: string };

/**
 * A call of an agent that has its own loop, in three parts: `begin` stores that the agent is called and reserves what it may use; the
 * agent is called; its result, the charge and the end of the run are stored together when the run ends. A call that was interrupted
 * continues if it has a task: one that the agent has accepted, for which the agent is asked, or one that the agent takes, for whose result
 * the run waits. Otherwise it is repeated only if the agent is marked as idempotent or an operator has approved the repetition, because it is
 * unknown what the agent has done.
 */
async function* externalCall(call: AgentCall, progress: CallProgress): AsyncGenerator<AgentEvent> {
  const { journal, options, now } = call;
  const plan = planOf(call, progress);
  if (journal.steps.some(({ type }) => type === 'agent-called')) await journal.endCall(plan.does === 'end');
  if (plan.does === 'end') return yield { type: 'finished', result: plan.result };
  const remainingMs = (options.context.deadline ?? Infinity) - now();
  const isRoot = journal.run.parentId === null; // the caller of a delegated run observes its deadline
  const scope = new ChildScope(options.signal, undefined, isRoot ? remainingMs : Infinity);
  try {
    if (remainingMs <= 0) throw new DeadlineReached();
    yield* carriedOut(plan, call, { progress, signal: scope.signal });
  } catch (error) {
    const isLate = scope.endedBy === 'deadline' || error instanceof DeadlineReached;
    if (!isRoot || !isLate) throw error;
    yield { type: 'finished', result: LATE };
  } finally {
    scope.close();
  }
}

type Begun = Exclude<Plan, { does: 'end' }>;

/** If the agent no longer has the task, it is unknown what it has done, as after an interruption before it accepted the call. */
async function* carriedOut(
  plan: Begun,
  call: AgentCall,
  { progress, signal }: { progress: CallProgress; signal: AbortSignal },
): AsyncGenerator<AgentEvent> {
  try {
    yield* recorded(await begun(plan, call, signal), call, progress);
  } catch (error) {
    if (error instanceof TaskLostError) return yield { type: 'finished', result: reviewOf(call, progress) };
    if (plan.does !== 'ask' || !isTaskLost(error)) throw error;
    if (isIdempotent(call))
      yield* recorded(await begun({ does: 'send', isRepeated: true }, call, signal), call, progress);
    else yield { type: 'finished', result: reviewOf(call, progress) };
  }
}

/** The events of the agent. The first of them is requested after it is stored that the agent is called. */
async function begun(plan: Begun, call: AgentCall, signal: AbortSignal): Promise<AsyncIterable<AgentEvent>> {
  const { target, journal, payment, history } = call;
  const message = lastMessage(journal.steps);
  const before = finishedBefore(journal.steps);
  const conversationId = before.at(-1)?.conversationId ?? (await history?.namedByAgent(journal.run));
  const { id, conversationId: contextId } = journal.run;
  const callId = plan.does === 'wait' ? plan.callId : callIdOf(call);
  const options: TaskOptions & AgentCall['options'] = {
    ...call.options,
    signal,
    callId,
    ...(conversationId !== undefined && { conversationId }),
    ...(contextId !== id && { contextId }),
    ...(before.length > 0 && { usedBefore: sumOf(before) }),
    ...(plan.does === 'ask' && { task: plan.task }),
    ...(plan.does === 'send' && { isRepeated: plan.isRepeated }),
    ...(target.pull && {
      taskCall: { callId, isResumed: plan.does === 'wait', hasEnded: () => journal.scope.isClosed },
    }),
  };
  const begin = async (ops: readonly LedgerOp[] = []): Promise<readonly LedgerOutcome[]> => {
    if (plan.does !== 'send') return await journal.commit(ops);
    const called = { type: 'agent-called', idempotent: isIdempotent(call) } as const;
    if (!target.pull) return await journal.begin(called, ops);
    const { type: _type, id: _id, callId: _callId, ...content } = toWire(message, options);
    const { agentId } = target.pull;
    const task = { callId, runId: id, content, agentId, isIdempotent: isIdempotent(call) };
    return await journal.begin({ ...called, callId }, ops, task);
  };
  if (plan.does === 'ask' && awaitsAuthorization(journal.steps)) await journal.authorization(false, []); // the agent repeats it
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

/**
 * Each message of a run is a call of its own, and all attempts to send it have the same id. An agent that takes its tasks gets a task of its
 * own for each attempt.
 */
function callIdOf({ target, journal }: AgentCall): string {
  const { steps } = journal;
  const { id } = journal.run;
  if (target.pull) return taskIdOf(id, steps.filter(({ type }) => type === 'agent-called').length + 1);
  const messages = steps.filter(({ type }) => type === 'message').length;
  return messages > 1 ? `${id}-${messages}` : id;
}

function isIdempotent({ target }: AgentCall): boolean {
  return target.isIdempotent ?? false;
}

function isTaskLost(error: unknown): boolean {
  return error instanceof ProviderError && error.code === 'AGENT_TASK_LOST';
}

function awaitsAuthorization(steps: readonly RunStep[]): boolean {
  return steps.findLast((step) => step.type === 'authorization')?.required ?? false;
}

async function openBudget({ options, payment }: AgentCall, limit: typeof NO_LIMIT): Promise<void> {
  const { namespace, runId, parentRunId = null } = options.context;
  await payment?.spending.openRun({ namespace, runId, parentRunId, limit });
}

/** A task that ends within this time is not recorded, so that a short call does not need one more commit. */
const ACCEPTED_AFTER_MS = 10;

/** Records the task that the agent has accepted, unless the call ends at once. The events of the agent are not delayed. */
class AcceptedTask {
  private timer?: NodeJS.Timeout;
  private storing?: Promise<unknown>;

  constructor(private readonly journal: RunJournal) {}

  accept(task: RemoteTask): void {
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.journal.add({ type: 'agent-accepted', task });
      this.storing = this.journal.commit();
      this.storing.catch(() => undefined); // `end` reports it
    }, ACCEPTED_AFTER_MS);
  }

  /** Rejects if the task could not be recorded. */
  async end(): Promise<void> {
    clearTimeout(this.timer);
    await this.storing;
  }

  abandon(): void {
    clearTimeout(this.timer);
  }
}

async function* recorded(
  events: AsyncIterable<AgentEvent>,
  { journal }: AgentCall,
  progress: CallProgress,
): AsyncGenerator<AgentEvent> {
  const accepted = new AcceptedTask(journal);
  try {
    for await (const event of events) {
      if (event.type === 'text' || event.type === 'progress') journal.live(event.type, event.text);
      else if (event.type === 'accepted') accepted.accept(event.task);
      else if (event.type === 'authorization') await journal.authorization(event.required, event.parts);
      else if (event.type === 'finished') {
        await accepted.end();
        progress.usage = sumOf([...finishedBefore(journal.steps), event.result]);
        journal.add({ type: 'finished', result: event.result });
      } else if (event.type !== 'artifact') {
        journal.add(event);
        await journal.commit();
      }
      yield event;
    }
  } finally {
    accepted.abandon();
  }
}

function finishedBefore(steps: readonly RunStep[]): AgentResult[] {
  return steps.filter((step): step is Finished => step.type === 'finished').map(({ result }) => result);
}

function planOf(call: AgentCall, progress: CallProgress): Plan {
  const { steps } = call.journal;
  const last = steps.findLast(({ type }) => !AGENT_WORK.has(type));
  if (last?.type === 'finished') {
    progress.usage = last.result.usage;
    return { does: 'end', result: last.result };
  }
  if (last?.type === 'tool-finished')
    return { does: 'end', result: { outcome: 'completed', parts: [textPart(last.output)], usage: {} } };
  if (last?.type === 'approval-decided') {
    if (last.approved) return { does: 'send', isRepeated: true };
    const why = `An operator decided not to repeat the call. ${last.reason ?? ''}`.trim();
    return { does: 'end', result: stopped('rejected', why) };
  }
  if (last?.type !== 'agent-accepted' && last?.type !== 'agent-called') return { does: 'send', isRepeated: false };
  const { pull, agent } = call.target; // the agent may have been replaced by one that is called in another way
  if (pull && last.type === 'agent-called' && last.callId !== undefined) return { does: 'wait', callId: last.callId };
  if (!pull && last.type === 'agent-accepted' && asksForTasks(agent)) return { does: 'ask', task: last.task };
  if (isIdempotent(call)) return { does: 'send', isRepeated: true };
  return { does: 'end', result: reviewOf(call, progress) };
}

/** Whether calls of the agent can continue without the process that made them. */
function asksForTasks({ agentType }: Agent): boolean {
  return agentType === 'remote';
}

function reviewOf({ journal, target }: AgentCall, progress: CallProgress): AgentResult {
  const { name } = target.agent;
  progress.pending = [pendingCall(journal.run.id, name, journal.steps)];
  return stopped(
    NEEDS_REVIEW,
    `The run was interrupted while the agent ${name} worked. Approve or reject the repetition of the call.`,
  );
}

/** The caller may decide: it could start the same run again. */
function pendingCall(callId: string, tool: string, steps: readonly RunStep[]): PendingApproval {
  const { parts: input } = lastMessage(steps);
  const inputHash = approvalHashOf({ input, turn: 0, asked: decisionsOf(callId, steps) });
  return { callId, tool, input, inputHash, approve: 'caller' };
}

function stopped(reason: string, detail: string): AgentResult {
  return { outcome: 'stopped', reason, detail, parts: [], usage: {} };
}

/** The calls of the loop that were in progress when the run was interrupted, and that must not be repeated without a decision. */
function interruptedCalls({ openSteps, turn }: RunState, tools: ToolSet): PendingApproval[] {
  return unclearCalls(openSteps).map((open) => approvalOf(open, turn, tools.find(open.call.name)?.tool));
}
