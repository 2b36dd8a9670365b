import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { CLOSED_CIRCUIT, type CircuitState } from '../circuit/circuit.breaker.js';
import { NEVER_FLAPPED, type FlapState } from '../leases/flap.damping.js';
import type { AgentStatus, LeaveReason } from './agent.record.js';
import { AGENT_COLUMNS, AGENT_TABLES, type AgentRow } from './agent.row.js';
import type { Declaration } from './agent.update.js';
import type { AgentClaim, Registration } from './registration.js';

export interface Joining {
  agentId: string;
  /** Every word the agent may be found by. */
  capabilityKeys: readonly string[];
  /** Of the token this life is entered with: a new one, or the one of the life before. */
  tokenHash: string;
  registeredBy: string;
  facts: Registration;
}

/** A life that begins. */
export interface JoinedLife {
  generation: number;
  /** Other live agents of the same principal, counted up to its quota. */
  owned: number;
}

/** An agentId's latest life under its lock: what others decide from. */
export interface LockedAgent {
  agentId: string;
  generation: string;
  capabilities: string[];
  circuit: CircuitState;
  flap: FlapState;
  leftAt: Date | null;
}

/** Who left, with what the event about it tells. */
export interface Leaver {
  agentId: string;
  name: string;
  generation: string;
  capabilities: string[];
  /** What it reported with its beats to have used, which goes with its lease. */
  usedTokens: string | null;
}

export interface AgentListFilter {
  status?: AgentStatus;
  /** Words of which the agent answers at least one. */
  capabilityKeys?: readonly string[];
}

@Injectable()
export class AgentStore {
  constructor(private readonly db: Database) {}

  async now(): Promise<number> {
    const rows = await this.db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return rows[0]?.now.getTime() ?? 0;
  }

  /**
   * Lets one life of an agentId begin: the first, the next after one that has left, or the next of the one that holds the
   * token. Answers its generation, or undefined when someone else lives there. Of any number at once, on any replica, one
   * wins. To be called after `lock`, and told whether that met anyone: who came in between is not replaced unseen. An
   * agentId that nobody has begins after the last generation that was forgotten, which is never given twice. A principal that
   * has `most` other live agents gets none: that is also undefined. 0 counts nothing.
   */
  async join(joining: Joining, isKnown: boolean, most: number): Promise<JoinedLife | undefined> {
    const { agentId, tokenHash, registeredBy, facts, capabilityKeys } = joining;
    const rows = await this.db.query<{ generation: string; owned: string }>(
      `WITH owned AS (${countOwned('$20', '$1', '$23')})
       INSERT INTO agent AS a (agent_id, generation, revision, token_hash, name, endpoint, agent_card, capabilities,
         sandbox_level, provider, cost_model, labels, version, definition, capacity, declared_ms, budget_total, budget_used,
         budget_source, circuit, flap, registered_at, registered_by, capability_keys)
       SELECT $1, (SELECT generation + 1 FROM agent_forgotten), 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
         $16, $17, $18, $19, clock_timestamp(), $20, $21
       FROM owned WHERE $23 = 0 OR owned.count < $23
       ON CONFLICT (agent_id) DO UPDATE SET generation = a.generation + 1, revision = 1, token_hash = excluded.token_hash,
         name = excluded.name, endpoint = excluded.endpoint, agent_card = excluded.agent_card,
         capabilities = excluded.capabilities, sandbox_level = excluded.sandbox_level, provider = excluded.provider,
         cost_model = excluded.cost_model, labels = excluded.labels, version = excluded.version,
         definition = excluded.definition, capacity = excluded.capacity, declared_ms = excluded.declared_ms,
         budget_total = excluded.budget_total, budget_used = greatest(a.budget_used, excluded.budget_used),
         budget_source = excluded.budget_source, circuit = excluded.circuit, registered_at = excluded.registered_at,
         registered_by = excluded.registered_by, capability_keys = excluded.capability_keys, left_at = NULL, leave_reason = NULL
         WHERE $22 AND (a.left_at IS NOT NULL OR a.token_hash = excluded.token_hash)
       RETURNING generation, (SELECT count FROM owned) AS owned`,
      [
        agentId,
        tokenHash,
        facts.name,
        facts.endpoint,
        facts.agentCard,
        facts.capabilities,
        facts.sandboxLevel,
        facts.provider,
        facts.costModel,
        facts.labels,
        facts.version,
        facts.definition,
        facts.capacity,
        facts.declaredMs,
        facts.budget.totalTokens,
        facts.budget.usedTokens,
        facts.budget.source,
        CLOSED_CIRCUIT,
        NEVER_FLAPPED,
        registeredBy,
        capabilityKeys,
        isKnown,
        most,
      ],
    );
    return rows[0] && { generation: Number(rows[0].generation), owned: Number(rows[0].owned) };
  }

  /** The live agents of a principal without this one, counted up to `most`. */
  async countOwned(registeredBy: string, agentId: string, most: number): Promise<number> {
    const rows = await this.db.query<{ count: string }>(countOwned('$1', '$2', '$3'), [registeredBy, agentId, most]);
    return Number(rows[0]?.count);
  }

