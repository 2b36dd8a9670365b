import type { LeaveReason } from '../agents/agent.record.js';

interface AgentFact {
  /** Which registration of the agentId this is about. */
  generation: number;
}

interface BudgetFact {
  kind: 'agent' | 'caller' | 'run' | 'fleet';
  /** Whose it is: an agentId, a caller, a run, or `fleet`. */
  of: string;
  window: 'total' | 'daily' | 'monthly';
  /** Which of the two is the scarcer. */
  unit: 'tokens' | 'microUsd';
  limit: number;
  remaining: number;
  /** Of an agent's. */
  agentId?: string;
}

interface RunFact {
  agentId: string;
}

interface DefinitionFact {
  revision: number;
}

/**
 * Every event there is, with what it carries. Names are past tense: a fact, never a wish. Payloads hold what a consumer
 * needs to decide whether to look, not a copy of the record.
 */
export interface EventPayloads {
  'agent.joined': AgentFact & { name: string; capabilities: string[] };
  'agent.left': AgentFact & { reason: LeaveReason };
  'agent.updated': AgentFact & { changed: string[] };
  'agent.suspect': AgentFact & { missedBeats: number };
  'agent.recovered': AgentFact;
  'agent.draining': { by: string };
  'agent.quarantined': { by: string; reason?: string };
  'agent.resumed': { by: string };

  'agent.spawned': { agentType: string; provider: string };
  'agent.shutdown': { agentType: string; provider: string };
  'agent.shutdown_failed': { agentType: string; provider: string; error: string };
  'registry.shutdown_all': { succeeded: string[]; failed: Record<string, string> };

  'registry.clock_stepped_back': { byMs: number };

  'circuit.opened': { consecutiveFailures: number; retryAt: string };
  'circuit.half_opened': Record<string, never>;
  'circuit.closed': Record<string, never>;

  'budget.low': BudgetFact;
  'budget.exhausted': BudgetFact;
  'budget.replenished': BudgetFact;

  'definition.registered': DefinitionFact;
  'definition.replaced': DefinitionFact;
  'definition.unregistered': DefinitionFact;

  'run.created': RunFact;
  'run.started': RunFact;
  'run.resumed': RunFact;
  'run.waiting': RunFact;
  'run.completed': RunFact;
  'run.failed': RunFact & { error: string };
  'run.cancelled': RunFact & { by: string };

  'contract.announced': { capabilities: string[]; deadline: string };
  'contract.bid_received': { agentId: string };
  'contract.awarded': { agentId: string };
  'contract.confirmed': { agentId: string };
  'contract.closed': { outcome: 'confirmed' | 'no_bids' | 'declined' | 'cancelled' };

  'protection.entered': { expiring: number; fleet: number };
  'protection.left': { fleet: number };
}

export type EventType = keyof EventPayloads;

/** What the `subject` of an event is the id of. */
export type SubjectKind = 'agent' | 'budget' | 'definition' | 'run' | 'contract' | 'registry';

export const EVENT_SUBJECTS = {
  'agent.joined': 'agent',
  'agent.left': 'agent',
  'agent.updated': 'agent',
  'agent.suspect': 'agent',
  'agent.recovered': 'agent',
  'agent.draining': 'agent',
  'agent.quarantined': 'agent',
  'agent.resumed': 'agent',
  'agent.spawned': 'agent',
  'agent.shutdown': 'agent',
  'agent.shutdown_failed': 'agent',
  'registry.shutdown_all': 'registry',
  'registry.clock_stepped_back': 'registry',
  'circuit.opened': 'agent',
  'circuit.half_opened': 'agent',
  'circuit.closed': 'agent',
  'budget.low': 'budget',
  'budget.exhausted': 'budget',
  'budget.replenished': 'budget',
  'definition.registered': 'definition',
  'definition.replaced': 'definition',
  'definition.unregistered': 'definition',
  'run.created': 'run',
  'run.started': 'run',
  'run.resumed': 'run',
  'run.waiting': 'run',
  'run.completed': 'run',
  'run.failed': 'run',
  'run.cancelled': 'run',
  'contract.announced': 'contract',
  'contract.bid_received': 'contract',
  'contract.awarded': 'contract',
  'contract.confirmed': 'contract',
  'contract.closed': 'contract',
  'protection.entered': 'registry',
  'protection.left': 'registry',
} as const satisfies Record<EventType, SubjectKind>;

export const EVENT_TYPES = Object.keys(EVENT_SUBJECTS) as EventType[];

interface EventOf<T extends EventType> {
  /** The place in the log: 1, 2, 3 … without a gap. Also the cursor to go on from. */
  seq: number;
  /** A UUID, for consumers that gather events of several registries. */
  id: string;
  type: T;
  /** The id of what it is about: an agentId, a budget, a definition's name, a run, a contract, or `registry`. */
  subject: string;
  /** What the agent it is about can do, where there is one. */
  capabilities: string[];
  at: Date;
  data: EventPayloads[T];
}

/** An event as it stands in the log. `type` tells what `data` is. */
export type RegistryEvent = { [T in EventType]: EventOf<T> }[EventType];
