import { localIdOf } from '#rollcall/platform';
import type { LeaveReason } from '../agents/agent.record.js';
import type { DepartedRow } from './candidate.store.js';
import type { ExcludedAgent } from './ranking.js';

const REASONS: Record<LeaveReason, string> = {
  deregistered: 'it was deregistered',
  shutdown: 'it deregistered because its process ended',
  drained: 'it deregistered after an operator drained it',
  budget_exhausted: 'it deregistered because its budget was exhausted',
  quarantined: 'an operator quarantined and evicted it',
  evicted: 'it was evicted: it missed its heartbeats, or an operator evicted it',
  replaced: 'another registration replaced it',
};

/** Explains why an agent that left is not a candidate. */
export function toExcluded({ agentId, name, leaveReason, agoMs }: DepartedRow): ExcludedAgent {
  const text = `it left ${Math.round(agoMs / 1_000)} s ago (${leaveReason}): ${REASONS[leaveReason]}`;
  return {
    agentId: localIdOf(agentId),
    name,
    exclusions: [{ code: 'left', text, eligibleWhen: { text: 'it registers again' } }],
  };
}
