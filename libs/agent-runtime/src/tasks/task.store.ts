import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { LeaseCredential } from '#rollcall/registry';
import type { NewTask, TakenTask, TakeRequest, TaskDelivery, TaskReport, TaskState } from './task.js';

/** What a waiting run must know about its task. */
export interface TaskFacts {
  readonly callId: string;
  readonly agentId: string;
  readonly state: TaskState;
  readonly generation: string | null;
  readonly wasTaken: boolean;
  readonly result: TaskReport | null;
  readonly resultHash: string | null;
  /** Whether the registration that has taken the task has ended. */
  readonly isOrphaned: boolean;
}

/** A task that its agent still holds, although its result is not needed any more: the agent receives a cancellation. */
export interface ClosedTask {
  readonly callId: string;
  readonly agentId: string;
  readonly wasTaken: boolean;
}

/** A report of an agent about a task that it has taken. */
export interface ReportRequest {
  readonly credential: LeaseCredential;
  readonly callId: string;
  readonly report: TaskReport;
  readonly hash: string;
}

interface TakenRow {
  readonly place: number;
  readonly work: string;
  readonly tasks: TakenTask[];
  readonly cancelled: string[];
}

const INSERT = {
  name: 'tasks-insert',
  text: `INSERT INTO agent_task (call_id, run_id, agent_id, idempotent, content)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::json[]) ON CONFLICT DO NOTHING`,
};

/** Removes the contents, because the steps of the run contain them. */
const CLOSE = {
  name: 'tasks-close',
  text: `UPDATE agent_task SET content = NULL, result = NULL,
    state = CASE WHEN state IN ('offered', 'taken') THEN 'cancelled' ELSE state END
  WHERE run_id = ANY ($1) AND content IS NOT NULL`,
};

const CANCEL = `UPDATE agent_task SET content = NULL, result = NULL,
    state = CASE WHEN state IN ('offered', 'taken') THEN $2 ELSE state END
  WHERE WHICH AND content IS NOT NULL
  RETURNING call_id AS "callId", agent_id AS "agentId", (taken_at IS NOT NULL AND state = $2) AS "wasTaken"`;

/** The current registration of an agent, if the credential belongs to it. `c` has agent_id, generation and token_hash. */
const LEASE = `agent_lease l ON l.agent_id = c.agent_id AND l.generation = c.generation
    AND (c.token_hash IS NULL OR l.token_hash = c.token_hash)`;

/**
 * Takes tasks for several agents. First come the tasks that the registration has taken and does not hold, then the oldest offered ones. An
 * agent in quarantine gets no new task.
 */
const TAKE = {
  name: 'tasks-take',
  text: `
  WITH held AS MATERIALIZED (
    SELECT c.place, c.agent_id, c.generation, c.most, c.holding, a.work,
      coalesce((SELECT i.desired_state <> 'quarantined' FROM agent_intent i WHERE i.agent_id = c.agent_id), true) AS may_take
    FROM jsonb_to_recordset($1::jsonb) AS c (place int, agent_id text, generation bigint, token_hash text, most int, holding jsonb)
    JOIN ${LEASE} JOIN agent a ON a.agent_id = c.agent_id
  ), again AS MATERIALIZED (
    SELECT held.place, t.call_id, t.run_id, t.content, t.offered_at FROM held JOIN agent_task t ON t.agent_id = held.agent_id
      AND t.state = 'taken' AND t.generation = held.generation AND NOT held.holding ? t.call_id
  ), picked AS MATERIALIZED (
    SELECT held.place, held.generation, offered.call_id FROM held CROSS JOIN LATERAL (
      SELECT t.call_id FROM agent_task t WHERE t.agent_id = held.agent_id AND t.state = 'offered'
      ORDER BY t.offered_at LIMIT greatest(0, held.most - (SELECT count(*) FROM again WHERE again.place = held.place))
      FOR UPDATE SKIP LOCKED) AS offered
    WHERE held.work = 'pull' AND held.may_take
  ), taken AS (
    UPDATE agent_task t SET state = 'taken', generation = picked.generation, taken_at = coalesce(t.taken_at, clock_timestamp())
    FROM picked WHERE t.call_id = picked.call_id AND t.state = 'offered'
    RETURNING picked.place, t.call_id, t.run_id, t.content, t.offered_at
  ), delivered AS (SELECT * FROM again UNION ALL SELECT * FROM taken)
  SELECT held.place, held.work,
    coalesce((SELECT json_agg(json_build_object('callId', d.call_id, 'runId', d.run_id, 'content', d.content) ORDER BY d.offered_at)
      FROM delivered d WHERE d.place = held.place), '[]') AS tasks,
    CASE WHEN held.holding IS NULL THEN '{}' ELSE ARRAY(SELECT h.call_id FROM jsonb_array_elements_text(held.holding) AS h (call_id)
      WHERE NOT EXISTS (SELECT FROM agent_task t WHERE t.call_id = h.call_id AND t.agent_id = held.agent_id
        AND t.state = 'taken' AND t.generation = held.generation)) END AS cancelled
  FROM held`,
};

