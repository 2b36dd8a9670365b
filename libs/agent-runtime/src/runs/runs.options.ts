import { NO_QUOTA, type Quota } from '#rollcall/platform';

export const RUNS_OPTIONS = Symbol('RUNS_OPTIONS');

export interface RunsOptions {
  /** How long a replica may execute a run without renewing its lease. After this time, another replica takes the run over. */
  readonly leaseMs: number;
  /** How many runs a replica executes at a time. 0: it executes none. */
  readonly maxRunning: number;
  /** How many runs of one agent a replica executes at a time. */
  readonly maxRunningPerAgent: number;
  /** How many runs may be queued at a time. */
  readonly queue: {
    readonly perNamespace: Quota;
    /** For each credential in each namespace. */
    readonly perCredential: Quota;
  };
  /**
   * A run waits for review when this many replicas crashed or lost their lease in the same step of it (S-2): the step would probably
   * crash the next replica as well.
   */
  readonly maxCrashesInStep: number;
  /** How long a replica that stops waits for calls that must not be repeated. A run whose call is aborted then waits for review. */
  readonly unsafeDrainMs: number;
  /** How long a finished run is kept. */
  readonly keepMs: number;
  /** How long the contents of a finished run are kept. Null: as long as the run. */
  readonly redactAfterMs: number | null;
  /** The clock of this replica, for the deadlines of runs. */
  readonly now: () => number;
}

export const DEFAULT_RUNS_OPTIONS: RunsOptions = {
  leaseMs: 15_000,
  maxRunning: 64,
  maxRunningPerAgent: 32,
  queue: { perNamespace: NO_QUOTA, perCredential: NO_QUOTA },
  maxCrashesInStep: 2,
  unsafeDrainMs: 25_000,
  keepMs: 30 * 86_400_000,
  redactAfterMs: null,
  now: Date.now,
};
