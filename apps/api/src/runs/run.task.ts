import type { Run } from '#rollcall/agent-runtime';
import type { Principal } from '../auth/principal.js';

/**
 * Whether a run is a task of the caller. A caller sees the runs that it started; with `runs:manage`, all runs of the namespace.
 * Delegated runs are not tasks. `agentId` is the agent that the caller addresses, if it addresses one.
 */
export function isTaskOf(run: Run, { owner, permissions }: Principal, agentId: string | undefined): boolean {
  if (run.parentId !== null) return false;
  if (agentId !== undefined && run.agentId !== agentId) return false;
  return run.createdBy === owner || permissions.includes('runs:manage');
}

/** The facts of a run for clients of other protocols. Facts that are unknown or do not apply are absent. */
export function runFacts({ agentId, state, waitingFor, usage, result }: Run): Record<string, unknown> {
  const { inputTokens, outputTokens, estimatedTokens, costMicroUsd } = usage;
  const { reason, error, approvals } = result ?? {};
  return withoutUndefined({
    agentId,
    state,
    waitingFor: waitingFor ?? undefined,
    reason,
    error,
    approvals,
    usage: withoutUndefined({ inputTokens, outputTokens, estimatedTokens, costMicroUsd }),
  });
}

function withoutUndefined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
