import type { Run } from './run.js';
import type { RunEntity } from './run.entity.js';
import { isFinal, type RunResult, type RunStatus } from './run.status.js';

export type RunRow = RunEntity;

/** The columns of a run, with the names of the entity. */
export const RUN_COLUMNS = `r.seq, r.id, r.namespace, r.root_id AS "rootId", r.parent_id AS "parentId", r.depth,
  r.retry_of AS "retryOf", r.conversation_id AS "conversationId", r.state, r.state_at AS "stateAt", r.waiting_for AS "waitingFor", r.target, r.agent_id AS "agentId", r.definition,
  r.revision, r.host, r.input, r.limit_tokens AS "limitTokens", r.limit_micro_usd AS "limitMicroUsd", r.deadline, r.result,
  r.usage, r.attempts, r.crashes, r.crashes_in_step AS "crashesInStep", r.crashed_after AS "crashedAfter", r.created_by AS "createdBy", r.created_at AS "createdAt", r.queued_at AS "queuedAt",
  r.started_at AS "startedAt", r.finished_at AS "finishedAt", r.redact_after_ms AS "redactAfterMs",
  r.redacted_at AS "redactedAt"`;

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