  /** Until the transaction ends, so that registrations of one principal count each other. */
  async lockOwner(registeredBy: string): Promise<void> {
    await this.db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`rollcall.agents:${registeredBy}`]);
  }

  async startLease(agentId: string, generation: number, tokenHash: string): Promise<void> {
    await this.db.query(
      `INSERT INTO agent_lease (agent_id, generation, token_hash, last_beat_at, forgiven_ms)
       VALUES ($1, $2, $3, clock_timestamp(), (SELECT forgiven_ms FROM registry_protection))
       ON CONFLICT (agent_id) DO UPDATE SET generation = excluded.generation, token_hash = excluded.token_hash,
         last_beat_at = excluded.last_beat_at, forgiven_ms = excluded.forgiven_ms, suspect = false, in_flight = 0, load_ratio = NULL, observed_ms = NULL`,
      [agentId, generation, tokenHash],
    );
  }

  /** Ends the life the claim is about; undefined when it is not there, or not theirs to end. */
  async leave({ agentId, generation, tokenHash }: AgentClaim, reason: LeaveReason): Promise<Leaver | undefined> {
    const rows = await this.db.query<Omit<Leaver, 'usedTokens'>>(
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

  /** To be called with the row locked: what it says before and after is the caller's to compare. */
  async redeclare(agentId: string, facts: Declaration, capabilityKeys: readonly string[]): Promise<void> {
    await this.db.query(
      `UPDATE agent SET revision = revision + 1, name = $2, endpoint = $3, agent_card = $4, capabilities = $5,
         sandbox_level = $6, provider = $7, cost_model = $8, labels = $9, version = $10, capacity = $11, declared_ms = $12,
         capability_keys = $13
       WHERE agent_id = $1`,
      [
        agentId,
        facts.name,
        facts.endpoint,
        facts.agentCard,
        facts.capabilities,
        facts.sandboxLevel,
        facts.provider,
        facts.costModel,
        facts.labels,
        facts.version,
        facts.capacity,
        facts.declaredMs,
        capabilityKeys,
      ],
    );
  }

  async find(agentId: string): Promise<AgentRow | undefined> {
    const rows = await this.db.query<AgentRow>(`SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES} WHERE a.agent_id = $1`, [
      agentId,
    ]);
    return rows[0];
  }

  async findMany(agentIds: readonly string[]): Promise<AgentRow[]> {
    return await this.db.query<AgentRow>(`SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES} WHERE a.agent_id = ANY ($1)`, [
      agentIds,
    ]);
  }

  /** By agentId, so that a page is stable while agents come and go. Without a status: all but those that have left. */
  async page(
    limit: number,
    after: string | undefined,
    { status, capabilityKeys }: AgentListFilter,
  ): Promise<AgentRow[]> {
    return await this.db.query<AgentRow>(
      `SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES}
       WHERE ($2::text IS NULL OR a.agent_id > $2) AND ($4::text[] IS NULL OR a.capability_keys && $4)
         AND CASE WHEN $3 = 'left' THEN a.left_at IS NOT NULL ELSE a.left_at IS NULL END
         AND ($3::text IS NULL OR $3 = 'left' OR $3 = CASE WHEN i.desired_state <> 'active' THEN i.desired_state
           WHEN l.suspect THEN 'suspect' ELSE 'active' END)
       ORDER BY a.agent_id LIMIT $1`,
      [limit, after ?? null, status ?? null, capabilityKeys ?? null],
    );
  }

  /** The fleet in slices, for a directory that begins empty. */
  async live(limit: number, after: string): Promise<AgentRow[]> {
    return await this.db.query<AgentRow>(
      `SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES} WHERE a.left_at IS NULL AND a.agent_id > $2 ORDER BY a.agent_id LIMIT $1`,
      [limit, after],
    );
  }

  /** The row, locked until the transaction ends: for what is decided from what it says. */
  async lock(agentId: string): Promise<LockedAgent | undefined> {
    const rows = await this.db.query<LockedAgent>(
      `SELECT agent_id AS "agentId", generation, capabilities, circuit, flap, left_at AS "leftAt"
       FROM agent WHERE agent_id = $1 FOR UPDATE`,
      [agentId],
    );
    return rows[0];
  }

  async saveCircuit(agentId: string, circuit: CircuitState): Promise<void> {
    await this.db.query('UPDATE agent SET circuit = $2, revision = revision + 1 WHERE agent_id = $1', [
      agentId,
      circuit,
    ]);
  }

  async saveFlap(agentId: string, flap: FlapState): Promise<void> {
    await this.db.query('UPDATE agent SET flap = $2 WHERE agent_id = $1', [agentId, flap]);
  }

  async noteTask(agentId: string): Promise<void> {
    await this.db.query(
      'UPDATE agent SET last_task_at = clock_timestamp(), revision = revision + 1 WHERE agent_id = $1',
      [agentId],
    );
  }

  /** What an operator wants; it stays when the agent leaves and comes back. Also bumps the record, for the directories. */
  async setIntent(agentId: string, desiredState: string, note: string | null, setBy: string): Promise<void> {
    await this.db.query(
      `INSERT INTO agent_intent (agent_id, desired_state, note, set_by, set_at) VALUES ($1, $2, $3, $4, clock_timestamp())
       ON CONFLICT (agent_id) DO UPDATE SET desired_state = excluded.desired_state, note = excluded.note,
         set_by = excluded.set_by, set_at = excluded.set_at`,
      [agentId, desiredState, note, setBy],
    );
    await this.db.query('UPDATE agent SET revision = revision + 1 WHERE agent_id = $1', [agentId]);
  }

  /** Forgets those that left long ago, all but how far their generations went; answers how many. */
  async prune(keepMs: number, limit: number): Promise<number> {
    const rows = await this.db.query<{ pruned: number }>(
      `WITH gone AS (
         DELETE FROM agent WHERE agent_id IN (SELECT agent_id FROM agent
           WHERE left_at < clock_timestamp() - $1 * interval '1 millisecond' LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING generation
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

function countOwned(registeredBy: string, agentId: string, most: string): string {
  return `SELECT count(*) FROM (SELECT FROM agent
    WHERE registered_by = ${registeredBy} AND left_at IS NULL AND agent_id <> ${agentId} LIMIT ${most}::int) AS counted`;
}
