import { localIdOf, namespaceOf, NO_QUOTA } from '#rollcall/platform';
import { OwnerCounts } from '../../owner.quota.js';
import {
  BudgetExhaustedError,
  BudgetNotFoundError,
  PriceUnknownError,
  ReservationClosedError,
  ReservationKeyReusedError,
  ReservationNotFoundError,
  SettlementTooLargeError,
} from '../budget.errors.js';
import {
  type Amount,
  atLeast,
  type Budget,
  type BudgetCondition,
  type BudgetKind,
  charge,
  conditionOf,
  FLEET,
  reserveAmount,
  insufficientUnit,
  isZero,
  type LowBudgetPolicy,
  minus,
  nextVersion,
  plus,
  releaseAmount,
  rolled,
  type Unit,
  UNITS,
} from '../budget.js';
import { BudgetShares } from './budget.shares.js';
import { corrected } from './correction.js';
import type {
  ChargeMark,
  Correction,
  LedgerLine,
  LedgerOp,
  LedgerOutcome,
  ReservationKey,
} from './ledger.operation.js';
import { coveredByReports, reportedBefore } from './reported.usage.js';
import {
  type FittingAmount,
  fittingAmount,
  isSameRequest,
  type Reservation,
  type ReserveRequest,
  type Usage,
} from './reservation.js';
import {
  cappedNote,
  cappedUsage,
  chargedInPart,
  coveredPart,
  isEstimated,
  marksOf,
  type OneCharge,
  overflowOf,
  partOf,
  repeatedSettlement,
  settlementOf,
} from './settlement.js';
import { excessOf, mostOf } from './spending.limits.js';

/** A stored reservation, and whether it has expired by the database's clock. */
export interface LockedReservation extends Reservation {
  isOver: boolean;
}

/** A budget whose condition changed in this batch. */
export interface ConditionChange {
  budget: Budget;
  from: BudgetCondition;
  to: BudgetCondition;
}

/** The rows to write after all operations of a batch are decided. */
export interface LedgerWrites {
  budgets: Budget[];
  opened: (Reservation & { ttlMs: number })[];
  renewed: (ReservationKey & { ttlMs: number })[];
  /** Reservations whose amounts changed and that stay open. */
  charged: Reservation[];
  closed: Reservation[];
  lines: LedgerLine[];
}

/** How much a settlement may charge. */
type Bound = Pick<Extract<LedgerOp, { op: 'settle' }>, 'atMostTimes' | 'isCapped'>;

const keyOf = ({ owner, key }: ReservationKey): string => `${owner}\n${key}`;
const scopeOf = (kind: string, subject: string): string => `${kind}\n${subject}`;

/**
 * Decides a batch of ledger operations in order, on budgets and reservations whose rows are locked. Pure: it uses neither the
 * database nor a clock. Each operation is applied completely or not at all.
 */
export class LedgerBatch {
  private readonly budgets = new Map<number, Budget>();
  private readonly before = new Map<number, Budget>();
  private readonly byScope = new Map<string, number[]>();
  private readonly reservations: Map<string, LockedReservation>;
  private readonly opened = new Map<string, number>();
  private readonly renewed = new Map<string, number>();
  private readonly charged = new Set<string>();
  private readonly closed = new Set<string>();
  private readonly lines: LedgerLine[] = [];

  constructor(
    budgets: readonly Budget[],
    reservations: readonly LockedReservation[],
    private readonly now: number,
    private readonly held = new OwnerCounts({}, NO_QUOTA, 'held reservations'),
    private readonly shares = new BudgetShares(NO_QUOTA, [], []),
  ) {
    for (const budget of budgets) {
      this.before.set(budget.id, budget);
      this.budgets.set(budget.id, rolled(budget, now));
      const scope = scopeOf(budget.kind, budget.subject);
      this.byScope.set(scope, [...(this.byScope.get(scope) ?? []), budget.id]);
    }
    this.reservations = new Map(reservations.map((one) => [keyOf(one), one]));
  }

  apply(op: LedgerOp): LedgerOutcome {
    const outcome = this.decide(op);
    if (!outcome.ok || !outcome.reservation) return outcome;
    return { ...outcome, runs: this.affectedBy(outcome.reservation).filter(({ kind }) => kind === 'run') };
  }