/** Stores results of tasks that the reporting registrations have taken, and returns their places. */
const REPORT = {
  name: 'tasks-report',
  text: `
  UPDATE agent_task t SET state = 'finished', result = c.result, result_hash = c.hash
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::json[], $6::text[])
    WITH ORDINALITY AS c (call_id, agent_id, generation, token_hash, result, hash, place)
  JOIN ${LEASE}
  WHERE t.call_id = c.call_id AND t.agent_id = c.agent_id AND t.state = 'taken' AND t.generation = c.generation
  RETURNING (c.place - 1)::int AS place`,
};

/** Whether these registrations hold these tasks. */
const HELD = {
  name: 'tasks-held',
  text: `
  SELECT (c.place - 1)::int AS place
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
    WITH ORDINALITY AS c (call_id, agent_id, generation, token_hash, place)
  JOIN ${LEASE} JOIN agent_task t ON t.call_id = c.call_id AND t.agent_id = c.agent_id AND t.state = 'taken'
    AND t.generation = c.generation`,
};

const FACTS = {
  name: 'tasks-facts',
  text: `SELECT t.call_id AS "callId", t.agent_id AS "agentId", t.state, t.generation, t.taken_at IS NOT NULL AS "wasTaken",
    t.result, t.result_hash AS "resultHash", t.state = 'taken' AND l.agent_id IS NULL AS "isOrphaned"
  FROM agent_task t LEFT JOIN agent_lease l ON l.agent_id = t.agent_id AND l.generation = t.generation
  WHERE t.call_id = ANY ($1)`,
};

/** The registration may have reported the result in the meantime, so the condition is checked again. */
const RECLAIM = `UPDATE agent_task t SET state = CASE WHEN idempotent THEN 'offered' ELSE 'lost' END, generation = NULL
  WHERE call_id = ANY ($1) AND state = 'taken'
    AND NOT EXISTS (SELECT FROM agent_lease l WHERE l.agent_id = t.agent_id AND l.generation = t.generation)
  RETURNING call_id AS "callId", agent_id AS "agentId", state`;

/** The SQL of tasks. Every write by an agent checks its lease in the same statement. */
@Injectable()
export class AgentTaskStore {
  constructor(private readonly db: Database) {}

  /** Adds tasks together with the COMMIT of the open transaction. */
  insertWithCommit(tasks: readonly NewTask[]): void {
    if (tasks.length === 0) return;
    const parameters = [
      tasks.map(({ callId }) => callId),
      tasks.map(({ runId }) => runId),
      tasks.map(({ agentId }) => agentId),
      tasks.map(({ isIdempotent }) => isIdempotent),
      tasks.map(({ content }) => JSON.stringify(content)),
    ];
    this.db.sendWithCommit({ sql: INSERT, parameters });
  }

