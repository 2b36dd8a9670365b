import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import type { SpendingAmount } from '../../spending/spending.js';
import { chargedUsage } from '../journal/run.usage.js';
import type { Run } from '../run.js';
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

/** The columns of a run, with the names of the entity. */
export const RUN_COLUMNS = `r.seq, r.id, r.namespace, r.root_id AS "rootId", r.parent_id AS "parentId", r.depth,
  r.retry_of AS "retryOf", r.conversation_id AS "conversationId", r.state, r.state_at AS "stateAt", r.waiting_for AS "waitingFor", r.target, r.agent_id AS "agentId", r.definition,
  r.revision, r.host, r.input, r.limit_tokens AS "limitTokens", r.limit_micro_usd AS "limitMicroUsd", r.deadline, r.result,
  r.usage, r.attempts, r.crashes, r.crashes_in_step AS "crashesInStep", r.crashed_after AS "crashedAfter", r.created_by AS "createdBy", r.created_at AS "createdAt", r.queued_at AS "queuedAt",
  r.started_at AS "startedAt", r.finished_at AS "finishedAt", r.redact_after_ms AS "redactAfterMs",
  r.redacted_at AS "redactedAt"`;

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

export function toRun(row: RunRow): Run {
  const { id, namespace, rootId, parentId, depth, retryOf, state, waitingFor, target, agentId, input } = row;
  const { limitTokens, limitMicroUsd, deadline, result, usage, attempts, crashes, crashesInStep, createdBy } = row;
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
    input,
    limit: { tokens: toNumber(limitTokens), microUsd: toNumber(limitMicroUsd) },
    deadline: toText(deadline),
    result: currentResult(state, result),
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
}: Pick<RunRow, 'definition' | 'revision'>): Run['definition'] {
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
