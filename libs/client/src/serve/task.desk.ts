import type { TakenTaskView } from '../generated/schema.js';
import { RollcallError } from '../rollcall.error.js';
import type { AgentLease, Lease } from './agent.lease.js';
import type { Changes } from './changes.js';
import { type AgentWork, execute, type TaskHandler, TaskPieces, type TaskResult } from './task.js';
import { takeTasks, type TaskReceiver, type TaskWire } from './task.wires.js';

export interface DeskOptions {
  readonly handle: TaskHandler;
  readonly capacity: number;
  readonly isIdempotent: boolean;
  readonly leases: AgentLease;
  readonly wire: TaskWire;
  readonly changes: Changes;
  onError(error: RollcallError): void;
}

/** A task on the desk. `lease` is the registration that holds it; undefined if that registration has ended. */
interface Execution {
  readonly callId: string;
  readonly stop: AbortController;
  lease: Lease | undefined;
  isRunning: boolean;
}

/**
 * The tasks that were delivered and whose results are not stored yet. A task is executed once: when it is delivered again after a lost
 * connection or to the next registration, its execution continues, and the result is reported by the registration that holds it then.
 */
export class TaskDesk implements AgentWork, TaskReceiver {
  private readonly executions = new Map<string, Execution>();

  constructor(private readonly options: DeskOptions) {}

  /** How many tasks are executed or must still be reported. */
  get inFlight(): number {
    return [...this.executions.values()].filter(({ isRunning, lease }) => isRunning || lease).length;
  }

  get free(): number {
    return Math.max(0, this.options.capacity - this.inFlight);
  }

  /** The tasks that this registration has received and not finished. */
  holding(lease: Lease): string[] {
    return [...this.executions.values()].filter((one) => one.lease === lease).map(({ callId }) => callId);
  }

  accept(lease: Lease, tasks: readonly TakenTaskView[]): void {
    for (const task of tasks) {
      const known = this.executions.get(task.callId);
      if (known && !known.stop.signal.aborted) known.lease = lease;
      else void this.work(lease, task);
    }
    this.options.changes.notify();
  }

  /** Stops tasks whose results are not needed any more. */
  cancel(callIds: readonly string[], reason = 'The task was cancelled.'): void {
    for (const callId of callIds) {
      const one = this.executions.get(callId);
      if (!one) continue;
      one.lease = undefined;
      one.stop.abort(new RollcallError('TASK_CANCELLED', reason));
      if (!one.isRunning) this.executions.delete(callId);
    }
    if (callIds.length > 0) this.options.changes.notify();
  }

  async receive(lease: Lease, signal: AbortSignal): Promise<void> {
    await this.options.wire.receive(lease, this, signal);
  }

  async takeRest(lease: Lease): Promise<number> {
    return await takeTasks(lease, this, { waitMs: 0, signal: this.options.leases.life.signal });
  }

  abort(): void {
    this.cancel([...this.executions.keys()], 'The agent has ended.');
  }

  /** An idempotent agent gets its tasks again; other tasks wait for a review. */
  onLost(): void {
    for (const one of this.executions.values()) {
      const isAbandoned = !one.lease && !one.isRunning; // it was not delivered to this registration, either
      if (isAbandoned || !this.options.isIdempotent) this.cancel([one.callId], 'The registration has ended.');
      one.lease = undefined;
    }
    this.options.changes.notify();
  }

  private async work(lease: Lease, task: TakenTaskView): Promise<void> {
    const { handle, wire, leases, changes } = this.options;
    const { callId } = task;
    const one: Execution = { callId, lease, stop: new AbortController(), isRunning: true };
    const { signal } = one.stop;
    this.executions.set(callId, one);
    const pieces = new TaskPieces(async (piece) => {
      if (one.lease && !signal.aborted)
        await wire.progress(one.lease, callId, piece).catch((error: unknown) => this.onRejected(one, error));
    });
    const result = await execute(handle, task, { signal, send: (piece) => pieces.add(piece) });
    one.isRunning = false;
    changes.notify();
    await pieces.idle();
    await this.report(one, result).catch((error: unknown) => {
      if (!signal.aborted && !leases.life.signal.aborted) throw error;
    });
    if (this.executions.get(callId) === one) this.executions.delete(callId);
    changes.notify();
  }

  /** Sends the result until there is an answer, or until it is not needed any more. */
  private async report(one: Execution, result: TaskResult): Promise<void> {
    const { changes, leases, wire } = this.options;
    const signal = AbortSignal.any([one.stop.signal, leases.life.signal]);
    for (let failures = 1; ; failures += 1) {
      await changes.until(() => one.lease !== undefined, signal);
      const { lease } = one;
      if (!lease) continue;
      try {
        return await wire.result(lease, one.callId, result);
      } catch (error) {
        if (one.lease !== lease) continue;
        if (this.onRejected(one, error)) return;
        if (error instanceof RollcallError && (error.status === 400 || error.status === 413)) {
          this.options.onError(error);
          result = { outcome: 'failed', detail: `The result of the handler was rejected: ${error.message}` };
        } else await leases.recover(error, lease, failures);
      }
    }
  }

  /** Returns whether the agent must stop the task. */
  private onRejected(one: Execution, error: unknown): boolean {
    if (!(error instanceof RollcallError) || !error.code.startsWith('TASK_')) return false;
    this.options.onError(error);
    if (this.executions.get(one.callId) === one) this.cancel([one.callId], error.message);
    return true;
  }
}