  private decide(op: LedgerOp): LedgerOutcome {
    switch (op.op) {
      case 'reserve':
        return this.reserve(op.request);
      case 'raise':
        return this.raise(op.of, op.to);
      case 'settle':
        return this.settle(op.of, op.usage, op);
      case 'charge':
        return this.chargePart(op.of, op.usage, op);
      case 'release':
        return this.close(op.of, 'released');
      case 'renew':
        return this.renew(op.of, op.ttlMs);
      case 'expire':
        return this.close(op.of, 'expired');
      case 'correct':
        return this.correct(op.correction);
      case 'roll':
        return this.outcomeOf(op.budgetId);
    }
  }

  writes(): LedgerWrites {
    const changed = [...this.budgets.values()].filter((budget) => budget !== this.before.get(budget.id));
    const all = [...this.reservations.entries()];
    const stored = (keys: ReadonlySet<string>): LockedReservation[] =>
      all.filter(([key]) => keys.has(key) && !this.opened.has(key)).map(([, one]) => one);
    const withTtl = (ttls: ReadonlyMap<string, number>): LedgerWrites['opened'] =>
      all.flatMap(([key, one]) => {
        const ttlMs = ttls.get(key);
        return ttlMs === undefined ? [] : [{ ...one, ttlMs }];
      });
    return {
      budgets: changed.map(nextVersion),
      opened: withTtl(this.opened),
      renewed: withTtl(this.renewed).filter((one) => !this.closed.has(keyOf(one))),
      charged: stored(this.charged.difference(this.closed)),
      closed: stored(this.closed),
      lines: this.lines,
    };
  }

  conditionChanges(policy: LowBudgetPolicy): ConditionChange[] {
    const changes: ConditionChange[] = [];
    for (const [id, before] of this.before) {
      const budget = this.budgets.get(id) ?? before;
      if (budget === before) continue;
      const [from, to] = [conditionOf(before, policy), conditionOf(budget, policy)];
      if (from !== to) changes.push({ budget, from, to });
    }
    return changes;
  }

  private reserve(request: ReserveRequest): LedgerOutcome {
    const known = this.reservations.get(keyOf(request));
    if (known && isSameRequest(known, request)) return { ok: true, reservation: known, replayed: true };
    if (known) return { ok: false, error: new ReservationKeyReusedError(request.key) };
    const quotaError = this.held.quotaError(request.owner);
    if (quotaError) return { ok: false, error: quotaError };
    const found = this.budgetsOf(request);
    if ('missing' in found) return { ok: false, error: new BudgetNotFoundError(...found.missing) };
    const limiting = request.isUnpriced ? found.budgets.find(({ limit }) => limit.microUsd !== null) : undefined;
    if (limiting) return { ok: false, error: new PriceUnknownError(limiting) };
    const amounts = fittingAmount(request, found.budgets, this.shares.tokensLeft(request, found.budgets));
    const shareError = this.shares.errorOf(request, found.budgets, amounts.held);
    const hasEnough = found.budgets.every((budget) => !insufficientUnit(budget, amounts.held));
    if (shareError && hasEnough) return { ok: false, error: shareError };
    const rejection = this.reserveOnAll(found.budgets, amounts.held, request.amount);
    return rejection ?? { ok: true, reservation: this.open(request, amounts, found.budgets) };
  }

  private raise(of: ReservationKey, to: Amount): LedgerOutcome {
    const found = this.reservations.get(keyOf(of));
    if (!found) return { ok: false, error: new ReservationNotFoundError(of.key) };
    if (found.state !== 'held') return { ok: false, error: new ReservationClosedError(of.key, found.state) };
    const held = atLeast(found.held, to);
    const missing = minus(held, found.held);
    if (isZero(missing)) return { ok: true, reservation: found, replayed: true };
    const rejection = this.reserveOnAll(this.affectedBy(found), missing, missing);
    if (rejection) return rejection;
    const reservation = { ...found, held };
    this.reservations.set(keyOf(of), reservation);
    this.charged.add(keyOf(of));
    return { ok: true, reservation };
  }

  /** Reserves the amount on all budgets, or on none. `requested` is the amount that an error states. */
  private reserveOnAll(budgets: readonly Budget[], amount: Amount, requested: Amount): LedgerOutcome | undefined {
    for (const budget of budgets) {
      const unit = insufficientUnit(budget, amount);
      if (unit) return { ok: false, error: new BudgetExhaustedError(budget, unit, requested, this.now) };
    }
    const overflow = overflowOf(budgets, amount, ({ used, reserved }) => plus(used, reserved));
    if (overflow) return overflow;
    for (const budget of budgets) this.budgets.set(budget.id, reserveAmount(budget, amount));
    return undefined;
  }

