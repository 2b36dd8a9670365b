import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import type { SpendingAmount } from '../../spending/spending.js';
import { chargedUsage } from '../journal/run.usage.js';
import type { Run, RunFacts, RunSummary } from '../run.js';
import { type ContentPreview, currentPreview, PREVIEW_CHARS } from '../run.preview.js';
import { isFinal, type RunResult, type RunStatus } from '../run.status.js';
import type { RunEntity } from './run.entity.js';

export type RunRow = RunEntity;

/** What the budget of a run was charged; null without a budget. The driver returns a bigint as a string. */
export interface ChargesRow {
  readonly ownTokens: string | null;
  readonly ownMicroUsd: string | null;
  readonly usedTokens: string | null;
  readonly usedMicroUsd: string | null;
}

/** The columns of a run without its contents, with the names of the entity. */
export const FACTS_COLUMNS = `r.seq, r.id, r.namespace, r.root_id AS "rootId", r.parent_id AS "parentId", r.depth,
  r.retry_of AS "retryOf", r.conversation_id AS "conversationId", r.state, r.state_at AS "stateAt", r.waiting_for AS "waitingFor", r.target, r.agent_id AS "agentId", r.definition,
  r.revision, r.host, r.limit_tokens AS "limitTokens", r.limit_micro_usd AS "limitMicroUsd", r.deadline,
  r.usage, r.attempts, r.crashes, r.crashes_in_step AS "crashesInStep", r.crashed_after AS "crashedAfter", r.created_by AS "createdBy", r.created_at AS "createdAt", r.queued_at AS "queuedAt",
  r.started_at AS "startedAt", r.finished_at AS "finishedAt", r.redact_after_ms AS "redactAfterMs",
  r.redacted_at AS "redactedAt"`;

/** The columns of a run, with the names of the entity. */
export const RUN_COLUMNS = `${FACTS_COLUMNS}, r.input, r.a2a, r.trace, r.result`;

/**
 * Contents of an older version are read only if their stored form is not larger: to read 200 large ones takes longer than a statement
 * may take.
 */
const READ_BYTES = 1_024;

/**
 * A JSON value whose texts Postgres can read: a text that a model wrote may contain a NUL or half a character, which make `->>` fail.
 * They become other characters. `replace` is much faster than a regular expression.
 */
const readable = (json: string): string => {
  const text = `(${json})::text`;
  const halves = ['d8', 'd9', 'da', 'db', 'dc', 'dd', 'de', 'df'];
  const replaced = halves.reduce(
    (sql, half) => `replace(${sql}, '\\u${half}', '\\uf8')`,
    `replace(${text}, '\\u0000', '\\ufffd')`,
  );
  return `CASE WHEN strpos(${text}, '\\u0000') = 0 AND strpos(${text}, '\\ud') = 0 THEN ${json} ELSE ${replaced}::json END`;
};

/** For contents that are not read. */
const unread = (json: string): string =>
  `json_build_object('text', '', 'parts', 0, 'bytes', pg_column_size(${json}), 'truncated', true)`;

/** Computes the preview of parts in the database, for a row that a replica of an older version has written. */
const previewOf = (
  parts: string,
): string => `(SELECT jsonb_build_object('text', left(coalesce(shown.text, ''), ${PREVIEW_CHARS}),
    'parts', shown.parts, 'bytes', octet_length((${parts})::text),
    'truncated', shown.texts < shown.parts OR coalesce(length(shown.text), 0) > ${PREVIEW_CHARS})
  FROM (SELECT string_agg(part ->> 'text', '' ORDER BY at) FILTER (WHERE part ->> 'type' = 'text') AS text, count(*) AS parts,
    count(*) FILTER (WHERE part ->> 'type' = 'text') AS texts
    FROM json_array_elements(${parts}) WITH ORDINALITY AS one (part, at)) AS shown)`;

/**
 * The columns of a run in a list. Postgres stores large contents outside the row and does not read them here, except for rows of an
 * older version, which have no preview. The contents of a redacted run are small; they are read because a replica of an older version
 * may have removed them without their preview.
 */
export const SUMMARY_COLUMNS = `${FACTS_COLUMNS},
  CASE WHEN r.input_preview IS NOT NULL AND r.redacted_at IS NULL THEN r.input_preview
    WHEN pg_column_size(r.input) > ${READ_BYTES} THEN ${unread('r.input')}
    ELSE (SELECT ${previewOf('old.input')}::json FROM (SELECT ${readable('r.input')} AS input OFFSET 0) AS old) END AS "inputPreview",
  CASE WHEN r.result_preview IS NOT NULL AND r.redacted_at IS NULL THEN r.result_preview
    WHEN r.result IS NULL THEN NULL
    WHEN pg_column_size(r.result) > ${READ_BYTES} THEN ${unread('r.result')}
    WHEN json_typeof(r.result) = 'null' THEN NULL
    ELSE (SELECT (${previewOf("old.result -> 'parts'")} || jsonb_strip_nulls(jsonb_build_object(
      'reason', old.result ->> 'reason', 'detail', left(old.result ->> 'detail', ${PREVIEW_CHARS}),
      'error', old.result -> 'error', 'approvals', json_array_length(old.result -> 'approvals'))))::json
      FROM (SELECT ${readable('r.result')} AS result OFFSET 0) AS old) END AS "resultPreview"`;

