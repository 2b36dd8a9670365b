import type { SubjectKind } from '#rollcall/platform';
import type { LeaveReason } from './agents/agent.record.js';
import type { ExpiryReason } from './contracts/auction/auction.js';

interface AgentFact {
  /** The registration of the agentId that the event is about. */
  generation: number;
}

interface BudgetFact {
  kind: 'agent' | 'caller' | 'run' | 'namespace' | 'fleet';
  /** The subject of the budget: an agentId, a caller, a run, a namespace, or `fleet`. */
  of: string;
  window: 'total' | 'daily' | 'monthly';
  /** The unit of which the smaller share is left. */
  unit: 'tokens' | 'microUsd';
  limit: number;
  remaining: number;
  /** Only for the budget of an agent. */
  agentId?: string;
}

interface ContractFact {
  /** The agent that the event concerns. */
  agentId: string;
}

interface RegistryEventPayloads {
  'agent.joined': AgentFact & { name: string; capabilities: string[] };
  'agent.left': AgentFact & { reason: LeaveReason };
  /** `revision` counts the writes of the registration, as in the agent's ETag. */
  'agent.updated': AgentFact & { changed: string[]; revision?: number };
  'agent.suspect': AgentFact & { missedBeats: number };
  'agent.recovered': AgentFact;
  'agent.draining': { by: string };
  'agent.quarantined': { by: string; reason?: string };
  'agent.resumed': { by: string };

  /** `reporters`: the callers whose failures opened the circuit, the caller with the most failures first. */
  'circuit.opened': {
    consecutiveFailures: number;
    retryAt: string;
    reporters?: { id: string; name: string; failures: number }[];
  };
  'circuit.half_opened': Record<string, never>;
  'circuit.closed': Record<string, never>;

  'budget.low': BudgetFact;
  'budget.exhausted': BudgetFact;
  'budget.replenished': BudgetFact;

  /** `invited` are the agents that may bid until the deadline. */
  'contract.announced': { invited: string[]; capabilities: string[]; deadline: string; by: string };
  /** An agent has bid or refused. The bids are sealed, so the event says only how many agents have answered. */
  'contract.answered': { answered: number; invited: number };
  /** `price` is in micro-dollars. The award lapses at `confirmBy`. */
  'contract.awarded': ContractFact & { score: number; price: number; etaMs: number; confirmBy: string };
  /** The agent did not confirm in time, became absent, or declined. The runner-up gets the award, if there is one. */
  'contract.lapsed': ContractFact & { declined: boolean };
  'contract.confirmed': ContractFact;
  /** The agent has bid and not won. */
  'contract.lost': ContractFact;
  'contract.expired': { reason: ExpiryReason };
  'contract.cancelled': { by: string };
  /** The actual cost of the work in micro-dollars, and its duration. Null means unknown. */
  'contract.completed': ContractFact & { ok: boolean; microUsd: number | null; ms: number | null };

  'registry.clock_stepped_back': { byMs: number };

  'protection.entered': { expiring: number; fleet: number };
  'protection.left': { fleet: number };
}

declare module '#rollcall/platform' {
  // oxlint-disable-next-line typescript/no-empty-object-type -- declaration merging needs an interface
  interface EventPayloads extends RegistryEventPayloads {}
}

export const REGISTRY_EVENTS = {
  'agent.joined': 'agent',
  'agent.left': 'agent',
  'agent.updated': 'agent',
  'agent.suspect': 'agent',
  'agent.recovered': 'agent',
  'agent.draining': 'agent',
  'agent.quarantined': 'agent',
  'agent.resumed': 'agent',
  'circuit.opened': 'agent',
  'circuit.half_opened': 'agent',
  'circuit.closed': 'agent',
  'budget.low': 'budget',
  'budget.exhausted': 'budget',
  'budget.replenished': 'budget',
  'contract.announced': 'contract',
  'contract.answered': 'contract',
  'contract.awarded': 'contract',
  'contract.lapsed': 'contract',
  'contract.confirmed': 'contract',
  'contract.lost': 'contract',
  'contract.expired': 'contract',
  'contract.cancelled': 'contract',
  'contract.completed': 'contract',
  'registry.clock_stepped_back': 'registry',
  'protection.entered': 'registry',
  'protection.left': 'registry',
} as const satisfies Record<keyof RegistryEventPayloads, SubjectKind>;
