import { agentStatus, type AgentRecord } from '../agents/agent.record.js';
import { circuitPhase } from '../circuit/circuit.breaker.js';
import type { DirectoryEntry } from './directory.entry.js';
import { priceOf, type Price } from './price.js';
import { isLow, isRoutable, nextChangeAt, type LowBudgetPolicy } from './routability.js';

/** What a caller should know before picking this candidate. */
export type CandidateMark = 'low_budget' | 'saturated' | 'suspect' | 'probe' | 'fuzzy_match';

/** Whatever the strategy: who is well and has room goes first, then the full, the silent, and last who needs a probe. */
export const STANDINGS = ['ready', 'saturated', 'suspect', 'probe'] as const;
export type Standing = (typeof STANDINGS)[number];

/** One agent as judged at one moment: everything a strategy may compare. Never changed, only replaced by a newer one. */
export interface Assessment {
  readonly agentId: string;
  /** With status, health state and circuit as they hold at the moment. */
  readonly record: AgentRecord;
  readonly routable: boolean;
  /** The place in STANDINGS. */
  readonly standing: number;
  readonly marks: readonly CandidateMark[];
  readonly lowBudget: boolean;
  readonly price: Price | undefined;
  /** Observed before declared; Infinity when neither is known. */
  readonly latencyMs: number;
  readonly load: number;
  /** Until then nothing here changes by time alone. */
  readonly validUntil: number;
}

export function assess(entry: DirectoryEntry, now: number, lowBudgetPolicy: LowBudgetPolicy): Assessment {
  const record = recordAt(entry, now);
  const standing = standingOf(record);
  const lowBudget = isLow(entry, lowBudgetPolicy);
  return {
    agentId: record.agentId,
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

/** The record itself when it says what holds, which is nearly always: a copy of each would double the memory. */
function recordAt({ record, circuit, suspectAt }: DirectoryEntry, now: number): AgentRecord {
  const state = suspectAt !== null && suspectAt <= now ? 'suspect' : record.health.state;
  const status = agentStatus({ left: false, desiredState: record.desiredState, health: state });
  const { consecutiveFailures } = circuit;
  const circuitBreakerState = circuitPhase(circuit, now);
  const { health } = record;
  const holds =
    record.status === status &&
    health.state === state &&
    health.consecutiveFailures === consecutiveFailures &&
    health.circuitBreakerState === circuitBreakerState;
  if (holds) return record;
  return { ...record, status, health: { ...health, state, consecutiveFailures, circuitBreakerState } };
}

function standingOf({ health, load }: AgentRecord): Standing {
  if (health.circuitBreakerState === 'half_open') return 'probe';
  if (health.state === 'suspect') return 'suspect';
  return load.ratio >= 1 ? 'saturated' : 'ready';
}

const UNREMARKABLE: readonly CandidateMark[] = [];

function marksOf(standing: Standing, lowBudget: boolean): readonly CandidateMark[] {
  if (standing === 'ready') return lowBudget ? ['low_budget'] : UNREMARKABLE;
  return lowBudget ? ['low_budget', standing] : [standing];
}
