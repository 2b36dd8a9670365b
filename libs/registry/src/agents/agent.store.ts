import { Injectable } from '@nestjs/common';
import { Database, localIdOf, namespaceOf, withinPage } from '#rollcall/platform';
import { bindingBudgetOf, type Budget, rolled, toAgentBudget, withReported } from '../budgets/budget.js';
import { BUDGET_COLUMNS, budgetFromRow, type BudgetRow } from '../budgets/store/budget.store.js';
import { type CircuitPhase, circuitPhase, type CircuitState } from '../circuit/circuit.breaker.js';
import type { DirectoryEntry } from '../discovery/directory/directory.entry.js';
import { type FlapPolicy, suppressedUntil } from '../leases/flap.damping.js';
import type { AgentCredential } from './agent.credential.js';
import type { AgentEntity } from './agent.entities.js';
import {
  agentBudget,
  type AgentBudget,
  agentLoad,
  type AgentRecord,
  agentStatus,
  type AgentStatus,
  type DesiredState,
  type LeaveReason,
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
  a.agent_id AS "agentId", a.generation, a.revision, a.token_hash AS "tokenHash", a.name, a.endpoint, a.work, a.idempotent,
  a.agent_card AS "agentCard", a.capabilities, a.sandbox_level AS "sandboxLevel", a.provider, a.cost_model AS "costModel",
  a.labels, a.version, a.definition, a.capacity, a.declared_ms AS "declaredMs", a.typical_tokens AS "typicalTokens",
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

/** A card is stored in a compressed form. It is divided because JSON can be that much smaller than the stored form. */
const CARD_BYTES = 'coalesce(pg_column_size(page."agentCard"), 0) / 8';

const PAGE = withinPage(
  `SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES}
   WHERE a.namespace = $5 AND ($2::text IS NULL OR a.agent_id > $2) AND ($4::text[] IS NULL OR a.capability_keys && $4)
     AND CASE WHEN $3 = 'left' THEN a.left_at IS NOT NULL ELSE a.left_at IS NULL END
     AND ($3::text IS NULL OR $3 = 'left' OR $3 = CASE WHEN i.desired_state <> 'active' THEN i.desired_state
       WHEN l.suspect THEN 'suspect' ELSE 'active' END)
     AND ($6::text IS NULL OR strpos(lower(a.name), lower($6)) > 0 OR strpos(lower(substr(a.agent_id,
       CASE WHEN starts_with(a.agent_id, a.namespace || '/') THEN length(a.namespace) + 2 ELSE 1 END)), lower($6)) > 0)
     AND ($7::text[] IS NULL OR a.agent_id = ANY ($7))
     AND ($8::text IS NULL OR $8 = CASE WHEN c.state->>'phase' = 'open'
       AND coalesce((c.state->>'openUntil')::float8, 0) <= extract(epoch FROM clock_timestamp()) * 1000
       THEN 'half_open' ELSE c.state->>'phase' END)
   ORDER BY a.agent_id LIMIT $1`,
  { size: CARD_BYTES, order: '"agentId"' },
);

/** An agent that left, with the columns for its `agent.left` event. */
export interface LeftAgent {
  agentId: string;
  name: string;
  generation: string;
  capabilities: string[];
  /** The total usage from its heartbeats, which was stored in the deleted lease. */
  usedTokens: string | null;
}

/** The new state of a row, with every capability by which a query may find the agent. */
interface Redeclared {
  row: AgentRow;
  capabilityKeys: readonly string[];
}

export interface AgentListFilter {
  namespace: string;
  status?: AgentStatus;
  /** Selects agents that have at least one of these keys. */
  capabilityKeys?: readonly string[];
  /** Selects agents whose name or agentId contains this text, in upper or lower case. */
  text?: string;
  /** Selects these agents, by qualified id. */
  agentIds?: readonly string[];
  /** Selects agents whose circuit is in this phase. */
  circuit?: CircuitPhase;
}

@Injectable()
export class AgentStore {
  constructor(private readonly db: Database) {}

  async now(): Promise<number> {
    const rows = await this.db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return rows[0]?.now.getTime() ?? 0;
  }

  /** Marks the agent as left. Returns undefined if the credential does not match a live agent. */
  async leave(
    { agentId, generation, tokenHash }: AgentCredential,
    reason: LeaveReason,
  ): Promise<LeftAgent | undefined> {
    const rows = await this.db.query<Omit<LeftAgent, 'usedTokens'>>(
      `UPDATE agent SET left_at = clock_timestamp(), leave_reason = $2, revision = revision + 1
       WHERE agent_id = $1 AND left_at IS NULL AND ($3::bigint IS NULL OR generation = $3) AND ($4::text IS NULL OR token_hash = $4)
       RETURNING agent_id AS "agentId", name, generation, capabilities`,
      [agentId, reason, generation, tokenHash],
    );
    if (!rows[0]) return undefined;
    const leases = await this.db.query<{ usedTokens: string | null }>(
      'DELETE FROM agent_lease WHERE agent_id = $1 AND generation = $2 RETURNING used_tokens AS "usedTokens"',
      [agentId, rows[0].generation],
    );
    return { ...rows[0], usedTokens: leases[0]?.usedTokens ?? null };
  }

  /** Writes the new state of the rows. The caller must have locked them. */
  async redeclare(changes: readonly Redeclared[]): Promise<void> {
    await this.db.query(REDECLARE, [JSON.stringify(changes.map(toItem))]);
  }

  async find(agentId: string): Promise<AgentRow | undefined> {
    const rows = await this.db.query<AgentRow>(`SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES} WHERE a.agent_id = $1`, [
      agentId,
    ]);
    return rows[0];
  }

  async findMany(agentIds: readonly string[]): Promise<AgentRow[]> {
    if (agentIds.length === 0) return [];
    return await this.db.query<AgentRow>(`SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES} WHERE a.agent_id = ANY ($1)`, [
      agentIds,
    ]);
  }

  /** Ordered by agentId, so that pages stay stable while agents join and leave. Without a status, it returns all live agents. */
  async page(
    limit: number,
    after: string | undefined,
    { namespace, status, capabilityKeys, text, agentIds, circuit }: AgentListFilter,
  ): Promise<AgentRow[]> {
    return await this.db.query<AgentRow>(PAGE, [
      limit,
      after ?? null,
      status ?? null,
      capabilityKeys ?? null,
      namespace,
      text ?? null,
      agentIds ?? null,
      circuit ?? null,
    ]);
  }

  async countLive(namespace: string): Promise<number> {
    const rows = await this.db.query<{ count: string }>(
      'SELECT count(*) FROM agent WHERE namespace = $1 AND left_at IS NULL',
      [namespace],
    );
    return Number(rows[0]?.count);
  }

  /** One slice of the live fleet, for loading a directory. */
  async live(limit: number, after: string): Promise<AgentRow[]> {
    return await this.db.query<AgentRow>(
      `SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES} WHERE a.left_at IS NULL AND a.agent_id > $2 ORDER BY a.agent_id LIMIT $1`,
      [limit, after],
    );
  }

  /** Locks the row until the transaction ends. Returns whether it exists. */
  async lock(agentId: string): Promise<boolean> {
    return (await this.lockMany([agentId], true)).size > 0;
  }

  /**
   * Locks the rows until the transaction ends, in the order that all writers use for agents. Returns the locked agentIds. Without
   * `wait`, it skips rows that another transaction has locked.
   */
  async lockMany(agentIds: readonly string[], wait: boolean): Promise<Set<string>> {
    if (agentIds.length === 0) return new Set();
    const rows = await this.db.query<{ agentId: string }>(
      `SELECT agent_id AS "agentId" FROM agent WHERE agent_id = ANY ($1) ORDER BY agent_id COLLATE "C"
       FOR UPDATE${wait ? '' : ' SKIP LOCKED'}`,
      [agentIds],
    );
    return new Set(rows.map(({ agentId }) => agentId));
  }

  /** Sets the desired state. It survives a new registration. The new revision of the agent makes directories apply the change. */
  async setIntent(agentId: string, desiredState: string, note: string | null, setBy: string): Promise<void> {
    await this.db.query(
      `INSERT INTO agent_intent (agent_id, desired_state, note, set_by, set_at) VALUES ($1, $2, $3, $4, clock_timestamp())
       ON CONFLICT (agent_id) DO UPDATE SET desired_state = excluded.desired_state, note = excluded.note,
         set_by = excluded.set_by, set_at = excluded.set_at`,
      [agentId, desiredState, note, setBy],
    );
    await this.db.query('UPDATE agent SET revision = revision + 1 WHERE agent_id = $1', [agentId]);
  }

  /**
   * Deletes agents that left more than `keepMs` ago, with their circuits and outcomes, but keeps the highest of their generations. Returns how many
   * agents it deleted.
   */
  async prune(keepMs: number, limit: number): Promise<number> {
    const rows = await this.db.query<{ pruned: number }>(
      `WITH gone AS (
         DELETE FROM agent WHERE agent_id IN (SELECT agent_id FROM agent
           WHERE left_at < clock_timestamp() - $1 * interval '1 millisecond' LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING agent_id, generation
       ), circuits AS (
         DELETE FROM agent_circuit WHERE agent_id IN (SELECT agent_id FROM gone)
       ), outcomes AS (
         DELETE FROM agent_outcome WHERE agent_id IN (SELECT agent_id FROM gone)
       ), noted AS (
         UPDATE agent_forgotten f SET generation = greatest(f.generation, (SELECT max(generation) FROM gone))
         WHERE EXISTS (SELECT FROM gone)
       )
       SELECT count(*)::int AS pruned FROM gone`,
      [keepMs, limit],
    );
    return rows[0]?.pruned ?? 0;
  }
}

const REDECLARE = `
  UPDATE agent a SET revision = i.revision, name = i.name, endpoint = i.endpoint, agent_card = i.agent_card,
    capabilities = i.capabilities, sandbox_level = i.sandbox_level, provider = i.provider, cost_model = i.cost_model,
    labels = i.labels, version = i.version, definition = i.definition, capacity = i.capacity, declared_ms = i.declared_ms,
    typical_tokens = i.typical_tokens, capability_keys = i.capability_keys, work = i.work, idempotent = i.idempotent
  FROM jsonb_to_recordset($1::jsonb) AS i (agent_id text, revision bigint, name text, endpoint text, agent_card jsonb,
    capabilities text[], sandbox_level int, provider jsonb, cost_model jsonb, labels jsonb, version text, definition text,
    capacity int, declared_ms int, typical_tokens int, capability_keys text[], work text, idempotent boolean)
  WHERE a.agent_id = i.agent_id`;

function toItem({ row, capabilityKeys }: Redeclared): Record<string, unknown> {
  return {
    agent_id: row.agentId,
    revision: row.revision,
    name: row.name,
    endpoint: row.endpoint,
    agent_card: row.agentCard,
    capabilities: row.capabilities,
    sandbox_level: row.sandboxLevel,
    provider: row.provider,
    cost_model: row.costModel,
    labels: row.labels,
    version: row.version,
    definition: row.definition,
    capacity: row.capacity,
    declared_ms: row.declaredMs,
    typical_tokens: row.typicalTokens,
    capability_keys: capabilityKeys,
    work: row.work,
    idempotent: row.idempotent,
  };
}

/** The version of the record, for conditional updates. Heartbeats and calls do not change it. */
export function recordVersionOf({ generation, revision }: AgentRow): string {
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
    work: row.work,
    idempotent: row.idempotent,
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
    typicalTokens: row.typicalTokens,
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
  return budgets.map((row) => withReported(rolled(budgetFromRow(row), now), Number(usedTokens ?? 0)));
}

/** The budget from the ledger. During the registration, when the ledger has none yet, it is the budget that the agent declared. */
function budgetIn(row: AgentRow, budgets: readonly Budget[]): AgentBudget {
  const binding = bindingBudgetOf(budgets);
  if (binding) return toAgentBudget(binding);
  const totalTokens = row.budgetTotal === null ? null : Number(row.budgetTotal);
  return agentBudget({ totalTokens, usedTokens: Number(row.budgetUsed), source: row.budgetSource });
}
