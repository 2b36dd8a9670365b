import type { Exclusion } from '#rollcall/registry';

/** Why the agent cannot receive work now, and when it can. */
export function unavailableText(agentId: string, { text, eligibleWhen }: Exclusion): string {
  return `The agent ${agentId} cannot receive work now: ${text}. It can receive work when ${eligibleWhen.text}.`;
}
