import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { CircuitState } from './circuit.breaker.js';
import {
  type CallOutcome,
  type FailureReporter,
  KEPT_OUTCOMES,
  MAX_REPORTERS,
  type ReportedOutcome,
  type Reporter,
} from './outcome.js';

/** The state of an agent after an outcome. */
export interface OutcomeEffect {
  circuit: CircuitState;
  observedMs: number | null;
}

/** The latest write of an agent that has new outcomes. */
export interface AgentWithOutcomes {
  agentId: string;
  generation: string;
  revision: string;
}

type OutcomeRow = Omit<ReportedOutcome, 'number' | 'generation' | 'reporter'> & {
  number: string;
  generation: string;
  reporterId: string;
  reporterName: string;
};

/** The SQL of outcomes. */
@Injectable()
export class OutcomeStore {
  constructor(private readonly db: Database) {}

  /** Writes the outcome and its effect on the agent with one statement. The caller has locked the agent. */
  async add(agentId: string, outcome: CallOutcome, reporter: Reporter, effect: OutcomeEffect): Promise<void> {
    const { ok, latencyMs = null } = outcome;
    const { circuit, observedMs } = effect;
    await this.db.query(ADD, [agentId, circuit, observedMs, ok, latencyMs, reporter.id, reporter.name]);
  }

  /** The reporters of the latest outcomes of an agent, with the number of outcomes; the most frequent first. */
  async latestReporters(agentId: string, outcomes: number): Promise<FailureReporter[]> {
    return await this.db.query<FailureReporter>(
      `SELECT o.reporter_id AS id, o.reporter_name AS name, count(*)::int AS failures
       FROM agent_outcome o JOIN agent a USING (agent_id)
       WHERE o.agent_id = $1 AND o.number > a.outcomes - $2
       GROUP BY 1, 2 ORDER BY failures DESC, max(o.number) LIMIT ${MAX_REPORTERS}`,
      [agentId, outcomes],
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

  /** The live agents that have outcomes after `since`, on any replica. */
  async agentsWithOutcomesSince(since: Date): Promise<AgentWithOutcomes[]> {
    return await this.db.query<AgentWithOutcomes>(
      `SELECT agent_id AS "agentId", generation, revision FROM agent
       WHERE agent_id IN (SELECT agent_id FROM agent_outcome WHERE at >= $1) AND left_at IS NULL`,
      [since],
    );
  }
}

const ADD = `
  WITH changed AS (
    UPDATE agent SET circuit = $2, observed_ms = $3, last_task_at = clock_timestamp(), outcomes = outcomes + 1,
      revision = revision + 1
    WHERE agent_id = $1 RETURNING agent_id, outcomes, generation, last_task_at
  )
  INSERT INTO agent_outcome (agent_id, slot, number, generation, at, ok, latency_ms, reporter_id, reporter_name)
  SELECT agent_id, outcomes % ${KEPT_OUTCOMES}, outcomes, generation, last_task_at, $4, $5, $6, $7 FROM changed
  ON CONFLICT (agent_id, slot) DO UPDATE SET number = excluded.number, generation = excluded.generation, at = excluded.at,
    ok = excluded.ok, latency_ms = excluded.latency_ms, reporter_id = excluded.reporter_id,
    reporter_name = excluded.reporter_name`;

function toOutcome({ number, generation, at, ok, latencyMs, reporterId, reporterName }: OutcomeRow): ReportedOutcome {
  const reporter = { id: reporterId, name: reporterName };
  return { number: Number(number), at, generation: Number(generation), ok, latencyMs, reporter };
}
