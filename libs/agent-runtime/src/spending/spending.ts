import { qualifiedId } from '#rollcall/platform';
import type { Budget, LedgerOp, LedgerOutcome, ReservationKey, Usage } from '#rollcall/registry';

export interface SpendingAmount {
  readonly tokens: number;
  readonly microUsd: number;
}

/** Null means no limit. */
export interface SpendingLimit {
  readonly tokens: number | null;
  readonly microUsd: number | null;
}

export const NO_LIMIT: SpendingLimit = { tokens: null, microUsd: null };

/** The lower of both limits. */
export function lowerLimit(one: SpendingLimit, other: SpendingLimit): SpendingLimit {
  return { tokens: lower(one.tokens, other.tokens), microUsd: lower(one.microUsd, other.microUsd) };
}

function lower(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** Identifies the run that pays. */
export interface PayingRun {
  readonly namespace: string;
  readonly runId: string;
}

/** What a reply costs. The step of the reply contains it, so that a crash does not lose it. */
export interface Charge {
  /** The name of the reservation within its run. */
  readonly key: string;
  readonly tokens: number;
  /** Null if the price is unknown. */
  readonly microUsd: number | null;
  /** The vendor did not report the usage, so the reserved amount is charged. */
  readonly estimated?: true;
}

/** The usage of a run itself (`own`), and with all its descendants (`subtree`). */
export interface BudgetUsage {
  readonly own: SpendingAmount;
  readonly subtree: SpendingAmount;
  /** What is reserved for calls in progress of the run and its descendants. */
  readonly reserved: SpendingAmount;
  readonly limit: SpendingLimit;
}

/** The budget of a run. */
export interface NewRunBudget extends PayingRun {
  readonly parentRunId: string | null;
  readonly limit: SpendingLimit;
}

/** Pays for runs. Production uses the budget ledger; tests and the benchmark use an implementation in memory. */
export interface Spending {
  /** The runs of this process that have reservations. */
  readonly accounts: OpenAccounts;
  /**
   * Opens the budget of a run. The limit applies to the run and all its descendants. If the run already has a budget, its parent and
   * its limit are not changed. Returns the usage of the run.
   */
  openRun(run: NewRunBudget): Promise<BudgetUsage>;
  usageOf(run: PayingRun): Promise<BudgetUsage>;
  /**
   * Applies operations on reservations in order, and commits them together. If a reservation is rejected, the operations after it are
   * not applied and have no outcome.
   */
  apply(ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]>;
  /** Settles a reservation with a usage that somebody outside reports, up to a limit (S-6). */
  settlement(of: ReservationKey, usage: Usage): LedgerOp;
  /** Like `settlement`, for a part of a reservation, which stays open. The usage is the total so far. */
  partialCharge(of: ReservationKey, usage: Usage): LedgerOp;
  /** Ends reservations. If the database is unavailable, this is repeated until it succeeds; until then, the amounts stay reserved. */
  close(ops: readonly LedgerOp[]): Promise<void>;
  /**
   * Ends the reservations that an interrupted execution of the run left open. The charges of recorded replies are made, unless they
   * have already been made, and all other reservations are released.
   */
  recover(run: PayingRun, charges: readonly Charge[]): Promise<void>;
}

/** The reservations of one execution of a run. */
export interface OpenAccount {
  readonly run: PayingRun;
  /** Keeps the reservations open, and charges what is stored so far, so that the budgets show it while the run continues. */
  keep(): Promise<void>;
  /** The budget of the run has changed. */
  note(budget: Budget): void;
}

/** The runs of this process that have reservations. */
export class OpenAccounts {
  private readonly byRun = new Map<string, readonly OpenAccount[]>();

  add(account: OpenAccount): void {
    const id = idOf(account);
    const known = this.byRun.get(id) ?? [];
    if (!known.includes(account)) this.byRun.set(id, [...known, account]);
  }

  remove(account: OpenAccount): void {
    const id = idOf(account);
    const others = (this.byRun.get(id) ?? []).filter((one) => one !== account);
    if (others.length === 0) this.byRun.delete(id);
    else this.byRun.set(id, others);
  }

  get all(): OpenAccount[] {
    return [...this.byRun.values()].flat();
  }

  /** An operation of a delegated run also changes the budgets of the runs above it, which are executed by the same process. */
  note(outcomes: readonly LedgerOutcome[]): void {
    for (const outcome of outcomes)
      for (const budget of (outcome.ok && outcome.runs) || [])
        for (const account of this.byRun.get(budget.subject) ?? []) account.note(budget);
  }
}

function idOf({ run: { namespace, runId } }: OpenAccount): string {
  return qualifiedId(namespace, runId);
}

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
