import type { BudgetRow } from '../budgets/budget.row.js';
import { CLOSED_CIRCUIT } from '../circuit/circuit.breaker.js';
import type { DesiredState } from './agent.record.js';
import type { AgentRow } from './agent.row.js';
import type { Accepted, Joining } from './registration.batch.js';

/** A registration that is written. */
export interface WrittenRegistration {
  agentId: string;
  generation: string;
  /** Also the time of the first heartbeat and the start of the budget window. */
  registeredAt: Date;
  desiredState: DesiredState;
  /** The budget that the registration opened; null when the agent has one already. */
  budgetId: string | null;
}

/** The row of an agentId that was not registered before, as a read would return it. */
export function newAgentRow({ joining, owner, flap }: Accepted, written: WrittenRegistration): AgentRow {
  const { agentId, tokenHash, facts } = joining;
  const { budget, ...declaration } = facts;
  return {
    ...declaration,
    agentId,
    generation: written.generation,
    revision: '1',
    tokenHash,
    budgetTotal: budget.totalTokens === null ? null : String(budget.totalTokens),
    budgetUsed: String(budget.usedTokens),
    budgetSource: budget.source,
    circuit: CLOSED_CIRCUIT,
    circuitVersion: '0',
    flap,
    registeredAt: written.registeredAt,
    registeredBy: owner,
    observedMs: null,
    lastTaskAt: null,
    leftAt: null,
    leaveReason: null,
    desiredState: written.desiredState,
    lastBeatAt: written.registeredAt,
    suspect: false,
    inFlight: 0,
    loadRatio: null,
    reportedMs: null,
    usedTokens: null,
    budgets: written.budgetId === null ? [] : [openedBudget(joining, written, written.budgetId)],
  };
}

/** Returns the row of the budget that `RegistrationStore.write` creates. */
function openedBudget({ facts }: Joining, { agentId, registeredAt }: WrittenRegistration, id: string): BudgetRow {
  const { totalTokens, usedTokens, source } = facts.budget;
  return {
    id,
    kind: 'agent',
    subject: agentId,
    window: 'total',
    timeZone: 'UTC',
    path: [],
    limitTokens: totalTokens === null ? null : String(totalTokens),
    limitMicroUsd: null,
    lowTokens: null,
    lowMicroUsd: null,
    usedTokens: String(usedTokens),
    usedMicroUsd: '0',
    ownTokens: String(usedTokens),
    ownMicroUsd: '0',
    reservedTokens: '0',
    reservedMicroUsd: '0',
    reportedTokens: '0',
    reportOffset: '0',
    windowStart: registeredAt,
    windowEnd: null,
    source,
    declared: true,
    version: '1',
  };
}
