/**
 * How far the shutdown of an agent went. `stop`: it had no call in progress. `drain`: its calls were aborted and have ended.
 * `abort`: it failed to release its resources. `kill`: it had not ended at the deadline, and was abandoned.
 */
export const SHUTDOWN_PHASES = ['stop', 'abort', 'drain', 'kill'] as const;
export type ShutdownPhase = (typeof SHUTDOWN_PHASES)[number];

/** How the shutdown of one agent ended. */
export interface ShutdownDetail {
  phase: ShutdownPhase;
  durationMs: number;
  /** Whether the agent was abandoned at the deadline. */
  forced: boolean;
  error: Error | null;
}
