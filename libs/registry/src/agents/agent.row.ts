import { localIdOf, namespaceOf } from '#rollcall/platform';
import { bindingBudgetOf, toAgentBudget, withReported } from '../budgets/binding.budget.js';
import { rolled, type Budget } from '../budgets/budget.js';
import { BUDGET_COLUMNS, toBudget, type BudgetRow } from '../budgets/budget.row.js';
import { circuitPhase, type CircuitState } from '../circuit/circuit.breaker.js';
import type { DirectoryEntry } from '../discovery/directory.entry.js';
import { suppressedUntil, type FlapPolicy } from '../leases/flap.damping.js';
import type { AgentEntity } from './agent.entity.js';
import {
  agentBudget,
  agentLoad,
  agentStatus,
  type AgentBudget,
  type AgentRecord,
  type DesiredState,
} from './agent.record.js';

/** An agent with its circuit, lease, desired state and budgets, as `AGENT_COLUMNS` selects them. */
export interface AgentRow extends Omit<AgentEntity, 'namespace' | 'capabilityKeys' | 'registeredAt' | 'leftAt'> {
  registeredAt: Date;
  leftAt: Date | null;
  circuit: CircuitState;
  circuitVersion: string;
  /** The average latency that callers report. */
  observedMs: number | null;
  lastTaskAt: Date | null;
  desiredState: DesiredState;
  lastBeatAt: Date | null;
  suspect: boolean | null;
  inFlight: number | null;
  loadRatio: number | null;
  /** The latency in the last heartbeat that contained one. */
  reportedMs: number | null;
  usedTokens: string | null;
  /** The agent's budgets, parsed from JSON. */
  budgets: BudgetRow[];
}

export const AGENT_COLUMNS = `
  a.agent_id AS "agentId", a.generation, a.revision, a.token_hash AS "tokenHash", a.name, a.endpoint,
  a.agent_card AS "agentCard", a.capabilities, a.sandbox_level AS "sandboxLevel", a.provider, a.cost_model AS "costModel",
  a.labels, a.version, a.definition, a.capacity, a.declared_ms AS "declaredMs",
  a.budget_total AS "budgetTotal", a.budget_used AS "budgetUsed", a.budget_source AS "budgetSource", a.flap,
  a.registered_at AS "registeredAt", a.registered_by AS "registeredBy", a.left_at AS "leftAt", a.leave_reason AS "leaveReason",
  c.state AS circuit, c.version AS "circuitVersion", c.observed_ms AS "observedMs", c.last_task_at AS "lastTaskAt",
  coalesce(i.desired_state, 'active') AS "desiredState", l.last_beat_at AS "lastBeatAt", l.suspect,
  l.in_flight AS "inFlight", l.load_ratio AS "loadRatio", l.observed_ms AS "reportedMs", l.used_tokens AS "usedTokens",
  (SELECT coalesce(json_agg(g), '[]') FROM (
     SELECT ${BUDGET_COLUMNS} FROM budget b WHERE b.kind = 'agent' AND b.subject = a.agent_id) AS g) AS budgets`;

export const AGENT_TABLES = `agent a
  JOIN agent_circuit c ON c.agent_id = a.agent_id
  LEFT JOIN agent_lease l ON l.agent_id = a.agent_id AND l.generation = a.generation
  LEFT JOIN agent_intent i ON i.agent_id = a.agent_id`;

/** The version of the record, for conditional updates. Heartbeats and calls do not change it. */
export function versionOf({ generation, revision }: AgentRow): string {
  return `${generation}.${revision}`;
}

/** Copies each public field by name, so that the hash of the lease token is never included. */
export function toRecord(row: AgentRow, now: number): AgentRecord {
  const health = row.suspect ? 'suspect' : 'active';
  return {
    agentId: localIdOf(row.agentId),
    namespace: namespaceOf(row.agentId),
    name: row.name,
    status: agentStatus({ left: row.leftAt !== null, desiredState: row.desiredState, health }),
    endpoint: row.endpoint,
    agentCard: row.agentCard,
    capabilities: row.capabilities,
    sandboxLevel: row.sandboxLevel,
    provider: { adapter: row.provider.adapter, type: row.provider.type, plan: row.provider.plan },
    budget: budgetIn(row, budgetsOf(row, now)),
    health: {
      state: row.leftAt === null ? health : null,
      lastHeartbeat: row.lastBeatAt?.toISOString() ?? null,
      consecutiveFailures: row.circuit.consecutiveFailures,
      circuitBreakerState: circuitPhase(row.circuit, now),
    },
    registeredAt: row.registeredAt.toISOString(),
    lastTaskAt: row.lastTaskAt?.toISOString() ?? null,
    generation: Number(row.generation),
    definition: row.definition,
    desiredState: row.desiredState,
    load: agentLoad({ inFlight: row.inFlight ?? 0, capacity: row.capacity, reportedRatio: row.loadRatio ?? undefined }),
    costModel: { usdPerTask: row.costModel.usdPerTask, usdPer1kTokens: row.costModel.usdPer1kTokens },
    latency: { declaredMs: row.reportedMs ?? row.declaredMs, observedMs: row.observedMs },
    version: row.version,
    labels: row.labels,
    owner: row.registeredBy,
    leaveReason: row.leaveReason,
    leftAt: row.leftAt?.toISOString() ?? null,
  };
}

/** Whether the agent is suspect is read from the row: the sweeper decides it, and the directory never computes it with its own clock. */
export function toEntry(row: AgentRow, now: number, flapPolicy: FlapPolicy): DirectoryEntry {
  return {
    agentId: row.agentId,
    record: toRecord(row, now),
    revision: Number(row.revision),
    circuit: row.circuit,
    circuitVersion: Number(row.circuitVersion),
    dampedUntil: suppressedUntil(row.flap, now, flapPolicy),
    budgets: budgetsOf(row, now),
    reported: Number(row.usedTokens ?? 0),
    reportedRatio: row.loadRatio ?? undefined,
    reportedMs: row.reportedMs ?? undefined,
  };
}

/** The budgets in the window of `now`, including the usage that the last heartbeat reported. */
function budgetsOf({ budgets, usedTokens }: AgentRow, now: number): Budget[] {
  return budgets.map((row) => withReported(rolled(toBudget(row), now), Number(usedTokens ?? 0)));
}

/** The budget from the ledger. During the registration, when the ledger has none yet, it is the budget that the agent declared. */
function budgetIn(row: AgentRow, budgets: readonly Budget[]): AgentBudget {
  const binding = bindingBudgetOf(budgets);
  if (binding) return toAgentBudget(binding);
  const totalTokens = row.budgetTotal === null ? null : Number(row.budgetTotal);
  return agentBudget({ totalTokens, usedTokens: Number(row.budgetUsed), source: row.budgetSource });
}
