import { agentLoad, type AgentRecord } from '../agents/agent.record.js';
import { bindingBudgetOf, toAgentBudget, withReported } from '../budgets/binding.budget.js';
import type { Budget } from '../budgets/budget.js';
import type { CircuitState } from '../circuit/circuit.breaker.js';

/**
 * An agent as the directory takes it in: the record, and the facts that time alone will change. What the record says about
 * status, health state and circuit is what was written last; an assessment says what holds at a moment.
 */
export interface DirectoryEntry {
  record: AgentRecord;
  /** Counts the writes to this agent within its generation. */
  revision: number;
  circuit: CircuitState;
  /** When its silence makes it suspect. Null on a replica that does not hear every beat: it learns that from the feed. */
  suspectAt: number | null;
  /** Until when it is kept out because it came and went too often; null when it is not. */
  dampedUntil: number | null;
  /** What the ledger says; the record shows the one that binds. */
  budgets?: readonly Budget[];
  /** The tokens it told with its beats to have used in all, which the ledger may not know yet. */
  reported?: number;
  /** The load it last told itself; undefined when it never did, and we work it out. */
  reportedRatio?: number;
}

/** Which write is the newer: generation first, then revision. */
export interface Revision {
  generation: number;
  revision: number;
}

export function isNewer(one: Revision, other: Revision): boolean {
  return one.generation > other.generation || (one.generation === other.generation && one.revision > other.revision);
}

/**
 * What a heartbeat tells; what it leaves out stays as it is. It is no write to the record, so it has no revision; the
 * generation and its time fence it.
 */
export interface Vitals {
  generation: number;
  beatAt: number;
  inFlight?: number;
  loadRatio?: number;
  observedMs?: number;
  /** All tokens used so far; what the record knows may be more. */
  usedTokens?: number;
  suspectAt: number | null;
}

/** In milliseconds. */
export function beatOf({ record }: DirectoryEntry): number {
  return record.health.lastHeartbeat === null ? -Infinity : Date.parse(record.health.lastHeartbeat);
}

/** What its last beat told, with what those before it had told. */
export function vitalsIn(entry: DirectoryEntry): Vitals {
  const { record, suspectAt, reportedRatio: loadRatio, reported: usedTokens } = entry;
  const { generation, load, latency } = record;
  const observedMs = latency.observedMs ?? undefined;
  return { generation, beatAt: beatOf(entry), suspectAt, inFlight: load.inFlight, loadRatio, observedMs, usedTokens };
}

/** Whether the beat tells nothing but that the agent is alive, which is what most of them tell. */
export function isSameAsBefore(
  { record, suspectAt, reported = 0, reportedRatio }: DirectoryEntry,
  beat: Vitals,
): boolean {
  const { inFlight = record.load.inFlight, loadRatio = reportedRatio, usedTokens = 0 } = beat;
  const { observedMs = record.latency.observedMs } = beat;
  return (
    beat.suspectAt === suspectAt &&
    record.health.state === 'active' &&
    inFlight === record.load.inFlight &&
    loadRatio === reportedRatio &&
    observedMs === record.latency.observedMs &&
    usedTokens <= reported
  );
}

export function withVitals(entry: DirectoryEntry, vitals: Vitals): DirectoryEntry {
  const { record } = entry;
  const { inFlight = record.load.inFlight, loadRatio: reportedRatio = entry.reportedRatio } = vitals;
  const { beatAt, observedMs = record.latency.observedMs, usedTokens = 0, suspectAt } = vitals;
  const health = { ...record.health, state: 'active' as const, lastHeartbeat: new Date(beatAt).toISOString() };
  const load = agentLoad({ inFlight, capacity: record.load.capacity, reportedRatio });
  const beaten = { ...record, health, load, latency: { ...record.latency, observedMs } };
  return withReport({ ...entry, suspectAt, reportedRatio, record: beaten }, usedTokens);
}

/** With these budgets, each the newer of the one known and the one told; the same entry when nothing is news. */
export function withBudgets(entry: DirectoryEntry, news: readonly Budget[]): DirectoryEntry {
  const known = new Map((entry.budgets ?? []).map((budget) => [budget.id, budget]));
  const newer = news.filter(({ id, version }) => version > (known.get(id)?.version ?? 0));
  if (newer.length === 0) return entry;
  for (const budget of newer) known.set(budget.id, budget);
  return showing(entry, [...known.values()]);
}

/** With what a beat told to be used. It only ever counts up. */
export function withReport(entry: DirectoryEntry, reported: number): DirectoryEntry {
  if (reported <= (entry.reported ?? 0)) return entry;
  return showing({ ...entry, reported }, entry.budgets ?? []);
}

function showing(entry: DirectoryEntry, told: readonly Budget[]): DirectoryEntry {
  const budgets = told.map((budget) => withReported(budget, entry.reported ?? 0));
  const binding = bindingBudgetOf(budgets);
  return binding ? { ...entry, budgets, record: { ...entry.record, budget: toAgentBudget(binding) } } : entry;
}
