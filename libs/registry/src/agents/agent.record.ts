import type { CircuitPhase } from '../circuit/circuit.breaker.js';

/** Why an agent left. Closed: a new way to leave is a new word here, in the events and in the documentation. */
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

/** What an agent may say when it goes by itself. */
export const DEREGISTRATION_REASONS = ['deregistered', 'shutdown'] as const satisfies LeaveReason[];
export type DeregistrationReason = (typeof DEREGISTRATION_REASONS)[number];

/**
 * Who goes while it is being drained has drained, whatever it says. Who gives no reason and has nothing left to spend goes
 * because of that.
 */
export function leaveReasonOf(
  farewell: DeregistrationReason,
  { desiredState, budget }: Pick<AgentRecord, 'desiredState' | 'budget'>,
): LeaveReason {
  if (desiredState === 'draining') return 'drained';
  return farewell === 'deregistered' && budget.remaining === 0 ? 'budget_exhausted' : farewell;
}

/** What the operator wants of an agent. It survives re-registration, and nothing the agent reports changes it. */
export const DESIRED_STATES = ['active', 'draining', 'quarantined'] as const;
export type DesiredState = (typeof DESIRED_STATES)[number];

/** What we observe of an agent's heartbeats. */
export type HealthState = 'active' | 'suspect';

export type AgentStatus = HealthState | Exclude<DesiredState, 'active'> | 'left';

export interface AgentProviderFacts {
  adapter: string;
  /** `subscription` costs nothing a task unless its cost model says otherwise; other types are `api`, `local`, … */
  type: string;
  plan: string | null;
}

export interface AgentBudget {
  /** Null is unlimited; then `remaining` is null too. */
  totalTokens: number | null;
  usedTokens: number;
  remaining: number | null;
  source: string;
}

export interface AgentHealth {
  state: HealthState;
  lastHeartbeat: string | null;
  consecutiveFailures: number;
  circuitBreakerState: CircuitPhase;
}

export interface AgentLoad {
  inFlight: number;
  capacity: number | null;
  /** 0 is idle, 1 is full; `agentLoad` says how it comes about. */
  ratio: number;
}

/** US dollars, as people write them. Ranking compares whole micro-dollars (see price.ts). */
export interface CostModel {
  usdPerTask: number | null;
  usdPer1kTokens: number | null;
}

export interface AgentLatency {
  declaredMs: number | null;
  observedMs: number | null;
}

/**
 * One live member of the registry, as the RFC's JSON spells it (agentId to lastTaskAt), with what the RFC left open
 * after it. Moments are ISO 8601 texts, so a record travels as it is.
 */
export interface AgentRecord {
  agentId: string;
  name: string;
  status: AgentStatus;
  endpoint: string | null;
  agentCard: Readonly<Record<string, unknown>> | null;
  capabilities: readonly string[];
  sandboxLevel: number;
  provider: AgentProviderFacts;
  budget: AgentBudget;
  health: AgentHealth;
  registeredAt: string;
  lastTaskAt: string | null;
  /** Counts the registrations of this agentId; every write by the agent carries it. */
  generation: number;
  /** The definition an in-process agent was made from, as `name@revision`. */
  definition: string | null;
  desiredState: DesiredState;
  load: AgentLoad;
  costModel: CostModel;
  latency: AgentLatency;
  version: string | null;
  labels: Readonly<Record<string, string>>;
  leaveReason: LeaveReason | null;
  leftAt: string | null;
}

/**
 * The one word for three separate facts. Who left has left; otherwise the operator's wish says more than what we observe:
 * left, quarantined, draining, suspect, active, the first that holds. The circuit is not part of it.
 */
export function agentStatus(facts: { left: boolean; desiredState: DesiredState; health: HealthState }): AgentStatus {
  if (facts.left) return 'left';
  if (facts.desiredState !== 'active') return facts.desiredState;
  return facts.health;
}

/** An agent that declares no capacity counts as full at this many tasks, so that loads can be compared at all. */
export const ASSUMED_CAPACITY = 8;

/** What the agent reports goes before what we work out. */
export function agentLoad(facts: { inFlight: number; capacity: number | null; reportedRatio?: number }): AgentLoad {
  const { inFlight, capacity, reportedRatio } = facts;
  return { inFlight, capacity, ratio: reportedRatio ?? inFlight / Math.max(1, capacity ?? ASSUMED_CAPACITY) };
}

/** `remaining` never goes below zero: a task that was under way may use more than was left. */
export function agentBudget(facts: Omit<AgentBudget, 'remaining'>): AgentBudget {
  const { totalTokens, usedTokens, source } = facts;
  const remaining = totalTokens === null ? null : Math.max(0, totalTokens - usedTokens);
  return { totalTokens, usedTokens, remaining, source };
}
