import { setTimeout as delay } from 'node:timers/promises';
import type { WorkEnd, Worker } from '#rollcall/platform';
import type { RunClaim } from './run-claim.store.js';
import type { ExecutionEnd } from './run.execution.js';
import { RunScope } from './run.scope.js';

/** A replica that stops hands its runs over within five seconds: calls in progress have some time to end, and are then aborted. */
const DRAIN_MS = 3_000;
const ABORT_MS = 1_500;

/** Executes one claimed run on this replica. */
export class RunWorker implements Worker<RunClaim> {
  readonly scope: RunScope;
  private finished?: Promise<WorkEnd>;

  constructor(
    readonly claim: RunClaim,
    private readonly execute: (claim: RunClaim, scope: RunScope) => Promise<ExecutionEnd>,
  ) {
    this.scope = new RunScope({ rootId: claim.id, token: claim.token }, claim.run.attempts);
  }

  run(): Promise<WorkEnd> {
    this.finished ??= this.work();
    return this.finished;
  }

  /** Called when the replica stops. The run continues on another replica. */
  drain(): void {
    this.scope.drain();
  }

  /** Called when the run was cancelled. */
  cancel(): void {
    this.scope.close();
  }

  /** Called when the lease is lost, and when the replica stops. Work that ignores its abort is abandoned: nothing of it is recorded. */
  async stop(): Promise<void> {
    if (this.scope.isDraining) await this.ended(DRAIN_MS);
    this.scope.close();
    await this.ended(ABORT_MS);
  }

  /** After an outage of the database, the run is claimed again by the next regular pass. */
  private async work(): Promise<WorkEnd> {
    const end = await this.execute(this.claim, this.scope);
    return end === 'ended' || this.scope.isClosed ? 'ended' : 'failed';
  }

  private async ended(limitMs: number): Promise<void> {
    const timer = new AbortController();
    const limit = delay(limitMs, undefined, { signal: timer.signal, ref: false }).catch(() => undefined);
    await Promise.race([this.finished?.catch(() => undefined), limit]);
    timer.abort();
  }
}
