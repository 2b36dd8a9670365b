import type { ModelUsage } from '#rollcall/providers';

export interface SpendingAmount {
  readonly tokens: number;
  readonly microUsd: number;
}

/** Null means no limit. */
export interface SpendingLimit {
  readonly tokens: number | null;
  readonly microUsd: number | null;
}

export interface HoldRequest {
  readonly namespace: string;
  readonly runId: string;
  /** The agent that is also charged, if it has a budget; null if no agent is charged. */
  readonly agentId: string | null;
  /** The principal that is also charged, if it has a budget; null if no principal started the run. */
  readonly callerId: string | null;
  /** The name of the hold within its run. A repeated request with the same key returns the same hold, even after a crash. */
  readonly key: string;
  readonly amount: SpendingAmount;
  /** If the budget has less left than the amount, hold less, but at least this many tokens. */
  readonly atLeastTokens?: number;
  /** Further calls of about this size follow. If the budgets have enough left, the amount for several calls is held at once. */
  readonly isRepeated?: boolean;
}

/** A value, or a promise of it. Budgets in memory return the value at once, because each unnecessary `await` costs time. */
export type Awaitable<Value> = Value | Promise<Value>;

/** When a charge is made. `later` is possible if a step contains the charge, so that a crash does not lose it. */
export type ChargeTime = 'now' | 'later';

/** An amount that is set aside for one call. It ends with `settle` or `release`; after a crash, it expires. */
export interface Hold {
  /** The name of the hold within its run. It differs from the requested key if that name is already used. */
  readonly key: string;
  readonly amount: SpendingAmount;
  /**
   * Charges what was used. If a count is unknown, the held amount is charged. A charge that is stored with a step may be made later,
   * together with the charges of other calls.
   */
  settle(usage: ModelUsage & { costMicroUsd?: number }, when?: ChargeTime): Awaitable<void>;
  release(): Awaitable<void>;
}

/** What one hold is charged for a reply. Null means unknown: the held amount is charged. The step of the reply contains the charge. */
export interface Charge {
  /** The key of the hold. */
  readonly key: string;
  readonly tokens: number | null;
  readonly microUsd: number | null;
}

/** The usage of a run itself (`own`), and with all its descendants (`subtree`). */
export interface RunUsage {
  readonly own: SpendingAmount;
  readonly subtree: SpendingAmount;
  /** What is held for calls in progress of the run and its descendants. */
  readonly held: SpendingAmount;
  readonly limit: SpendingLimit;
}

/** The budget of a run. */
export interface NewBudget {
  readonly namespace: string;
  readonly runId: string;
  readonly parentRunId: string | null;
  readonly limit: SpendingLimit;
}

/** Pays for runs. Production uses the budget ledger; tests and the benchmark use an implementation in memory. */
export interface Spending {
  /**
   * Opens the budget of a run. The limit applies to the run and all its descendants. If the run already has a budget, its parent and
   * its limit are not changed. Returns the usage of the run.
   */
  openRun(run: NewBudget): Promise<RunUsage>;
  /** Rejects with `SpendingLimitError` if a budget does not have enough left. */
  hold(request: HoldRequest): Awaitable<Hold>;
  usageOf(namespace: string, runId: string): Awaitable<RunUsage>;
  /** Makes the charges that were postponed, and releases what is held for further calls of the run. */
  closeRun(run: { namespace: string; runId: string }): Awaitable<void>;
  /**
   * Ends the holds that an interrupted execution of the run left open. The charges of recorded replies are made, unless they have
   * already been made, and all other holds are released.
   */
  recover(run: { namespace: string; runId: string }, charges: readonly Charge[]): Promise<void>;
}
