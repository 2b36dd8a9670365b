import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#rollcall/platform';
import type { CallHistory } from '../discovery/directory/directory.entry.js';
import type { CircuitState } from './circuit.breaker.js';
import { KEPT_OUTCOMES, type NumberedOutcome, type ReportedOutcome, type Reporter } from './outcome.js';

/** The circuit of a live agent, as a directory applies it. */
export interface CircuitRow {
  agentId: string;
  state: CircuitState;
  observedMs: number | null;
  lastTaskAt: Date | null;
  version: string;
}

export function historyOf({ state: circuit, version, observedMs, lastTaskAt }: CircuitRow): CallHistory {
  return { circuit, version: Number(version), observedMs, lastTaskAt: lastTaskAt?.toISOString() ?? null };
}

/** A circuit with what its events and outcomes need. */
export interface AgentCircuit extends CircuitRow {
  generation: string;
  capabilities: string[];
  /** How many outcomes were reported. */
  outcomes: string;
}

/** A locked circuit after some outcomes. */
export interface CircuitWrite {
  after: AgentCircuit;
  added: readonly NumberedOutcome[];
}

type OutcomeRow = Omit<ReportedOutcome, 'number' | 'generation' | 'reporter'> & {
  number: string;
  generation: string;
  reporterId: string;
  reporterName: string;
};

const COLUMNS = `c.agent_id AS "agentId", c.state, c.observed_ms AS "observedMs", c.last_task_at AS "lastTaskAt", c.version`;
const CIRCUIT_OF_AGENT = `SELECT ${COLUMNS}, c.outcomes, a.generation, a.capabilities
  FROM agent_circuit c JOIN agent a ON a.agent_id = c.agent_id
  WHERE c.agent_id = ANY ($1) AND a.left_at IS NULL`;

/**
 * The SQL of circuits and outcomes. It never locks the row of an agent, so outcomes do not wait for an update or a new registration.
 * Writers that lock both lock agents before circuits, and all lock circuits in the order of their agentId.
 */
@Injectable()
export class CircuitStore {
  constructor(private readonly db: Database) {}

  /** The circuit of a live agent, and the time. */
  async find(agentId: string): Promise<{ circuit: AgentCircuit; now: number } | undefined> {
    const [row] = await this.db.query<AgentCircuit & { now: Date }>(
      `SELECT found.*, clock_timestamp() AS now FROM (${CIRCUIT_OF_AGENT}) AS found`,
      [[agentId]],
    );
    if (!row) return undefined;
    const { now, ...circuit } = row;
    return { circuit, now: now.getTime() };
  }

  /** Whether the agent has a record, even if it has left. */
  async exists(agentId: string): Promise<boolean> {
    return (await this.db.query('SELECT FROM agent_circuit WHERE agent_id = $1', [agentId])).length > 0;
  }

  /**
   * Locks the circuits of the live agents among these until the transaction ends. Reads the time after the locks are granted. One round
   * trip.
   */
  async lock(agentIds: readonly string[]): Promise<{ circuits: AgentCircuit[]; now: number }> {
    const [circuits, times] = await Promise.all([
      this.db.query<AgentCircuit>(`${CIRCUIT_OF_AGENT} ORDER BY c.agent_id COLLATE "C" FOR UPDATE OF c`, [agentIds]),
      this.db.query<{ now: Date }>('SELECT clock_timestamp() AS now'),
    ]);
    return { circuits, now: times[0]?.now.getTime() ?? 0 };
  }

  /** Writes locked circuits and their new outcomes. */
  async write(writes: readonly CircuitWrite[]): Promise<void> {
    const { sql, parameters } = writeStatement(writes);
    await this.db.query(sql, parameters);
  }

  /** Like `write`, but in the round trip of the COMMIT. The transaction must not read or write these circuits afterwards. */
  writeWithCommit(writes: readonly CircuitWrite[]): void {
    this.db.sendWithCommit(writeStatement(writes));
  }

  /** Changes the state of a circuit that was read. Returns false if the circuit has changed since then. */
  async replace({ agentId, version }: CircuitRow, state: CircuitState): Promise<boolean> {
    const rows = await this.db.query(
      'UPDATE agent_circuit SET state = $3, version = version + 1 WHERE agent_id = $1 AND version = $2 RETURNING version',
      [agentId, version, state],
    );
    return rows.length > 0;
  }

