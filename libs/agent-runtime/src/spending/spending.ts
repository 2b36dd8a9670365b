import type { LedgerOp, LedgerOutcome, ReservationKey, Usage } from '#rollcall/registry';
import type { OpenAccounts } from './open.accounts.js';

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
export interface RunUsage {
  readonly own: SpendingAmount;
  readonly subtree: SpendingAmount;
  /** What is reserved for calls in progress of the run and its descendants. */
  readonly held: SpendingAmount;
  readonly limit: SpendingLimit;
}

/** The budget of a run. */
export interface NewBudget extends PayingRun {
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
  openRun(run: NewBudget): Promise<RunUsage>;
  usageOf(run: PayingRun): Promise<RunUsage>;
  /**
   * Applies operations on reservations in order, and commits them together. If a reservation is rejected, the operations after it are
   * not applied and have no outcome.
   */
  apply(ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]>;
  /** Settles a reservation with a usage that somebody outside reports, up to a limit (S-6). */
  settlement(of: ReservationKey, usage: Usage): LedgerOp;
  /** Ends reservations. If the database is unavailable, this is repeated until it succeeds; until then, the amounts stay reserved. */
  close(ops: readonly LedgerOp[]): Promise<void>;
  /**
   * Ends the reservations that an interrupted execution of the run left open. The charges of recorded replies are made, unless they
   * have already been made, and all other reservations are released.
   */
  recover(run: PayingRun, charges: readonly Charge[]): Promise<void>;
}
