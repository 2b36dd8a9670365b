import { DEFAULT_NAMESPACE, qualifiedId } from '#rollcall/platform';
import { agentBudget, agentLoad, type AgentRecord } from '../agents/agent.record.js';
import { CLOSED_CIRCUIT } from '../circuit/circuit.breaker.js';
import type { DirectoryEntry } from '../discovery/directory/directory.entry.js';

export interface EntryOverrides extends Partial<Omit<DirectoryEntry, 'record'>>, Partial<Omit<AgentRecord, 'budget'>> {
  /** The remaining part of `totalTokens`. The budget is unlimited if both are missing. */
  remaining?: number;
  totalTokens?: number;
  suspect?: boolean;
  /** The share of the capacity in use. */
  ratio?: number;
}

const STARTED = '2026-02-24T10:00:00.000Z';

/** A healthy agent by default. */
export function entry(overrides: EntryOverrides = {}): DirectoryEntry {
  const { revision = 1, circuit = CLOSED_CIRCUIT, circuitVersion = 0, dampedUntil = null, ...rest } = overrides;
  const { remaining, totalTokens = remaining, ratio = 0, suspect = false, ...record } = rest;
  const usedTokens = (totalTokens ?? 0) - (remaining ?? totalTokens ?? 0);
  const budget = agentBudget({ totalTokens: totalTokens ?? null, usedTokens, source: 'reported' });
  const load = agentLoad({ inFlight: 0, capacity: null, reportedRatio: ratio });
  const whole = { ...plainRecord(suspect), load, budget, ...record };
  return {
    agentId: qualifiedId(whole.namespace, whole.agentId),
    record: whole,
    revision,
    circuit,
    circuitVersion,
    dampedUntil,
    reportedRatio: ratio,
  };
}

function plainRecord(suspect: boolean): Omit<AgentRecord, 'budget' | 'load'> {
  return {
    agentId: 'agent',
    namespace: DEFAULT_NAMESPACE,
    name: 'agent',
    status: 'active',
    endpoint: 'http://localhost:5091',
    work: 'push',
    idempotent: false,
    agentCard: null,
    capabilities: ['build'],
    sandboxLevel: 1,
    provider: { adapter: 'copilot', type: 'api', plan: null },
    health: {
      state: suspect ? 'suspect' : 'active',
      lastHeartbeat: STARTED,
      consecutiveFailures: 0,
      circuitBreakerState: 'closed',
    },
    registeredAt: STARTED,
    lastTaskAt: null,
    generation: 1,
    definition: null,
    desiredState: 'active',
    costModel: { usdPerTask: null, usdPer1kTokens: null },
    latency: { declaredMs: null, observedMs: null },
    typicalTokens: null,
    version: null,
    labels: {},
    owner: 'test',
    leaveReason: null,
    leftAt: null,
  };
}
