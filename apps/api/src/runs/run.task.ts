import type { Run } from '#rollcall/agent-runtime';

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
