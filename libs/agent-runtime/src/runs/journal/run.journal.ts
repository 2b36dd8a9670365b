import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { isOutage } from '#rollcall/platform';
import type { AgentUsage, ContentPart } from '#rollcall/providers';
import type { LedgerOp, LedgerOutcome } from '#rollcall/registry';
import { LedgerSpending } from '../../spending/ledger.spending.js';
import { ReservationRecovery, throwUnlessEnded } from '../../spending/reservation.recovery.js';
import type { RunWriter } from '../../spending/spending.js';
import { RunClosedError, type RunScope } from '../execution/run.scope.js';
import { RunMeter } from '../observe/run.meter.js';
import { RunWatches } from '../observe/run.watches.js';
import { limitedResult, limitedStep } from '../result.limit.js';
import type { Run } from '../run.js';
import type { RunEnd } from '../run.status.js';
import { continuesAnswer, isCallingModel, type LiveEvent, type RunStep } from '../run.step.js';
import type { NumberedStep, RunWrite } from '../store/run-commit.store.js';
import { type NewRun, RunStore } from '../store/run.store.js';
import type { NewTask } from '../../tasks/task.js';
import { RunCommits } from './run.commits.js';
import { chargesIn, reportsIn } from './run.usage.js';

const RETRY_MS = 200;
const STEPS_PER_READ = 500;
const NO_WAIT = { waitingFor: null, result: null } as const;

/** A run that is executed, with its steps so far. */
interface RecordedRun {
  readonly run: Run;
  readonly steps: readonly RunStep[];
}

/** Opens the journals of runs. */
@Injectable()
export class RunJournals {
  constructor(
    readonly commits: RunCommits,
    readonly watches: RunWatches,
    readonly meter: RunMeter,
    readonly spending: LedgerSpending,
    readonly recovery: ReservationRecovery,
    private readonly store: RunStore,
  ) {}

  async open(run: Run, scope: RunScope): Promise<RunJournal> {
    return new RunJournal(this, { run, steps: await this.stepsOf(run) }, scope);
  }

  /** Adds a delegated run, or continues the one that an interrupted execution has added. */
  async openDelegated(draft: NewRun, scope: RunScope): Promise<RunJournal> {
    const added = await this.commits.begin(draft, scope.fence);
    const run = added ?? (await this.store.find(draft));
    if (!run) throw new Error(`the run ${draft.id} belongs to another namespace`);
    const steps = added ? [inputOf(added)] : await this.readSteps(run.id);
    return new RunJournal(this, { run, steps }, scope);
  }

  /** False if that is not known. */
  async isCancelled(run: Run): Promise<boolean> {
    const found = await this.store.find(run).catch((error: unknown) => {
      if (!isOutage(error)) throw error;
    });
    return found?.state === 'cancelled';
  }

  /** When the first execution of a run begins, only the input is stored. */
  private async stepsOf(run: Run): Promise<RunStep[]> {
    return run.attempts === 1 ? [inputOf(run)] : await this.readSteps(run.id);
  }

  private async readSteps(id: string): Promise<RunStep[]> {
    const steps: RunStep[] = [];
    for (;;) {
      const page = await this.store.steps(id, steps.length, STEPS_PER_READ);
      steps.push(...page.map(({ step }) => step));
      if (page.length < STEPS_PER_READ) return steps;
    }
  }
}

/**
 * Records one run while it is executed. Steps are added, and stored by the next commit together with operations on reservations. The
 * commits of one run follow one another.
 */
export class RunJournal implements RunWriter {
  readonly execution: string;
  isEnded = false;
  /** Whether nothing more is committed. */
  private isOver = false;
  private readonly log = new Logger('runs');
  private seq: number;
  /** The last step before the answer that the agent generates. */
  private answerAfter: number;
  /** Steps that were added and are not stored. */
  private added: NumberedStep[] = [];
  /** Ends the reservations of the run. */
  private closing: LedgerOp[] = [];
  private last: Promise<unknown> = Promise.resolve();
  /** The agent has its own loop. */
  private isExternal = false;
  /** The run has had a task, which ends together with the run. */
  private hasTask = false;
  /** The calls in progress that must not be repeated. */
  private readonly unsafe = new Set<string>();