  /** The reporters of the outcomes with the numbers from `first` to `last` that are kept, in the order of the numbers. */
  async reporters(agentId: string, first: number, last: number): Promise<Reporter[]> {
    return await this.db.query<Reporter>(
      `SELECT reporter_id AS id, reporter_name AS name FROM agent_outcome
       WHERE agent_id = $1 AND number BETWEEN $2 AND $3 ORDER BY number`,
      [agentId, first, last],
    );
  }

  /** The outcomes before the outcome with this number, the newest first. */
  async page(agentId: string, limit: number, before: string | undefined): Promise<ReportedOutcome[]> {
    const rows = await this.db.query<OutcomeRow>(
      `SELECT number, generation, at, ok, latency_ms AS "latencyMs", reporter_id AS "reporterId", reporter_name AS "reporterName"
       FROM agent_outcome WHERE agent_id = $1 AND ($3::bigint IS NULL OR number < $3) ORDER BY number DESC LIMIT $2`,
      [agentId, limit, before ?? null],
    );
    return rows.map(toOutcome);
  }

  /** The circuits of the live agents that have outcomes after `since`, on any replica. The index on the times of outcomes finds them. */
  async withOutcomesSince(since: Date): Promise<CircuitRow[]> {
    return await this.db.query<CircuitRow>(
      `SELECT ${COLUMNS} FROM agent_circuit c JOIN agent a ON a.agent_id = c.agent_id
       WHERE c.agent_id = ANY (ARRAY(SELECT DISTINCT agent_id FROM agent_outcome WHERE at >= $1)) AND a.left_at IS NULL`,
      [since],
    );
  }
}

const WRITE = `
  WITH written AS (
    UPDATE agent_circuit c SET state = i.state, observed_ms = i.observed_ms, last_task_at = i.last_task_at,
      outcomes = i.outcomes, version = i.version
    FROM jsonb_to_recordset($1::jsonb) AS i (agent_id text, state jsonb, observed_ms float8, last_task_at timestamptz,
      outcomes bigint, version bigint)
    WHERE c.agent_id = i.agent_id
  )
  INSERT INTO agent_outcome (agent_id, slot, number, generation, at, ok, latency_ms, reporter_id, reporter_name)
  SELECT agent_id, number % ${KEPT_OUTCOMES}, number, generation, at, ok, latency_ms, reporter_id, reporter_name
  FROM jsonb_to_recordset($2::jsonb) AS o (agent_id text, number bigint, generation bigint, at timestamptz, ok boolean,
    latency_ms float8, reporter_id text, reporter_name text)
  ON CONFLICT (agent_id, slot) DO UPDATE SET number = excluded.number, generation = excluded.generation, at = excluded.at,
    ok = excluded.ok, latency_ms = excluded.latency_ms, reporter_id = excluded.reporter_id,
    reporter_name = excluded.reporter_name`;

function writeStatement(writes: readonly CircuitWrite[]): Statement {
  const circuits = writes.map(({ after }) => ({
    agent_id: after.agentId,
    state: after.state,
    observed_ms: after.observedMs,
    last_task_at: after.lastTaskAt,
    outcomes: after.outcomes,
    version: after.version,
  }));
  // one statement must not write the same slot twice, so only the outcomes that stay in the ring are written
  const outcomes = writes.flatMap(({ after, added }) => added.slice(-KEPT_OUTCOMES).map((one) => toItem(after, one)));
  return { sql: WRITE, parameters: [JSON.stringify(circuits), JSON.stringify(outcomes)] };
}

function toItem(after: AgentCircuit, { number, outcome, reporter }: NumberedOutcome): Record<string, unknown> {
  return {
    agent_id: after.agentId,
    number,
    generation: after.generation,
    at: after.lastTaskAt,
    ok: outcome.ok,
    latency_ms: outcome.latencyMs,
    reporter_id: reporter.id,
    reporter_name: reporter.name,
  };
}

function toOutcome({ number, generation, at, ok, latencyMs, reporterId, reporterName }: OutcomeRow): ReportedOutcome {
  const reporter = { id: reporterId, name: reporterName };
  return { number: Number(number), at, generation: Number(generation), ok, latencyMs, reporter };
}
