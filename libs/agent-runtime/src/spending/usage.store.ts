import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { RUNTIME_OWNER } from './run.reservations.js';

/** What usage is grouped by. */
export const USAGE_GROUPS = ['agent', 'definition', 'caller', 'model'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** The length of an interval: a minute, an hour or a day. */
export const USAGE_STEPS = ['1m', '1h', '1d'] as const;
export type UsageStep = (typeof USAGE_STEPS)[number];

export interface UsageQuery {
  readonly namespace: string;
  readonly by: UsageGroup;
  readonly from: Date;
  readonly to: Date;
  readonly step: UsageStep;
}

/** What one agent, definition, caller or model used in one interval. */
export interface UsagePoint {
  readonly key: string;
  readonly at: Date;
  readonly tokens: number;
  readonly microUsd: number;
}

const INTERVALS: Record<UsageStep, string> = { '1m': '1 minute', '1h': '1 hour', '1d': '1 day' };
/** More rows than this are not useful to a reader. */
export const MAX_USAGE_POINTS = 20_000;

/** The run of a budget. The subject is a qualified id, and the id of a run contains no slash. */
const OF_RUN = `JOIN run r ON r.id = substring(b.subject FROM '[^/]*$') AND r.namespace = b.namespace`;
/** Lines of a charge, in the time of the query. Combined lines of older charges have no time of their own and are left out. */
const CHARGED = `e.kind IN ('charged', 'reported', 'refreshed') AND e.at >= $2 AND e.at < $3`;
const LINE = 'e.at, e.tokens, e.micro_usd';
/** One budget of each agent: an agent may have several, with different windows, and each charge is on all of them. */
const ONE_OF_AGENT = `b.kind = 'agent' AND b.namespace = $1 AND b.id = (
  SELECT min(o.id) FROM budget o WHERE o.kind = 'agent' AND o.subject = b.subject)`;
const RUNS_THEMSELVES = `b.kind = 'run' AND b.namespace = $1 AND e.own`;
const LOCAL_ID = `substr(b.subject, CASE WHEN starts_with(b.subject, b.namespace || '/') THEN length(b.namespace) + 2 ELSE 1 END)`;

/**
 * The lines of each group: key, time, tokens and micro-dollars. A charge adds a line to each budget that it concerns, so each group reads
 * only one kind of budget, or kinds that exclude each other.
 */
const LINES: Record<UsageGroup, string> = {
  agent: `
    SELECT ${LOCAL_ID} AS key, ${LINE} FROM budget b JOIN budget_entry e ON e.budget_id = b.id
    WHERE ${ONE_OF_AGENT} AND ${CHARGED}
    UNION ALL
    SELECT r.agent_id, ${LINE} FROM budget b ${OF_RUN} JOIN budget_entry e ON e.budget_id = b.id
    WHERE ${RUNS_THEMSELVES} AND ${CHARGED} AND NOT EXISTS (SELECT FROM budget a WHERE a.kind = 'agent'
      AND a.subject IN (r.agent_id, r.namespace || '/' || r.agent_id) AND a.namespace = r.namespace)`,
  definition: `
    SELECT r.definition AS key, ${LINE} FROM budget b ${OF_RUN} JOIN budget_entry e ON e.budget_id = b.id
    WHERE ${RUNS_THEMSELVES} AND ${CHARGED} AND r.definition IS NOT NULL`,
  caller: `
    SELECT root.created_by AS key, ${LINE} FROM budget b ${OF_RUN} JOIN run root ON root.id = r.root_id
      JOIN budget_entry e ON e.budget_id = b.id
    WHERE ${RUNS_THEMSELVES} AND ${CHARGED}
    UNION ALL
    SELECT coalesce(e.by, 'unknown'), ${LINE} FROM budget b JOIN budget_entry e ON e.budget_id = b.id
    WHERE ${ONE_OF_AGENT} AND ${CHARGED} AND e.by IS DISTINCT FROM '${RUNTIME_OWNER}'`,
  model: `
    SELECT coalesce(s.step #>> '{reply,model}', 'unknown') AS key, s.at, (c ->> 'tokens')::bigint AS tokens,
      coalesce((c ->> 'microUsd')::bigint, 0) AS micro_usd
    FROM run r JOIN run_step s ON s.run_id = r.id CROSS JOIN LATERAL json_array_elements(s.step -> 'charges') AS c
    WHERE r.namespace = $1 AND r.created_at < $3 AND (r.finished_at IS NULL OR r.finished_at >= $2)
      AND s.at >= $2 AND s.at < $3 AND s.step ->> 'type' = 'model-replied' AND json_typeof(s.step -> 'charges') = 'array'`,
};

/** Reads what was charged over time, from the ledger, and for models from the replies in the steps of runs. */
@Injectable()
export class UsageStore {
  constructor(private readonly db: Database) {}

  /** The charges of the namespace by group and interval, in the order of time. */
  async read({ namespace, by, from, to, step }: UsageQuery): Promise<UsagePoint[]> {
    return await this.db.query<UsagePoint>(
      `SELECT key, date_bin($4::interval, at, $2) AS at, sum(tokens)::float8 AS tokens, sum(micro_usd)::float8 AS "microUsd"
       FROM (${LINES[by]}) AS l GROUP BY 1, 2 ORDER BY 2, 1 LIMIT ${MAX_USAGE_POINTS}`,
      [namespace, from, to, INTERVALS[step]],
    );
  }
}