  /** Ends the calls of these runs together with the COMMIT of the open transaction. */
  closeWithCommit(runIds: readonly string[]): void {
    if (runIds.length > 0) this.db.sendWithCommit({ sql: CLOSE, parameters: [runIds] });
  }

  /** Ends the calls of these runs. */
  async closeRuns(runIds: readonly string[], state: 'cancelled' | 'expired'): Promise<ClosedTask[]> {
    if (runIds.length === 0) return [];
    return await this.db.query<ClosedTask>(CANCEL.replace('WHICH', 'run_id = ANY ($1)'), [runIds, state]);
  }

  /** Ends a call, unless it has a result. Its result cannot be reported any more. */
  async withdraw(callId: string, state: 'cancelled' | 'expired'): Promise<ClosedTask | undefined> {
    const which = `call_id = $1 AND state IN ('offered', 'taken')`;
    const [closed] = await this.db.query<ClosedTask>(CANCEL.replace('WHICH', which), [callId, state]);
    return closed;
  }

  /** The row of a request is missing if its credential does not belong to the current registration. */
  async take(requests: readonly TakeRequest[]): Promise<Map<number, TaskDelivery & Pick<TakenRow, 'work'>>> {
    const items = requests.map(({ credential, most, holding }, place) => {
      const { agentId, generation, tokenHash } = credential;
      return { place, agent_id: agentId, generation, token_hash: tokenHash, most, holding: holding ?? null };
    });
    const rows = await this.db.query<TakenRow>(TAKE, [JSON.stringify(items)]);
    return new Map(rows.map(({ place, ...delivery }) => [place, delivery]));
  }

  /** Offers tasks again that could not be delivered to the registration that has taken them. */
  async giveBack({ agentId, generation }: LeaseCredential, callIds: readonly string[]): Promise<void> {
    await this.db.query(
      `UPDATE agent_task SET state = 'offered', generation = NULL
       WHERE call_id = ANY ($1) AND agent_id = $2 AND state = 'taken' AND generation = $3`,
      [callIds, agentId, generation],
    );
  }

  /** Returns the places of the reports that are stored. */
  async report(requests: readonly ReportRequest[]): Promise<Set<number>> {
    const values = [requests.map(({ report }) => JSON.stringify(report)), requests.map(({ hash }) => hash)];
    const rows = await this.db.query<{ place: number }>(REPORT, [...credentialsOf(requests), ...values]);
    return new Set(rows.map(({ place }) => place));
  }

  /** Returns the places of the registrations that hold the tasks. */
  async heldBy(requests: readonly Pick<ReportRequest, 'credential' | 'callId'>[]): Promise<Set<number>> {
    const rows = await this.db.query<{ place: number }>(HELD, credentialsOf(requests));
    return new Set(rows.map(({ place }) => place));
  }

  async facts(callIds: readonly string[]): Promise<TaskFacts[]> {
    return await this.db.query<TaskFacts>(FACTS, [callIds]);
  }

  /** Ends the claim of registrations that have ended: an idempotent task is offered again, any other is lost. */
  async reclaim(callIds: readonly string[]): Promise<Pick<TaskFacts, 'callId' | 'agentId' | 'state'>[]> {
    return await this.db.query(RECLAIM, [callIds]);
  }

  /** Whether the run has a call that has not ended. Its result may be stored already. */
  async hasOpen(runId: string): Promise<boolean> {
    const sql = 'SELECT FROM agent_task WHERE run_id = $1 AND content IS NOT NULL LIMIT 1';
    return (await this.db.query(sql, [runId])).length > 0;
  }
}

function credentialsOf(requests: readonly Pick<ReportRequest, 'credential' | 'callId'>[]): unknown[] {
  return [
    requests.map(({ callId }) => callId),
    requests.map(({ credential }) => credential.agentId),
    requests.map(({ credential }) => credential.generation),
    requests.map(({ credential }) => credential.tokenHash),
  ];
}
