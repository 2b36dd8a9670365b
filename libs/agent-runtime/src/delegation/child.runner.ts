import { Logger, type LoggerService } from '@nestjs/common';
import { DomainError } from '#rollcall/platform';
import { message, ProviderError } from '#rollcall/providers';
import { paidAgent, type PaymentOptions, callBudgetOf } from '../calls/paid.call.js';
import type { RunContext } from '../loop/run.context.js';
import { SpendingLimitError } from '../spending/spending.errors.js';
import type { ToolContext } from '../tools/tool.js';
import { callChild } from './child.call.js';
import { childContext, withDeadline } from './child.context.js';
import { type ChildResult, textOfError, toChildResult, withoutAnswer } from './child.result.js';
import { ChildScope } from './child.scope.js';
import { DelegationRefusedError, DelegationTargetUnknownError } from './delegation.errors.js';
import { checkPath } from './delegation.guards.js';
import type {
  DelegatingParent,
  DelegationResult,
  DelegationTarget,
  DelegationTargets,
  WantedAgent,
} from './delegation.targets.js';
import type { RunRecorder } from './run.recorder.js';

export interface DelegatedTask {
  readonly wanted: WantedAgent;
  readonly task: string;
  readonly data?: unknown;
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
