import { setTimeout as delay } from 'node:timers/promises';
import { CallDetachedError, ProviderError } from '#rollcall/providers';
import type { PendingCall } from '../run.status.js';

/** How long a root waits for its delegated runs. Delegated runs that take longer end together with the root. */
const END_MS = 1_000;

/** The right to write steps of a tree of runs. */
export interface RunFence {
  readonly rootId: string;
  readonly token: string;
}

/** The execution has ended for this replica, so nothing more is recorded. This error never becomes the result of a run. */
export class RunClosedError extends Error {}

/**
 * One execution of a tree of runs on this replica. When it is closed, because the run was cancelled, handed over or taken over, all
 * work is aborted and no later step is recorded.
 */
export class RunScope {
  readonly signal: AbortSignal;
  /** Whether the replica is stopping. */
  isDraining = false;
  /** The calls of delegated runs that need a decision before the run can continue. */
  readonly reviews: PendingCall[] = [];
  private readonly controller = new AbortController();
  /** Whether the tree has delegated runs of this execution. */
  hadDelegated = false;
  private unsafeCalls = 0;
  private executions = 0;
  private readonly delegated = new Set<Promise<void>>();

  /** `attempt` is the number of this execution of the root. */
  constructor(
    readonly fence: RunFence,
    private readonly attempt: number,
  ) {
    this.signal = this.controller.signal;
  }

  /** A name for the next execution of a run of this tree. No other execution of the run has the same name. */
  nextExecution(): string {
    this.executions += 1;
    return this.executions === 1 ? `${this.attempt}` : `${this.attempt}-${this.executions}`;
  }

  get isClosed(): boolean {
    return this.controller.signal.aborted;
  }

  /** The run continues on another replica. Agents that have accepted a call continue their work. */
  close(): void {
    this.controller.abort(new CallDetachedError());
  }

  /** The run was cancelled. Agents that have accepted a call cancel their work. */
  cancel(): void {
    this.controller.abort(new ProviderError('CALL_ABORTED', 'The run was cancelled.'));
  }

  /** Whether a call is in progress that must not be repeated. */
  get isUnsafe(): boolean {
    return this.unsafeCalls > 0;
  }

  /** From now on, the scope closes when a step is stored and no call is in progress that must not be repeated. */
  drain(): void {
    this.isDraining = true;
  }

  /** Called when a delegated run begins. The returned function must be called after the delegated run has recorded its end. */
  beginDelegated(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.hadDelegated = true;
    this.delegated.add(promise);
    return () => {
      this.delegated.delete(promise);
      resolve();
    };
  }

  /** Waits for delegated runs that are aborted, so that each records its own end before the root ends. */
  async delegatedEnded(): Promise<void> {
    if (this.delegated.size === 0) return;
    const timer = new AbortController();
    const limit = delay(END_MS, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([Promise.all(this.delegated), limit]);
    timer.abort();
  }

  /** The root must wait for decisions about these calls. Closes the scope like `drain`, but at once if possible. */
  review(calls: readonly PendingCall[]): void {
    this.reviews.push(...calls);
    this.onStored();
  }

  /** Called when a step is stored. */
  onStored(): void {
    if ((this.isDraining || this.reviews.length > 0) && this.unsafeCalls === 0) this.close();
  }

  /** A call that must not be repeated begins (1) or ends (-1). */
  countUnsafe(change: 1 | -1): void {
    this.unsafeCalls = Math.max(0, this.unsafeCalls + change);
  }
}
