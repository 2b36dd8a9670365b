/**
 * How far the shutdown of an agent went. `stop`: it had no call in progress. `drain`: its calls were aborted and have ended.
 * `abort`: it failed to release its resources. `kill`: it had not ended at the deadline, and was abandoned.
 */
export const SHUTDOWN_PHASES = ['stop', 'abort', 'drain', 'kill'] as const;

/** How the shutdown of one agent ended. */
export interface ShutdownDetail {
  phase: (typeof SHUTDOWN_PHASES)[number];
  durationMs: number;
  /** Whether the agent was abandoned at the deadline. */
  forced: boolean;
  error: Error | null;
}

/** How the shutdown of several agents ended, by name. */
export interface ShutdownReport {
  succeeded: string[];
  /** The message of each failure. */
  failed: Record<string, string>;
  details: Record<string, AgentShutdown>;
}

/** A `ShutdownDetail` as plain JSON. */
export interface AgentShutdown extends Omit<ShutdownDetail, 'error'> {
  error: string | null;
}

export function toAgentShutdown({ error, ...detail }: ShutdownDetail): AgentShutdown {
  return { ...detail, error: error?.message ?? null };
}

export function shutdownReportOf(ended: Iterable<readonly [string, AgentShutdown]>): ShutdownReport {
  const details = Object.fromEntries([...ended].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const all = Object.entries(details);
  return {
    succeeded: all.filter(([, { error }]) => error === null).map(([name]) => name),
    failed: Object.fromEntries(all.flatMap(([name, { error }]) => (error === null ? [] : [[name, error]]))),
    details,
  };
}
