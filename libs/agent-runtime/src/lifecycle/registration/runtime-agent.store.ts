import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { AgentState } from '#rollcall/providers';
import type { RuntimeAgentEntity } from '../lifecycle.entities.js';

export type RuntimeAgentRow = RuntimeAgentEntity;

export interface AgentInfoFilter {
  state?: AgentState;
  provider?: string;
}

/** What changes while an agent lives. */
export interface AgentVitals extends Pick<RuntimeAgentRow, 'agentId' | 'agentType' | 'provider' | 'revision'> {
  generation: number;
  state: AgentState;
  inFlight: number;
}

const COLUMNS = `h.agent_id AS "agentId", h.generation, h.namespace, h.name, h.replica_id AS "replicaId", h.agent_type AS "agentType",
  h.provider, h.definition, h.revision, h.run_limit AS "runLimit", h.max_runs AS "maxRuns", h.state, h.in_flight AS "inFlight",
  h.spawned_by AS "spawnedBy", h.spawned_at AS "spawnedAt"`;
const VALUES_OF = [
  'agentId',
  'generation',
  'namespace',
  'name',
  'replicaId',
  'agentType',
  'provider',
  'definition',
  'revision',
  'runLimit',
  'maxRuns',
  'state',
  'inFlight',
  'spawnedBy',
] as const;
/** The registry decides whether an agent is live: the lease of a dead replica's agent expires. */
const LIVE = 'runtime_agent AS h JOIN agent AS a USING (agent_id, generation) WHERE a.left_at IS NULL';
const FIND = `SELECT ${COLUMNS} FROM ${LIVE} AND h.agent_id = $1`;

@Injectable()
export class RuntimeAgentStore {
  constructor(private readonly db: Database) {}

  /** Replaces the row of an earlier agent of this name. Returns the time of the database. */
  async insert(row: Omit<RuntimeAgentRow, 'spawnedAt'>): Promise<Date> {
    const rows = await this.db.query<{ spawnedAt: Date }>(
      `INSERT INTO runtime_agent (agent_id, generation, namespace, name, replica_id, agent_type, provider, definition, revision,
         run_limit, max_runs, state, in_flight, spawned_by)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
       ON CONFLICT (agent_id) DO UPDATE SET generation = excluded.generation, replica_id = excluded.replica_id,
         agent_type = excluded.agent_type, provider = excluded.provider, definition = excluded.definition,
         revision = excluded.revision, run_limit = excluded.run_limit, max_runs = excluded.max_runs,
         state = excluded.state, in_flight = excluded.in_flight,
         spawned_by = excluded.spawned_by, spawned_at = excluded.spawned_at
       RETURNING spawned_at AS "spawnedAt"`,
      VALUES_OF.map((column) => row[column]),
    );
    return rows[0]?.spawnedAt ?? new Date(0);
  }

  async remove(agentId: string, generation: number): Promise<void> {
    await this.db.query('DELETE FROM runtime_agent WHERE agent_id = $1 AND generation = $2', [agentId, generation]);
  }

  async publish(vitals: readonly AgentVitals[]): Promise<void> {
    await this.db.query(
      `UPDATE runtime_agent AS h SET state = v.state, in_flight = v."inFlight", revision = v.revision, provider = v.provider,
         agent_type = v."agentType"
       FROM jsonb_to_recordset($1::jsonb) AS v ("agentId" text, generation bigint, state text, "inFlight" integer,
         revision integer, provider text, "agentType" text)
       WHERE h.agent_id = v."agentId" AND h.generation = v.generation`,
      [JSON.stringify(vitals)],
    );
  }

  async find(agentId: string): Promise<RuntimeAgentRow | undefined> {
    return (await this.db.query<RuntimeAgentRow>({ name: 'runtime_agent_find', text: FIND }, [agentId]))[0];
  }

  /** One page of live agents, sorted by name. */
  async page(
    namespace: string,
    limit: number,
    after = '',
    { state, provider }: AgentInfoFilter = {},
  ): Promise<RuntimeAgentRow[]> {
    return await this.db.query<RuntimeAgentRow>(
      `SELECT ${COLUMNS} FROM ${LIVE} AND h.namespace = $1 AND h.name COLLATE "C" > $2
         AND ($4::text IS NULL OR h.state = $4) AND ($5::text IS NULL OR h.provider = $5)
       ORDER BY h.name COLLATE "C" LIMIT $3`,
      [namespace, after, limit, state ?? null, provider ?? null],
    );
  }

  /** All live agents of the namespace. */
  async all(namespace: string): Promise<RuntimeAgentRow[]> {
    return await this.db.query<RuntimeAgentRow>(`SELECT ${COLUMNS} FROM ${LIVE} AND h.namespace = $1`, [namespace]);
  }

  /** The newest heartbeat of the agents of each replica. */
  async hostBeats(): Promise<Map<string, string>> {
    const rows = await this.db.query<{ replicaId: string; beat: string }>(
      `SELECT h.replica_id AS "replicaId", max(l.last_beat_at)::text AS beat
       FROM runtime_agent AS h JOIN agent_lease AS l USING (agent_id, generation) GROUP BY h.replica_id`,
    );
    return new Map(rows.map(({ replicaId, beat }) => [replicaId, beat]));
  }

  /** All live agents of a replica, in all namespaces. */
  async hostedBy(replicaId: string): Promise<RuntimeAgentRow[]> {
    return await this.db.query<RuntimeAgentRow>(`SELECT ${COLUMNS} FROM ${LIVE} AND h.replica_id = $1`, [replicaId]);
  }

  /** Locks the registration until the transaction ends. Returns whether it is live. */
  async lock(agentId: string, generation: string): Promise<boolean> {
    const sql = 'SELECT 1 FROM agent WHERE agent_id = $1 AND generation = $2 AND left_at IS NULL FOR UPDATE';
    return (await this.db.query(sql, [agentId, generation])).length > 0;
  }

  /** Deletes the rows of agents that are not live any more, such as those of dead replicas. */
  async prune(): Promise<void> {
    await this.db.query(
      `DELETE FROM runtime_agent AS h WHERE NOT EXISTS
         (SELECT 1 FROM agent AS a WHERE a.agent_id = h.agent_id AND a.generation >= h.generation AND a.left_at IS NULL)`,
    );
  }
}