  constructor(
    private readonly parts: RunJournals,
    private recorded: RecordedRun,
    readonly scope: RunScope,
  ) {
    this.seq = recorded.steps.length;
    this.answerAfter = this.seq;
    this.isExternal = recorded.steps.some(({ type }) => type === 'agent-called');
    this.execution = scope.nextExecution();
    this.hasTask = recorded.steps.some((step) => step.type === 'agent-called' && step.callId !== undefined);
  }

  get run(): Run {
    return this.recorded.run;
  }

  /** The steps that were stored before this execution. */
  get steps(): readonly RunStep[] {
    return this.recorded.steps;
  }

  /** The run is executed with another revision of its definition than the one that it was created with. */
  useRevision({ name }: NonNullable<Run['definition']>, revision: number): void {
    this.recorded = { ...this.recorded, run: { ...this.run, definition: { name, revision } } };
  }

  /** The next commit stores the step. */
  add(step: RunStep): void {
    this.added.push(this.numbered(step));
  }

  async commit(ops: readonly LedgerOp[] = []): Promise<readonly LedgerOutcome[]> {
    return await this.inOrder(async () => {
      if (this.added.length === 0 && ops.length === 0) return [];
      return await this.write({ ops });
    });
  }

  /** Stores a step, and the task of the call that it announces, if no operation is rejected. Returns the outcomes of the operations. */
  async begin(step: RunStep, ops: readonly LedgerOp[], task?: NewTask): Promise<readonly LedgerOutcome[]> {
    return await this.inOrder(async () => {
      const begins = this.numbered(step);
      this.hasTask ||= task !== undefined;
      const outcomes = await this.write({ ops, begins, ...(task && { task }) });
      if (outcomes.every(({ ok }) => ok)) this.onStored([begins]);
      else this.withdraw(begins);
      return outcomes;
    });
  }

  async close(ops: readonly LedgerOp[]): Promise<void> {
    this.closing.push(...ops);
    if (this.isOver) await this.abandon();
  }

  /** Ends the execution: stores the added steps, ends the reservations, and stores the end, in one commit. */
  async finish(end: RunEnd, usage: AgentUsage): Promise<void> {
    this.isEnded = true;
    await this.inOrder(async () => {
      const ops = [...this.closing];
      const mayHaveDelegated = this.scope.hadDelegated || this.run.attempts > 1;
      const result = limitedResult(end.result);
      const outcomes = await this.write({
        ops,
        end: { ...end, result, usage, mayHaveDelegated, hasTask: this.hasTask },
      });
      this.closing = this.closing.slice(ops.length); // operations that were added during the commit
      this.isOver = true;
      this.report(outcomes);
    });
  }

  /** Ends the execution of a root whose scope was closed for a review. Returns whether the end is stored. */
  async finishClosed(end: RunEnd, usage: AgentUsage): Promise<boolean> {
    const { scope, closing: ops, run } = this;
    const whole = { ...end, usage, mayHaveDelegated: true, hasTask: false };
    const written = await this.parts.commits.write({ fence: scope.fence, run, steps: [], ops, end: whole });
    if (written.state !== 'stored') return false;
    this.closing = [];
    this.report(written.outcomes);
    return true;
  }

  /** Ends the reservations of an execution that is over for this replica. Steps that are not stored are lost: they will be repeated. */
  async abandon(): Promise<void> {
    this.isOver = true;
    const ops = this.closing;
    this.closing = [];
    if (ops.length === 0) return;
    await this.parts.spending.close(ops).catch((error: unknown) => this.warn(error));
  }

  /** Ends the reservations of earlier executions. Charges what the stored steps cost, and a call without a result as reserved. */
  async endReservations(): Promise<void> {
    await this.recover(isCallingModel(this.steps));
  }

  /**
   * The same for a call of an agent with its own loop. A call that continues is charged when it ends; a lost call is charged as reserved,
   * because its usage is unknown.
   */
  async endCall(isLost: boolean): Promise<void> {
    await this.recover(isLost);
  }

