import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { AgentStatus, LeaveReason } from './agent.record.js';
import { AGENT_COLUMNS, AGENT_TABLES, type AgentRow } from './agent.row.js';
import type { AgentClaim } from './registration.js';

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
export interface Redeclared {
  row: AgentRow;
  capabilityKeys: readonly string[];
}

export interface AgentListFilter {
  namespace: string;
  status?: AgentStatus;
  /** Selects agents that have at least one of these keys. */
  capabilityKeys?: readonly string[];
}

@Injectable()
export class AgentStore {
  constructor(private readonly db: Database) {}

  async now(): Promise<number> {
    const rows = await this.db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return rows[0]?.now.getTime() ?? 0;
  }

  /** Marks the agent as left. Returns undefined if the claim does not match a live agent. */
  async leave({ agentId, generation, tokenHash }: AgentClaim, reason: LeaveReason): Promise<LeftAgent | undefined> {
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
    { namespace, status, capabilityKeys }: AgentListFilter,
  ): Promise<AgentRow[]> {
    return await this.db.query<AgentRow>(
      `SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES}
       WHERE a.namespace = $5 AND ($2::text IS NULL OR a.agent_id > $2) AND ($4::text[] IS NULL OR a.capability_keys && $4)
         AND CASE WHEN $3 = 'left' THEN a.left_at IS NOT NULL ELSE a.left_at IS NULL END
         AND ($3::text IS NULL OR $3 = 'left' OR $3 = CASE WHEN i.desired_state <> 'active' THEN i.desired_state
           WHEN l.suspect THEN 'suspect' ELSE 'active' END)
       ORDER BY a.agent_id LIMIT $1`,
      [limit, after ?? null, status ?? null, capabilityKeys ?? null, namespace],
    );
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
    capability_keys = i.capability_keys
  FROM jsonb_to_recordset($1::jsonb) AS i (agent_id text, revision bigint, name text, endpoint text, agent_card jsonb,
    capabilities text[], sandbox_level int, provider jsonb, cost_model jsonb, labels jsonb, version text, definition text,
    capacity int, declared_ms int, capability_keys text[])
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
    capability_keys: capabilityKeys,
  };
}