  private open(request: ReserveRequest, amounts: FittingAmount, budgets: readonly Budget[]): Reservation {
    const { owner, key, scopes, ttlMs } = request;
    const ids = budgets.map(({ id }) => id);
    const facts = { owner, key, scopes, budgetIds: ids, ...amounts, reportedBefore: reportedBefore(budgets) };
    const unused = { used: null, overdraft: false, estimated: false };
    const reservation = { ...facts, ...unused, state: 'held' as const, expiresAt: this.now + ttlMs, isOver: false };
    this.reservations.set(keyOf(request), reservation);
    this.opened.set(keyOf(request), ttlMs);
    this.held.add(owner, 1);
    this.shares.add(owner, ids, amounts.held);
    return reservation;
  }

  /** Charges in full, even beyond the reservation and after its expiry. Unknown usage is charged as reserved. */
  private settle(
    of: ReservationKey,
    reported: Usage,
    { atMostTimes = 0, isCapped = false }: Bound = {},
  ): LedgerOutcome {
    const found = this.reservations.get(keyOf(of));
    if (!found) return { ok: false, error: new ReservationNotFoundError(of.key) };
    const settled = found.state === 'settled' ? found.used : null;
    const most = settled ?? mostOf(found, atMostTimes);
    const usage = isCapped ? cappedUsage(reported, most) : reported;
    if (found.state === 'settled') return repeatedSettlement(found, usage);
    if (found.state === 'released') return { ok: false, error: new ReservationClosedError(of.key, found.state) };
    const { total, due } = settlementOf(found, usage);
    const excess = excessOf(total, most);
    if (excess) return { ok: false, error: new SettlementTooLargeError(found, total, excess) };
    const overflow = overflowOf(this.affectedBy(found), due, (budget) => budget.used);
    if (overflow) return overflow;
    const overdraft = this.isOverdraft(found, due);
    const estimated = isEstimated(usage, found);
    const marks = marksOf({ overdraft, late: found.state === 'expired', estimated });
    const note = usage === reported ? null : cappedNote(reported);
    const each = { due, released: found.held, marks, note };
    for (const budget of this.affectedBy(found)) this.chargeOne(budget, found, each);
    const facts = { used: total, overdraft: overdraft || found.overdraft, estimated };
    return { ok: true, reservation: this.end(found, { state: 'settled', ...facts }), charged: due };
  }

  /** Charges what is not charged yet. A reservation that has expired is settled. */
  private chargePart(of: ReservationKey, usage: Usage, bound: Bound): LedgerOutcome {
    const found = this.reservations.get(keyOf(of));
    if (found?.state !== 'held') return this.settle(of, usage, bound);
    const most = mostOf(found, bound.atMostTimes ?? 0);
    const part = partOf(found, bound.isCapped ? cappedUsage(usage, most) : usage);
    const excess = excessOf(part.total, most);
    if (excess) return { ok: false, error: new SettlementTooLargeError(found, part.total, excess) };
    const { due } = part;
    if (isZero(due)) return { ok: true, reservation: found, replayed: true };
    const overflow = overflowOf(this.affectedBy(found), due, (budget) => budget.used);
    if (overflow) return overflow;
    const overdraft = this.isOverdraft(found, due);
    const each = { due, released: coveredPart(found, due), marks: marksOf({ overdraft }) };
    const reported = this.affectedBy(found).map((budget) => this.chargeOne(budget, found, each));
    const charged = chargedInPart(found, part, Math.max(0, ...reported));
    const reservation = { ...charged, overdraft: overdraft || found.overdraft };
    this.reservations.set(keyOf(of), reservation);
    this.charged.add(keyOf(of));
    return { ok: true, reservation, charged: due };
  }

  /** Money that was not reserved is an overdraft only if a budget limits money. */
  private isOverdraft(found: Reservation, due: Amount): boolean {
    const counts = (unit: Unit): boolean =>
      unit === 'tokens' || found.held[unit] > 0 || this.affectedBy(found).some(({ limit }) => limit[unit] !== null);
    return UNITS.some((unit) => due[unit] > found.held[unit] && counts(unit));
  }

  /** Returns how many of the tokens were already charged by reports. */
  private chargeOne(
    budget: Budget,
    reservation: Reservation,
    { due, released, marks, note = null }: OneCharge,
  ): number {
    const { owner, key, scopes, state } = reservation;
    const own = budget.kind !== 'run' || budget.subject === scopes.runId;
    const rest = state === 'held' ? releaseAmount(budget, released) : budget;
    const covered = coveredByReports(budget, reservation.reportedBefore, due.tokens);
    const amount = { ...due, tokens: due.tokens - covered };
    this.budgets.set(budget.id, charge(rest, amount, own));
    if (isZero(due)) return covered;
    const at = { budgetId: budget.id, windowStart: budget.windowStart, reservation: { owner, key } };
    const all: ChargeMark[] = covered > 0 ? [...marks, 'reported'] : [...marks];
    const by = localIdOf(owner);
    this.lines.push({ ...at, kind: 'charged', amount, own, limit: null, marks: all, by, note });
    return covered;
  }

