import { createHash } from 'node:crypto';
import { Logger, type LoggerService } from '@nestjs/common';
import { DomainError } from '#rollcall/platform';
import {
  aborted,
  type Agent,
  type AgentEvent,
  type AgentMessage,
  type AgentResult,
  type HandleOptions,
  message,
  ProviderError,
} from '#rollcall/providers';
import { GracePeriod } from '../calls/grace.period.js';
import { callBudgetOf, paidAgent, type PaymentOptions } from '../calls/paid.call.js';
import type { RunContext } from '../loop/run.context.js';
import { SpendingLimitError } from '../spending/spending.errors.js';
import type { ToolContext } from '../tools/tool.js';
import { type ChildResult, textOfError, toChildResult, withoutAnswer } from './child.result.js';
import { ChildScope } from './child.scope.js';
import { DelegationRefusedError, DelegationTargetUnknownError } from './delegation.errors.js';
import { checkPath } from './delegation.limits.js';
import type { RunRecorder } from './delegation.services.js';
import type {
  DelegatingParent,
  DelegationResult,
  DelegationTarget,
  DelegationTargets,
  WantedAgent,
} from './targets/delegation.targets.js';

export interface DelegatedTask {
  readonly wanted: WantedAgent;
  readonly task: string;
  readonly data?: unknown;
}

/** The tool call that starts a delegated run. */
interface DelegatingCall {
  readonly turn: number;
  readonly callId: string;
  readonly index: number;
}

/** One of the delegated tasks of a tool call. */
export interface Child extends DelegatedTask {
  readonly index: number;
  /** Aborted when a sibling has failed. */
  readonly siblings?: AbortSignal;
}

export interface ChildRunnerOptions {
  readonly targets: DelegationTargets;
  /** The agent that delegates. */
  readonly parent?: DelegatingParent;
  /** Without it, delegated runs have no budget. */
  readonly payment?: PaymentOptions;
  /** Without it, delegated runs leave no record. */
  readonly recorder?: RunRecorder;
  /** Gives a delegated agent the tools of its parent. */
  readonly prepare?: (target: DelegationTarget) => void;
  /** The longest time of a delegated run. */
  readonly childTimeoutMs: number;
  readonly now: () => number;
  readonly log?: Pick<LoggerService, 'error'>;
}

/** The parts of a delegation in progress. */
interface Started {
  readonly target: DelegationTarget;
  readonly context: RunContext;
  readonly scope: ChildScope;
}

type Observer = (event: Exclude<AgentEvent, { type: 'finished' }>) => void;

const ID_LENGTH = 32;

/** How long an aborted agent may take to end. After this time, it is abandoned. */
const GRACE_MS = 500;

const FAILED = 'The agent failed. Delegate to another agent, or do the task yourself.';
const BUDGET = 'The budget of this task is used up. Give your answer with what you know, and state what is missing.';
const LATE = 'The agent did not finish in time. Give your answer without it, or delegate a smaller task.';
const CANCELLED = 'The agent was cancelled, because another agent of the same call failed.';

/** Runs one delegated task. `run` never rejects: every fault is a result. When it resolves, all its work has ended or is abandoned. */
export class ChildRunner {
  private readonly log: Pick<LoggerService, 'error'>;

  constructor(private readonly options: ChildRunnerOptions) {
    this.log = options.log ?? new Logger('delegation');
  }

  async run(child: Child, context: ToolContext): Promise<ChildResult> {
    const { childTimeoutMs, now } = this.options;
    const { run, signal, turn, callId } = context;
    const remainingMs = Math.min((run.deadline ?? Infinity) - now(), childTimeoutMs);
    const scope = new ChildScope(signal, child.siblings, remainingMs);
    try {
      const { wanted } = child;
      const current = await this.open('name' in wanted ? wanted : { ...wanted, signal: scope.signal }, run);
      const call = { turn, callId, index: child.index };
      const place = withDeadline(childContext(run, current.name, call), now() + remainingMs);
      const target = await this.pinned(current, place, run);
      try {
        return await this.call({ target, context: place, scope }, child, context);
      } finally {
        await this.close(target, run);
      }
    } catch (error) {
      return this.notStarted(labelOf(child.wanted), scope, run, error);
    } finally {
      scope.close();
    }
  }

  private async open(wanted: WantedAgent, run: RunContext): Promise<DelegationTarget> {
    if ('name' in wanted) checkPath(wanted.name, run);
    const { targets, parent } = this.options;
    const target = await targets.open(wanted, run, parent);
    if (!target)
      throw new DelegationTargetUnknownError(
        `There is no agent ${labelOf(wanted)}. Use list_agents to see all agents.`,
      );
    try {
      checkPath(target.name, run); // if the agent was found by capabilities, its name was not checked yet
      this.options.prepare?.(target);
      return target;
    } catch (error) {
      await this.close(target, run);
      throw error;
    }
  }

