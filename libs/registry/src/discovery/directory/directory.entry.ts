import { agentLoad, type AgentRecord } from '../../agents/agent.record.js';
import { bindingBudgetOf, type Budget, toAgentBudget, withReported } from '../../budgets/budget.js';
import type { CircuitState } from '../../circuit/circuit.breaker.js';

/**
 * An agent in the directory: the record, and the facts that can change without a write. The status and the circuit of the record are
 * those of the last write; an assessment has their current values.
 */
export interface DirectoryEntry {
  /** The qualified id, unique among all namespaces. */
  agentId: string;
  record: AgentRecord;
  /** The number of writes to this agent within its generation. */
  revision: number;
  circuit: CircuitState;
  /** The number of writes to the circuit. They do not change the revision. */
  circuitVersion: number;
  /** When the exclusion by flap damping ends; null if the agent is not excluded. */
  dampedUntil: number | null;
  /** The budgets from the ledger. The record shows the binding one. */
  budgets?: readonly Budget[];
  /** The total of used tokens from its heartbeats. The ledger may not contain it yet. */
  reported?: number;
  /** The load ratio that the agent reported last; undefined if it has reported none: the ratio is then computed. */
  reportedRatio?: number;
  /** The latency that the agent reported last; undefined if it has reported none: the declared latency then counts. */
  reportedMs?: number;
}

/** Identifies a write. A higher generation is newer; within a generation, a higher revision is newer. */
export interface Revision {
  generation: number;
  revision: number;
}

export function isNewer(one: Revision, other: Revision): boolean {
  return one.generation > other.generation || (one.generation === other.generation && one.revision > other.revision);
}

/**
 * The values of a heartbeat; a missing value stays unchanged. A heartbeat has no revision, because it does not write the record.
 * Its generation and its time show whether it is outdated.
 */
export interface Vitals {
  generation: number;
  beatAt: number;
  inFlight?: number;
  loadRatio?: number;
  reportedMs?: number;
  /** The total of used tokens. The record may contain a higher number. */
  usedTokens?: number;
}

/** The time of the last heartbeat in milliseconds; -Infinity if there is none. */
export function beatOf({ record }: DirectoryEntry): number {
  return record.health.lastHeartbeat === null ? -Infinity : Date.parse(record.health.lastHeartbeat);
}

/** The last known value of each field that heartbeats report. */
export function vitalsIn(entry: DirectoryEntry): Vitals {
  const { record, reportedRatio: loadRatio, reportedMs, reported: usedTokens } = entry;
  const { generation, load } = record;
  return { generation, beatAt: beatOf(entry), inFlight: load.inFlight, loadRatio, reportedMs, usedTokens };
}

/** Whether the heartbeat changes nothing except the time of the last heartbeat, which is the usual case. */
export function isSameAsBefore(entry: DirectoryEntry, beat: Vitals): boolean {
  const { record, reported = 0 } = entry;
  const { inFlight = record.load.inFlight, loadRatio = entry.reportedRatio, usedTokens = 0 } = beat;
  const { reportedMs = entry.reportedMs } = beat;
  return (
    record.health.state === 'active' &&
    inFlight === record.load.inFlight &&
    loadRatio === entry.reportedRatio &&
    reportedMs === entry.reportedMs &&
    usedTokens <= reported
  );
}

export function withVitals(entry: DirectoryEntry, vitals: Vitals): DirectoryEntry {
  const { record } = entry;
  const { inFlight = record.load.inFlight, loadRatio: reportedRatio = entry.reportedRatio } = vitals;
  const { beatAt, reportedMs = entry.reportedMs, usedTokens = 0 } = vitals;
  const health = { ...record.health, state: 'active' as const, lastHeartbeat: new Date(beatAt).toISOString() };
  const load = agentLoad({ inFlight, capacity: record.load.capacity, reportedRatio });
  const latency = { ...record.latency, declaredMs: reportedMs ?? record.latency.declaredMs };
  const beaten = { ...record, health, load, latency };
  return withReport({ ...entry, reportedRatio, reportedMs, record: beaten }, usedTokens);
}

/** The circuit of an agent and the statistics of its calls. The version shows whether they are outdated. */
export interface CallHistory {
  circuit: CircuitState;
  version: number;
  observedMs: number | null;
  lastTaskAt: string | null;
}

export function historyIn({ circuit, circuitVersion: version, record }: DirectoryEntry): CallHistory {
  return { circuit, version, observedMs: record.latency.observedMs, lastTaskAt: record.lastTaskAt };
}

/** Returns the same entry if the history is not newer. */
export function withHistory(entry: DirectoryEntry, history: CallHistory): DirectoryEntry {
  const { circuit, version: circuitVersion, observedMs, lastTaskAt } = history;
  if (circuitVersion <= entry.circuitVersion) return entry;
  const { consecutiveFailures, phase: circuitBreakerState } = circuit;
  const health = { ...entry.record.health, consecutiveFailures, circuitBreakerState };
  const latency = { ...entry.record.latency, observedMs };
  return { ...entry, circuit, circuitVersion, record: { ...entry.record, health, latency, lastTaskAt } };
}

/** Returns the entry with the newer version of each budget. Returns the same entry if all given versions are stale. */
export function withBudgets(entry: DirectoryEntry, received: readonly Budget[]): DirectoryEntry {
  const known = new Map((entry.budgets ?? []).map((budget) => [budget.id, budget]));
  const newer = received.filter(({ id, version }) => version > (known.get(id)?.version ?? 0));
  if (newer.length === 0) return entry;
  for (const budget of newer) known.set(budget.id, budget);
  return withBinding(entry, [...known.values()]);
}

/** Returns the entry with the usage that a heartbeat reported. The number never decreases. */
function withReport(entry: DirectoryEntry, reported: number): DirectoryEntry {
  if (reported <= (entry.reported ?? 0)) return entry;
  return withBinding({ ...entry, reported }, entry.budgets ?? []);
}

function withBinding(entry: DirectoryEntry, stored: readonly Budget[]): DirectoryEntry {
  const budgets = stored.map((budget) => withReported(budget, entry.reported ?? 0));
  const binding = bindingBudgetOf(budgets);
  return binding ? { ...entry, budgets, record: { ...entry.record, budget: toAgentBudget(binding) } } : entry;
}
