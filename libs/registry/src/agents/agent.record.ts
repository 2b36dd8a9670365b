import type { CircuitPhase } from '../circuit/circuit.breaker.js';

/** All reasons why an agent left. A new reason also belongs in the events and in the documentation. */
export const LEAVE_REASONS = [
  'deregistered',
  'evicted',
  'drained',
  'budget_exhausted',
  'quarantined',
  'replaced',
  'shutdown',
] as const;
export type LeaveReason = (typeof LEAVE_REASONS)[number];

/** The reasons that an agent may give when it deregisters itself. */
export const DEREGISTRATION_REASONS = ['deregistered', 'shutdown'] as const satisfies LeaveReason[];
export type DeregistrationReason = (typeof DEREGISTRATION_REASONS)[number];

/**
 * The reason that is recorded for a deregistration. It is `drained` while the desired state is draining, and `budget_exhausted`
 * if the given reason is `deregistered` and the budget is used up.
 */
export function leaveReasonOf(
  given: DeregistrationReason,
  { desiredState, budget }: Pick<AgentRecord, 'desiredState' | 'budget'>,
): LeaveReason {
  if (desiredState === 'draining') return 'drained';
  return given === 'deregistered' && budget.remaining === 0 ? 'budget_exhausted' : given;
}

/** The states that an operator can set. A desired state survives a new registration, and the agent cannot change it. */
export const DESIRED_STATES = ['active', 'draining', 'quarantined'] as const;
export type DesiredState = (typeof DESIRED_STATES)[number];

/** The health of an agent, observed from its heartbeats. */
export type HealthState = 'active' | 'suspect';

export type AgentStatus = HealthState | Exclude<DesiredState, 'active'> | 'left';

/** How work reaches the agent. `push`: Rollcall calls its endpoint, if it has one. `pull`: the agent takes tasks. */
export const WORK_MODES = ['push', 'pull'] as const;
export type WorkMode = (typeof WORK_MODES)[number];

export interface AgentProviderFacts {
  adapter: string;
  /** Such as `api`, `local` or `subscription`. The tasks of a `subscription` are free unless the cost model names a price. */
  type: string;
  plan: string | null;
}

export interface AgentBudget {
  /** Null means unlimited; then `remaining` is null too. */
  totalTokens: number | null;
  usedTokens: number;
  remaining: number | null;
  source: string;
}

export interface AgentHealth {
  /** Null if the agent has left. */
  state: HealthState | null;
  lastHeartbeat: string | null;
  consecutiveFailures: number;
  circuitBreakerState: CircuitPhase;
}

export interface AgentLoad {
  inFlight: number;
  capacity: number | null;
  /** 0 is idle, 1 is full. `agentLoad` computes it. */
  ratio: number;
}

/** Prices in US dollars. The ranking compares them as whole micro-dollars (see price.ts). */
export interface CostModel {
  usdPerTask: number | null;
  usdPer1kTokens: number | null;
}

export interface AgentLatency {
  /** What the agent states: in its last heartbeat with a latency, or else in its registration. */
  declaredMs: number | null;
  /** The average of what its callers report. */
  observedMs: number | null;
}

/**
 * An agent as the API returns it. The fields from agentId to lastTaskAt, except namespace, have the names of the specification
 * (requirement S3.1 in docs/glossary.md); all other fields are extensions. Times are strings in ISO 8601, so that a record can be
 * serialised without conversion.
 */
export interface AgentRecord {
  /** Unique within the namespace. `qualifiedId` returns the id among all namespaces. */
  agentId: string;
  namespace: string;
  name: string;
  status: AgentStatus;
  endpoint: string | null;
  work: WorkMode;
  /** Whether an interrupted call of the agent may be repeated. */
  idempotent: boolean;
  agentCard: Readonly<Record<string, unknown>> | null;
  capabilities: readonly string[];
  sandboxLevel: number;
  provider: AgentProviderFacts;
  budget: AgentBudget;
  health: AgentHealth;
  registeredAt: string;
  lastTaskAt: string | null;
  /** The number of this registration of the agentId. Every write by the agent contains it. */
  generation: number;
  /** The definition of an in-process agent, as `name@revision`. */
  definition: string | null;
  desiredState: DesiredState;
  load: AgentLoad;
  costModel: CostModel;
  latency: AgentLatency;
  /** How many tokens a call usually needs, as the agent declares. It replaces the general estimate of a call; null if it declares none. */
  typicalTokens: number | null;
  version: string | null;
  labels: Readonly<Record<string, string>>;
  /** The principal that registered the agent, for example `key:<id>`. */
  owner: string;
  leaveReason: LeaveReason | null;
  leftAt: string | null;
}

/**
 * Returns the first status that applies, in this order: left, quarantined, draining, suspect, active. The desired state takes
 * precedence over the observed health. The circuit is not part of the status.
 */
export function agentStatus(facts: {
  left: boolean;
  desiredState: DesiredState;
  health: HealthState | null;
}): AgentStatus {
  if (facts.left || facts.health === null) return 'left';
  if (facts.desiredState !== 'active') return facts.desiredState;
  return facts.health;
}

/** The capacity of agents that declare none, so that their load can be compared with the load of other agents. */
export const ASSUMED_CAPACITY = 8;

/** Uses the load ratio that the agent reports; otherwise computes it from tasks in flight and capacity. */
export function agentLoad(facts: { inFlight: number; capacity: number | null; reportedRatio?: number }): AgentLoad {
  const { inFlight, capacity, reportedRatio } = facts;
  return { inFlight, capacity, ratio: reportedRatio ?? inFlight / Math.max(1, capacity ?? ASSUMED_CAPACITY) };
}

/** `remaining` is never negative, although a running task may use more tokens than were left. */
export function agentBudget(facts: Omit<AgentBudget, 'remaining'>): AgentBudget {
  const { totalTokens, usedTokens, source } = facts;
  const remaining = totalTokens === null ? null : Math.max(0, totalTokens - usedTokens);
  return { totalTokens, usedTokens, remaining, source };
}