  /** Renews a held reservation, even after its expiry time, as long as no sweep has expired it. */
  private renew(of: ReservationKey, ttlMs: number): LedgerOutcome {
    const found = this.reservations.get(keyOf(of));
    if (!found) return { ok: false, error: new ReservationNotFoundError(of.key) };
    if (found.state !== 'held') return { ok: false, error: new ReservationClosedError(of.key, found.state) };
    const expiresAt = Math.max(found.expiresAt, this.now + ttlMs);
    const reservation = { ...found, expiresAt, isOver: false };
    this.reservations.set(keyOf(of), reservation);
    const ttls = this.opened.has(keyOf(of)) ? this.opened : this.renewed;
    ttls.set(keyOf(of), Math.max(ttls.get(keyOf(of)) ?? 0, ttlMs));
    return { ok: true, reservation };
  }

  private close(of: ReservationKey, state: 'released' | 'expired'): LedgerOutcome {
    const found = this.reservations.get(keyOf(of));
    if (!found) return { ok: false, error: new ReservationNotFoundError(of.key) };
    if (found.state !== 'held') {
      const isDone = found.state === state || found.state === 'expired' || state === 'expired';
      if (isDone) return { ok: true, reservation: found, replayed: true };
      return { ok: false, error: new ReservationClosedError(of.key, found.state) };
    }
    if (state === 'expired' && !found.isOver) return { ok: true, reservation: found, replayed: true };
    for (const budget of this.affectedBy(found)) this.budgets.set(budget.id, releaseAmount(budget, found.held));
    return { ok: true, reservation: this.end(found, { state }) };
  }

  private end(found: LockedReservation, changes: Partial<Reservation>): Reservation {
    const ended = { ...found, ...changes };
    if (found.state === 'held') {
      this.held.add(found.owner, -1);
      this.shares.remove(found.owner, found.budgetIds, found.held);
    }
    this.reservations.set(keyOf(found), ended);
    this.closed.add(keyOf(found));
    return ended;
  }

  private correct(correction: Correction): LedgerOutcome {
    const budget = this.budgets.get(correction.budgetId);
    if (!budget) return { ok: false, error: new BudgetNotFoundError(correction.budgetId) };
    const result = corrected(budget, correction);
    if ('error' in result) return { ok: false, error: result.error };
    this.budgets.set(budget.id, result.budget);
    if (result.line) this.lines.push(result.line);
    return this.outcomeOf(budget.id);
  }

  private outcomeOf(budgetId: number): LedgerOutcome {
    const budget = this.budgets.get(budgetId);
    return budget ? { ok: true, budget } : { ok: false, error: new BudgetNotFoundError(budgetId) };
  }

  /** Returns the budgets in the order of their ids, which is the order of the locks. */
  private budgetsOf({
    owner,
    scopes: { agentId, callerId, runId },
    agentMayLackBudget = false,
  }: ReserveRequest): { budgets: Budget[] } | { missing: [BudgetKind, string] } {
    const [agent, run] = [this.idsOf('agent', agentId), this.idsOf('run', runId)];
    if (agentId !== null && agent.length === 0 && !agentMayLackBudget) return { missing: ['agent', agentId] };
    if (runId !== null && run.length === 0) return { missing: ['run', runId] };
    const ancestors = run.flatMap((id) => [...(this.budgets.get(id)?.path ?? [])]);
    const ids = new Set([
      ...agent,
      ...run,
      ...ancestors,
      ...this.idsOf('caller', callerId),
      ...this.idsOf('namespace', namespaceOf(owner)),
      ...this.idsOf('fleet', FLEET),
    ]);
    const sorted = [...ids].toSorted((one, other) => one - other);
    return { budgets: sorted.map((id) => this.budgets.get(id)).filter((budget) => budget !== undefined) };
  }

  private idsOf(kind: string, subject: string | null): number[] {
    return subject === null ? [] : (this.byScope.get(scopeOf(kind, subject)) ?? []);
  }

  private affectedBy({ budgetIds }: Reservation): Budget[] {
    return budgetIds.map((id) => this.budgets.get(id)).filter((budget) => budget !== undefined);
  }
}
