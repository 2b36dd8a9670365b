import { type AgentRecord, agentStatus } from '../../agents/agent.record.js';
import type { LowBudgetPolicy } from '../../budgets/budget.js';
import { circuitPhase } from '../../circuit/circuit.breaker.js';
import type { DirectoryEntry } from '../directory/directory.entry.js';
import { type Price, priceOf } from './price.js';
import { isLow, isRoutable, nextChangeAt } from './routability.js';

/** Remarks about a candidate that a caller should consider. */
export type CandidateMark = 'low_budget' | 'saturated' | 'suspect' | 'probe' | 'fuzzy_match';

/** All strategies rank by standing first. `saturated`: no free capacity. `probe`: the circuit is half open. */
const STANDINGS = ['ready', 'saturated', 'suspect', 'probe'] as const;
type Standing = (typeof STANDINGS)[number];

/** The state of one agent at one time: everything that a strategy may compare. Immutable; a newer assessment replaces it. */
export interface Assessment {
  /** The qualified id. */
  readonly agentId: string;
  /** Has the status and the circuit of that time. */
  readonly record: AgentRecord;
  readonly routable: boolean;
  /** The index in STANDINGS. */
  readonly standing: number;
  readonly marks: readonly CandidateMark[];
  readonly lowBudget: boolean;
  readonly price: Price | undefined;
  /** The observed latency, else the declared one, else Infinity. */
  readonly latencyMs: number;
  readonly load: number;
  /** Until this time, the assessment stays the same unless the agent changes. */
  readonly validUntil: number;
}

export function assess(entry: DirectoryEntry, now: number, lowBudgetPolicy: LowBudgetPolicy): Assessment {
  const record = recordAt(entry, now);
  const standing = standingOf(record);
  const lowBudget = isLow(entry, lowBudgetPolicy);
  return {
    agentId: entry.agentId,
    record,
    routable: isRoutable(entry, now),
    standing: STANDINGS.indexOf(standing),
    marks: marksOf(standing, lowBudget),
    lowBudget,
    price: priceOf(record),
    latencyMs: record.latency.observedMs ?? record.latency.declaredMs ?? Infinity,
    load: record.load.ratio,
    validUntil: nextChangeAt(entry, now),
  };
}

/** Returns the record itself if it is up to date, which is the usual case: a copy of each record would double the memory. */
function recordAt({ record, circuit }: DirectoryEntry, now: number): AgentRecord {
  const status = agentStatus({ left: false, desiredState: record.desiredState, health: record.health.state });
  const { consecutiveFailures } = circuit;
  const circuitBreakerState = circuitPhase(circuit, now);
  const { health } = record;
  const isCurrent =
    record.status === status &&
    health.consecutiveFailures === consecutiveFailures &&
    health.circuitBreakerState === circuitBreakerState;
  if (isCurrent) return record;
  return { ...record, status, health: { ...health, consecutiveFailures, circuitBreakerState } };
}

function standingOf({ health, load }: AgentRecord): Standing {
  if (health.circuitBreakerState === 'half_open') return 'probe';
  if (health.state === 'suspect') return 'suspect';
  return load.ratio >= 1 ? 'saturated' : 'ready';
}

const NO_MARKS: readonly CandidateMark[] = [];

function marksOf(standing: Standing, lowBudget: boolean): readonly CandidateMark[] {
  if (standing === 'ready') return lowBudget ? ['low_budget'] : NO_MARKS;
  return lowBudget ? ['low_budget', standing] : [standing];
}
