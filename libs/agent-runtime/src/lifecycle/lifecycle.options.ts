/** The intervals and time limits for the agents that a replica hosts. */
export interface LifecycleOptions {
  /** How often a hosted agent sends a heartbeat. It must be shorter than the lease of the registry. */
  beatEveryMs: number;
  /** The agents of a replica are evicted if none of them has sent a heartbeat for this time. It must be longer than a lease. */
  hostLostMs: number;
  /** The instance of an agent without calls is closed after this time; the next call builds a new one. */
  idleMs: number;
  /** How long the calls of an agent may continue after its definition has changed. */
  drainMs: number;
  /** How long a shutdown may take. */
  shutdownMs: number;
  /** How long the shutdown of all agents may take when the process stops. */
  stopMs: number;
}

export const LIFECYCLE_OPTIONS = Symbol('LifecycleOptions');

export const DEFAULT_LIFECYCLE_OPTIONS: LifecycleOptions = {
  beatEveryMs: 5_000,
  hostLostMs: 36_000,
  idleMs: 900_000,
  drainMs: 600_000,
  shutdownMs: 10_000,
  stopMs: 5_000,
};
