import {
  type Amount,
  available,
  type Budget,
  type BudgetCondition,
  type BudgetReading,
  conditionOf,
  type Forecast,
  type LedgerEntryEntity,
  type Limit,
  type LowBudgetPolicy,
  type Reservation,
  type ReservationState,
  type UnitForecast,
} from '#rollcall/registry';

export interface BudgetView {
  id: string;
  kind: string;
  subject: string;
  window: string;
  timeZone: string;
  windowStart: string;
  windowEnd: string | null;
  condition: BudgetCondition;
  limit: Limit;
  low: Limit;
  /** `own` is this run's, `subtree` that with all runs below it. */
  usage: { own: Amount; subtree: Amount };
  reserved: Amount;
  available: Limit;
  /** The budgets of the runs above, the root first. */
  path: string[];
  source: string;
  /** Of a source that is asked now and then: how old the count is. */
  freshness: Freshness | null;
  createdAt: string;
}

export interface Freshness {
  refreshedAt: string | null;
  ageMs: number | null;
  stale: boolean;
  error: string | null;
}

/** The rules a view is made by. */
export interface ViewRules {
  low: LowBudgetPolicy;
  /** Counts of an asked source older than this are stale. */
  staleAfterMs: number;
}

const COUNTED_HERE = new Set(['ledger', 'reported']);

export function toBudgetView({ budget, createdAt, ...fresh }: BudgetReading, rules: ViewRules): BudgetView {
  const { kind, subject, window, timeZone, limit, low, source, windowEnd } = budget;
  return {
    id: String(budget.id),
    kind,
    subject,
    window,
    timeZone,
    windowStart: moment(budget.windowStart),
    windowEnd: windowEnd === null ? null : moment(windowEnd),
    condition: conditionOf(budget, rules.low),
    limit,
    low,
    usage: usageOf(budget),
    reserved: budget.reserved,
    available: available(budget),
    path: budget.path.map(String),
    source,
    freshness: COUNTED_HERE.has(source) ? null : freshnessOf(fresh, rules),
    createdAt: createdAt.toISOString(),
  };
}

function usageOf({ own, used }: Budget): BudgetView['usage'] {
  return { own, subtree: used };
}

function freshnessOf(
  { refreshedAt, refreshError, now }: Pick<BudgetReading, 'refreshedAt' | 'refreshError' | 'now'>,
  { staleAfterMs }: ViewRules,
): Freshness {
  const ageMs = refreshedAt === null ? null : Math.max(0, now - refreshedAt.getTime());
  const stale = ageMs === null || ageMs > staleAfterMs;
  return { refreshedAt: refreshedAt?.toISOString() ?? null, ageMs, stale, error: refreshError };
}

export interface LineView {
  seq: string;
  at: string;
  kind: string;
  tokens: number;
  microUsd: number;
  own: boolean;
  limit: Limit | null;
  windowStart: string;
  reservation: string | null;
  marks: string[];
  by: string | null;
  note: string | null;
}

export function toLineView(line: LedgerEntryEntity): LineView {
  const { seq, at, kind, own, windowStart, key, marks, by, note } = line;
  const count = (text: string | null): number | null => (text === null ? null : Number(text));
  return {
    seq,
    at: at.toISOString(),
    kind,
    tokens: Number(line.tokens),
    microUsd: Number(line.microUsd),
    own,
    limit: line.limitChanged ? { tokens: count(line.limitTokens), microUsd: count(line.limitMicroUsd) } : null,
    windowStart: windowStart.toISOString(),
    reservation: key,
    marks,
    by,
    note,
  };
}

export interface ReservationView {
  key: string;
  state: ReservationState;
  agentId: string | null;
  runId: string | null;
  budgets: string[];
  held: Amount;
  used: Amount | null;
  overdraft: boolean;
  estimated: boolean;
  expiresAt: string;
}

export function toReservationView(reservation: Reservation): ReservationView {
  const { key, state, scopes, budgetIds, held, used, overdraft, estimated, expiresAt } = reservation;
  const { agentId, runId } = scopes;
  const facts = { key, state, agentId, runId, budgets: budgetIds.map(String), held, used };
  return { ...facts, overdraft, estimated, expiresAt: moment(expiresAt) };
}

export type ForecastView = Record<
  'tokens' | 'microUsd',
  Omit<UnitForecast, 'runsOutAt'> & { runsOutAt: string | null }
> & {
  overMs: number;
  runsOutAt: string | null;
};

export function toForecastView({ tokens, microUsd, overMs, runsOutAt }: Forecast): ForecastView {
  const at = (end: number | null): string | null => (end === null ? null : moment(end));
  const view = (unit: UnitForecast): ForecastView['tokens'] => ({ ...unit, runsOutAt: at(unit.runsOutAt) });
  return { tokens: view(tokens), microUsd: view(microUsd), overMs, runsOutAt: at(runsOutAt) };
}

function moment(at: number): string {
  return new Date(at).toISOString();
}