  /** A delegated run that was interrupted continues on the revision that it was started with. */
  private async pinned(current: DelegationTarget, place: RunContext, run: RunContext): Promise<DelegationTarget> {
    const { name, definition } = current;
    try {
      const revision = definition && (await this.options.recorder?.revisionOf(place));
      if (revision === undefined || revision === definition?.revision) return current;
      const pinned = await this.open({ name, revision }, run);
      await this.close(current, run);
      return pinned;
    } catch (error) {
      await this.close(current, run);
      throw error;
    }
  }

  private async call({ target, context, scope }: Started, child: Child, parent: ToolContext): Promise<ChildResult> {
    const { name } = target;
    const { payment, recorder } = this.options;
    const agent = recorder?.recorded(target, payment) ?? paidAgent(target, payment);
    const budget = callBudgetOf(payment?.childLimit);
    const artifacts = new Set<string>();
    try {
      const options = { signal: scope.signal, context, callId: context.runId, ...(budget && { budget }) };
      const result = await callChild(agent, message(child.task, child.data), options, (event) => {
        if (event.type === 'progress') parent.progress(`${name}: ${event.text}`);
        if (event.type === 'artifact') artifacts.add(event.artifact.name ?? event.artifact.id);
      });
      await this.reportEnd(target, context, { ok: result.outcome === 'completed', usage: result.usage });
      return toChildResult(name, result, [...artifacts]);
    } catch (error) {
      await this.reportEnd(target, context, { ok: false });
      if (error instanceof SpendingLimitError) throw error; // nothing was left for the call
      return endedEarly(name, scope) ?? this.failed(name, context, error);
    }
  }

  /** An error of `close` does not change the result of the run. */
  private async close(target: DelegationTarget, run: RunContext): Promise<void> {
    await target.close().catch((error: unknown) => this.report(run, error));
  }

  private async reportEnd(target: DelegationTarget, run: RunContext, result: DelegationResult): Promise<void> {
    await target.ended?.(result).catch((error: unknown) => this.report(run, error));
  }

  private notStarted(name: string, scope: ChildScope, run: RunContext, error: unknown): ChildResult {
    if (error instanceof DelegationRefusedError || error instanceof DelegationTargetUnknownError)
      return withoutAnswer(name, 'not-started', { advice: error.message });
    if (error instanceof SpendingLimitError) return withoutAnswer(name, 'not-started', { advice: BUDGET });
    return endedEarly(name, scope) ?? this.failed(name, run, error);
  }

  private failed(name: string, context: RunContext, error: unknown): ChildResult {
    this.report(context, error);
    return withoutAnswer(name, 'failed', { advice: FAILED, reason: textOfError(error) });
  }

  /** Logs only errors without a code, because they are bugs. Errors with a code are part of the result. */
  private report({ runId, rootRunId, agentName }: RunContext, error: unknown): void {
    if (error instanceof ProviderError || error instanceof DomainError) return;
    this.log.error({ event: 'delegation.internal_error', runId, rootRunId, agentName, err: error });
  }
}

function endedEarly(name: string, { endedBy }: ChildScope): ChildResult | undefined {
  if (!endedBy) return undefined;
  if (endedBy === 'deadline') return withoutAnswer(name, 'stopped', { advice: LATE });
  return withoutAnswer(name, 'cancelled', { advice: CANCELLED });
}

function labelOf(wanted: WantedAgent): string {
  return 'name' in wanted ? wanted.name : `with the capabilities ${wanted.capabilities.join(', ')}`;
}

/**
 * Calls an agent and returns its result. When the signal is aborted, the call rejects within the grace time, even if the agent
 * ignores the signal: its events are closed, and what it does afterwards has no effect.
 */
async function callChild(
  agent: Agent,
  input: AgentMessage,
  options: HandleOptions & { signal: AbortSignal },
  observe: Observer,
): Promise<AgentResult> {
  const grace = new GracePeriod(options.signal, GRACE_MS);
  const events = agent.handle(input, options)[Symbol.asyncIterator]();
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

/**
 * The context of a delegated run. Its id follows from the parent run and the tool call, so a call that is repeated after a crash
 * gets the same run. The id also depends on the turn, because vendors may reuse the id of a call in a later turn. `index` numbers the
 * agents of one call.
 */
function childContext(parent: RunContext, childName: string, call: DelegatingCall): RunContext {
  const { namespace, rootRunId, workspaceId, conversationId, runId, callerId, agentName, ancestry } = parent;
  const { depth, deadline, limits } = parent;
  return {
    namespace,
    rootRunId,
    ...(workspaceId !== undefined && { workspaceId }),
    ...(conversationId !== undefined && { conversationId }),
    runId: childRunId(runId, childName, call.turn, call.callId, call.index),
    parentRunId: runId,
    ...(callerId !== undefined && { callerId }),
    agentName: childName,
    ancestry: [...ancestry, agentName],
    depth: depth + 1,
    deadline,
    limits,
  };
}

/** The context with the earlier of both deadlines. */
function withDeadline(context: RunContext, deadline: number): RunContext {
  return { ...context, deadline: Math.min(context.deadline ?? Infinity, deadline) };
}

function childRunId(...identity: (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, ID_LENGTH);
}
