import type { Budget, BudgetKind } from './budget.js';
import type { BudgetWindow } from './budget.window.js';
import type { LockedReservation } from './ledger.batch.js';
import type { ReservationState } from './reservation.js';

/** A budget as `BUDGET_COLUMNS` selects it. The driver returns a bigint as a string. */
export interface BudgetRow {
  id: string;
  kind: BudgetKind;
  subject: string;
  window: BudgetWindow;
  timeZone: string;
  path: string[];
  limitTokens: string | null;
  limitMicroUsd: string | null;
  lowTokens: string | null;
  lowMicroUsd: string | null;
  usedTokens: string;
  usedMicroUsd: string;
  ownTokens: string;
  ownMicroUsd: string;
  reservedTokens: string;
  reservedMicroUsd: string;
  reportedTokens: string;
  reportOffset: string;
  /** A string if the row comes from JSON. */
  windowStart: Date | string;
  windowEnd: Date | string | null;
  source: string;
  declared: boolean;
  version: string;
}

export const BUDGET_COLUMNS = `
  b.id, b.kind, b.subject, b.window_kind AS "window", b.time_zone AS "timeZone", b.path,
  b.limit_tokens AS "limitTokens", b.limit_micro_usd AS "limitMicroUsd",
  b.low_tokens AS "lowTokens", b.low_micro_usd AS "lowMicroUsd",
  b.used_tokens AS "usedTokens", b.used_micro_usd AS "usedMicroUsd",
  b.own_tokens AS "ownTokens", b.own_micro_usd AS "ownMicroUsd",
  b.reserved_tokens AS "reservedTokens", b.reserved_micro_usd AS "reservedMicroUsd",
  b.reported_tokens AS "reportedTokens", b.report_offset AS "reportOffset",
  b.window_start AS "windowStart", b.window_end AS "windowEnd", b.source, b.declared, b.version`;

export function toBudget(row: BudgetRow): Budget {
  return {
    id: Number(row.id),
    kind: row.kind,
    subject: row.subject,
    window: row.window,
    timeZone: row.timeZone,
    path: row.path.map(Number),
    limit: { tokens: numberOrNull(row.limitTokens), microUsd: numberOrNull(row.limitMicroUsd) },
    low: { tokens: numberOrNull(row.lowTokens), microUsd: numberOrNull(row.lowMicroUsd) },
    used: { tokens: Number(row.usedTokens), microUsd: Number(row.usedMicroUsd) },
    own: { tokens: Number(row.ownTokens), microUsd: Number(row.ownMicroUsd) },
    reserved: { tokens: Number(row.reservedTokens), microUsd: Number(row.reservedMicroUsd) },
    reports: { charged: Number(row.reportedTokens), offset: Number(row.reportOffset) },
    windowStart: new Date(row.windowStart).getTime(),
    windowEnd: row.windowEnd === null ? null : new Date(row.windowEnd).getTime(),
    source: row.source,
    declared: row.declared,
    version: Number(row.version),
  };
}

export interface ReservationRow {
  owner: string;
  key: string;
  agentId: string | null;
  callerId: string | null;
  runId: string | null;
  budgetIds: string[];
  heldTokens: string;
  heldMicroUsd: string;
  aheadTokens: string;
  aheadMicroUsd: string;
  reportedBefore: string;
  state: ReservationState;
  usedTokens: string | null;
  usedMicroUsd: string | null;
  overdraft: boolean;
  estimated: boolean;
  expiresAt: Date;
  isOver: boolean;
}

export const RESERVATION_COLUMNS = `
  r.owner, r.key, r.agent_id AS "agentId", r.caller_id AS "callerId", r.run_id AS "runId", r.budget_ids AS "budgetIds",
  r.held_tokens AS "heldTokens", r.held_micro_usd AS "heldMicroUsd", r.ahead_tokens AS "aheadTokens",
  r.ahead_micro_usd AS "aheadMicroUsd", r.reported_before AS "reportedBefore", r.state,
  r.used_tokens AS "usedTokens", r.used_micro_usd AS "usedMicroUsd", r.overdraft, r.estimated, r.expires_at AS "expiresAt",
  r.expires_at <= clock_timestamp() AS "isOver"`;

export function toReservation(row: ReservationRow): LockedReservation {
  const { owner, key, agentId, callerId, runId, state, overdraft, estimated, isOver } = row;
  return {
    owner,
    key,
    scopes: { agentId, callerId, runId },
    budgetIds: row.budgetIds.map(Number),
    held: { tokens: Number(row.heldTokens), microUsd: Number(row.heldMicroUsd) },
    ahead: { tokens: Number(row.aheadTokens), microUsd: Number(row.aheadMicroUsd) },
    reportedBefore: Number(row.reportedBefore),
    state,
    used: row.usedTokens === null ? null : { tokens: Number(row.usedTokens), microUsd: Number(row.usedMicroUsd) },
    overdraft,
    estimated,
    expiresAt: row.expiresAt.getTime(),
    isOver,
  };
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text);
}