export type FactsRow = Omit<RunRow, 'input' | 'a2a' | 'trace' | 'result' | 'inputPreview' | 'resultPreview'>;

export type SummaryRow = Omit<RunRow, 'input' | 'a2a' | 'trace' | 'result' | 'inputPreview'> & {
  readonly inputPreview: ContentPreview;
};

/** The columns of `ChargesRow`. The statement also needs `CHARGED`. */
export const CHARGES_COLUMNS = `b.own_tokens AS "ownTokens", b.own_micro_usd AS "ownMicroUsd", b.used_tokens AS "usedTokens",
  b.used_micro_usd AS "usedMicroUsd"`;

/** Joins the budget of the run `r`, so that a run and its charges are as of the same moment. */
export const CHARGED = `LEFT JOIN LATERAL (SELECT * FROM budget WHERE kind = 'run'
  AND subject = CASE r.namespace WHEN '${DEFAULT_NAMESPACE}' THEN r.id ELSE r.namespace || '/' || r.id END LIMIT 1) AS b ON true`;

/** The usage of a finished run contains everything that was charged, also for calls that were aborted. */
export function toChargedRun(row: RunRow & ChargesRow): Run {
  const run = toRun(row);
  return isFinal(run.state) ? { ...run, usage: chargedUsage(run.usage, ownCharge(row)) } : run;
}

/** What the budgets were charged for the run itself; undefined if it has no budget. */
function ownCharge({ ownTokens, ownMicroUsd }: ChargesRow): SpendingAmount | undefined {
  return ownTokens === null ? undefined : { tokens: Number(ownTokens), microUsd: Number(ownMicroUsd) };
}

/** What the budgets were charged for the run and its descendants. */
export function subtreeCharge({ usedTokens, usedMicroUsd }: ChargesRow): SpendingAmount {
  return { tokens: Number(usedTokens), microUsd: Number(usedMicroUsd) };
}

/** The usage of a finished run contains everything that was charged, also for calls that were aborted. */
export function toChargedSummary(row: SummaryRow & ChargesRow): RunSummary {
  const run = toRunSummary(row);
  return isFinal(run.state) ? { ...run, usage: chargedUsage(run.usage, ownCharge(row)) } : run;
}

export function toRunSummary(row: SummaryRow): RunSummary {
  const { state, inputPreview, resultPreview } = row;
  return { ...toFacts(row), inputPreview, resultPreview: currentPreview(state, resultPreview) };
}

export function toRun(row: RunRow): Run {
  const { input, a2a, trace, state, result } = row;
  const given = { input, ...(a2a && { a2a }), ...(trace && { trace }) };
  return { ...toFacts(row), ...given, result: currentResult(state, result) };
}

export function toFacts(row: FactsRow): RunFacts {
  const { id, namespace, rootId, parentId, depth, retryOf, state, waitingFor, target, agentId } = row;
  const { limitTokens, limitMicroUsd, deadline, usage, attempts, crashes, crashesInStep, createdBy } = row;
  return {
    id,
    namespace,
    rootId,
    parentId,
    depth,
    retryOf,
    conversationId: row.conversationId ?? id,
    state,
    stateAt: row.stateAt.toISOString(),
    waitingFor,
    target,
    agentId,
    definition: definitionOf(row),
    limit: { tokens: toNumber(limitTokens), microUsd: toNumber(limitMicroUsd) },
    deadline: toText(deadline),
    usage: usage ?? {},
    attempts,
    crashes,
    crashesInStep,
    createdBy,
    ...timesOf(row),
    redactAfterMs: row.redactAfterMs,
    redactedAt: toText(row.redactedAt),
  };
}

export function definitionOf({
  definition: name,
  revision,
}: Pick<RunRow, 'definition' | 'revision'>): RunFacts['definition'] {
  return name === null || revision === null ? null : { name, revision };
}

type Times = 'createdAt' | 'startedAt' | 'finishedAt';

export function timesOf({ createdAt, startedAt, finishedAt }: Pick<RunRow, Times>): Pick<Run, Times> {
  return { createdAt: createdAt.toISOString(), startedAt: toText(startedAt), finishedAt: toText(finishedAt) };
}

/**
 * A run that continues, or that was cancelled, has only the answer so far. Only a waiting run has calls that wait for a decision.
 */
export function currentResult(state: RunStatus, result: RunResult | null): RunResult | null {
  if (result === null || state === 'waiting') return result;
  const { approvals: _decided, ...ended } = result;
  return isFinal(state) && state !== 'cancelled' ? ended : { parts: result.parts };
}

function toNumber(value: string | null): number | null {
  return value === null ? null : Number(value);
}

function toText(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}
