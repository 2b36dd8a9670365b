import type { Run } from '#rollcall/agent-runtime';
import type { Principal } from '../auth/principal.js';

/**
 * Whether a run that the caller sees is a task. Delegated runs are not tasks. `agentId` is the agent that the caller addresses, if it
 * addresses one.
 */
export function isTaskAt(run: Run, agentId: string | undefined): boolean {
  return run.parentId === null && (agentId === undefined || run.agentId === agentId);
}

/** Whether the caller may change the run: it started the run, or has `runs:manage`. To see a run is not enough. */
export function mayChange({ createdBy }: Run, { owner, permissions }: Principal): boolean {
  return createdBy === owner || permissions.includes('runs:manage');
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