  /** The task of a remote agent waits for an authorization, or no longer waits for it. Callers that wait for the run are informed. */
  async authorization(required: boolean, parts: readonly ContentPart[]): Promise<void> {
    this.add({ type: 'authorization', required, parts });
    await this.inOrder(async () => {
      await this.write({ ops: [], waits: required ? { waitingFor: 'authorization', result: { parts } } : NO_WAIT });
    });
    this.parts.watches.waits(this.run.id);
  }

  private async recover(isCalling: boolean): Promise<void> {
    const { namespace, id: runId } = this.run;
    const charges = chargesIn(reportsIn(this.steps));
    await this.parts.recovery.end({ namespace, runId }, charges, isCalling, this.execution);
  }

  /** An event that is not stored. */
  live(type: LiveEvent['type'], text: string): void {
    this.parts.watches.live(this.run.id, { type, text, afterStep: this.answerAfter });
  }

  /** Steps and operations must be committed in the order in which they happen. */
  private async inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(work);
    this.last = result.catch(() => undefined);
    return await result;
  }

  /** Tries again while the database is unavailable: a reply that was paid is not lost as long as the lease is valid. */
  private async write(
    part: Pick<RunWrite, 'ops' | 'begins' | 'task' | 'end' | 'waits'>,
  ): Promise<readonly LedgerOutcome[]> {
    const { scope, run, parts } = this;
    const steps = this.added;
    this.added = [];
    for (;;) {
      if (scope.isClosed) throw new RunClosedError();
      const written = await parts.commits.write({ fence: scope.fence, run, steps, ...part });
      if (written.state === 'stored') {
        parts.spending.accounts.note(written.outcomes);
        this.onStored(steps);
        return written.outcomes;
      }
      if (written.state === 'fenced') {
        if (await parts.isCancelled(run)) scope.cancel();
        else scope.close();
        throw new RunClosedError();
      }
      if (!isOutage(written.error)) throw written.error;
      await delay(RETRY_MS, undefined, { signal: scope.signal }).catch(() => undefined);
    }
  }

  private numbered(step: RunStep): NumberedStep {
    if (step.type === 'tool-called' && !step.idempotent) this.beginUnsafe(step.call.id);
    if (step.type === 'agent-called' && !step.idempotent && step.callId === undefined) this.beginUnsafe(this.run.id);
    this.seq += 1;
    if (!continuesAnswer(step)) this.answerAfter = this.seq;
    return { seq: this.seq, step: limitedStep(step) };
  }

  private onStored(steps: readonly NumberedStep[]): void {
    if (steps.length === 0) return;
    for (const { step } of steps) {
      this.isExternal ||= step.type === 'agent-called';
      if (step.type === 'tool-finished') this.endUnsafe(step.callId);
      else if (step.type === 'finished' || step.type === 'agent-accepted') this.endUnsafe(this.run.id);
      this.parts.meter.stored(this.run, step, this.isExternal);
    }
    this.parts.watches.stepped(this.run.id);
    this.scope.onStored();
  }

  /** The step was not stored, because its reservation was rejected. */
  private withdraw({ step }: NumberedStep): void {
    this.seq -= 1;
    if (step.type === 'agent-called') this.endUnsafe(this.run.id);
  }

  private beginUnsafe(callId: string): void {
    this.unsafe.add(callId);
    this.scope.countUnsafe(1);
  }

  private endUnsafe(callId: string): void {
    if (this.unsafe.delete(callId)) this.scope.countUnsafe(-1);
  }

  private report(outcomes: readonly LedgerOutcome[]): void {
    try {
      throwUnlessEnded(outcomes);
    } catch (error) {
      this.warn(error);
    }
  }

  private warn(error: unknown): void {
    const { id: runId, agentId } = this.run;
    this.log.warn({ event: 'run.charge_failed', runId, agentId, err: error });
  }
}

function inputOf({ input, a2a }: Run): RunStep {
  return { type: 'message', parts: input, ...(a2a && { a2a }) };
}
