import type { LedgerOp, LedgerOutcome } from '#rollcall/registry';
import type { Spending } from './spending.js';

/** Writes what one execution of a run does. Steps and operations on reservations commit together, or nothing does. */
export interface RunWriter {
  /** Differs for each execution of a run. The names of its reservations contain it. */
  readonly execution: string;
  /**
   * Stores the steps that were yielded before, and applies these operations in the same commit. If a reservation is rejected, the
   * operations after it are not applied and have no outcome; the steps are stored nevertheless.
   */
  commit(ops?: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]>;
  /** Ends reservations together with the execution, in the same commit. */
  close(ops: readonly LedgerOp[]): Promise<void>;
}

/** The writer of an execution whose steps are not stored. */
export function unrecorded(spending: Spending): RunWriter {
  return {
    execution: crypto.randomUUID(),
    commit: async (ops = []) => await spending.apply(ops),
    close: async (ops) => await spending.close(ops),
  };
}
