import { Injectable } from '@nestjs/common';
import {
  Database,
  DatabaseBusyError,
  DatabaseUnavailableError,
  DomainError,
  GroupCommit,
  type Quota,
  StopsIn,
} from '#rollcall/platform';
import { QuotaWatch } from '../quota.watch.js';
import type { Budget } from './budget.js';
import { ReservationNotFoundError } from './budget.errors.js';
import { BudgetEvents } from './budget.events.js';
import type { Correction } from './correction.js';
import { OwnerCounts } from '../owner.counts.js';
import { LedgerBatch, type LedgerOp, type LedgerOutcome, type ReservationKey } from './ledger.batch.js';
import { FLEET_SCOPE, LedgerStore, type BudgetScope, type LockedBudgets } from './ledger.store.js';
import {
  checkAmount,
  checkAsk,
  checkKey,
  checkTtl,
  type Reservation,
  type ReserveAsk,
  type Usage,
} from './reservation.js';
import { checkLife, checkSize, type Spender, type SpendingLimits } from './spending.limits.js';

export interface LedgerRules {
  limits: SpendingLimits;
  /** How many reservations one owner may hold. */
  quota: Quota;
  /** In tests, where windows end by hand. */
  clock?: () => number;
}

const LARGEST_BATCH = 500;
const MOST_ATTEMPTS = 5;

/**
 * Spending, exact to the token. A call reserves what it may use on every budget it concerns, all or nothing; then it settles what
 * it really used, or releases the reservation. Reservations never exceed a limit, whatever races and whichever process dies. Only
 * a call that used more than it reserved exceeds one, and then the next call is rejected.
 *
 * Operations commit in groups, so a hot budget costs one lock and one commit for many callers. Inside a transaction of the
 * caller, an operation is part of that transaction instead.
 */
@Injectable()
export class BudgetLedger {
  private readonly group: GroupCommit<LedgerOp, LedgerOutcome>;
  private readonly watch: QuotaWatch;

  constructor(
    private readonly db: Database,
    private readonly store: LedgerStore,
    private readonly events: BudgetEvents,
    private readonly rules: LedgerRules,
  ) {
    this.watch = new QuotaWatch(rules.quota);
    this.group = new GroupCommit<LedgerOp, LedgerOutcome>(db, {
      name: 'ledger',
      largestBatch: LARGEST_BATCH,
      commit: async (ops) => await this.applyAll(ops),
      failure: failureOf,
      failsAll: (error) => error instanceof DatabaseUnavailableError,
    });
  }

  async reserve(ask: ReserveAsk, as: Spender = 'trusted'): Promise<Reservation> {
    checkAsk(ask);
    if (as === 'limited') checkSize(ask, this.rules.limits);
    return reservationOf(await this.run({ op: 'reserve', ask }));
  }

  /**
   * Charged in full. A second settlement answers the first one. The limit of a `limited` caller is decided under the lock of
   * its reservation; beyond it nothing is charged, and the reservation stays open.
   */
  async settle(of: ReservationKey, usage: Usage, as: Spender = 'trusted'): Promise<Reservation> {
    checkKey(of);
    checkAmount({ tokens: usage.tokens ?? 0, microUsd: usage.microUsd ?? 0 });
    const atMostTimes = as === 'limited' ? this.rules.limits.settleMultiple : 0;
    return reservationOf(await this.run({ op: 'settle', of, usage, atMostTimes }));
  }

  async release(of: ReservationKey): Promise<Reservation> {
    checkKey(of);
    return reservationOf(await this.run({ op: 'release', of }));
  }

  /** For a call that takes longer than its reservation was to live. It never shortens it. */
  async renew(of: ReservationKey, ttlMs: number, as: Spender = 'trusted'): Promise<Reservation> {
    checkKey(of);
    checkTtl(ttlMs);
    if (as === 'limited') checkLife(ttlMs, this.rules.limits);
    return reservationOf(await this.run({ op: 'renew', of, ttlMs }));
  }

  async get(of: ReservationKey): Promise<Reservation> {
    const found = await this.store.find(of);
    if (!found) throw new ReservationNotFoundError(of.key);
    return found;
  }

  async correct(correction: Correction): Promise<Budget> {
    const [outcome] = await this.applyAll([{ op: 'correct', correction }]);
    if (!outcome?.ok || !outcome.budget) throw errorOf(outcome);
    return outcome.budget;
  }

  /** All of them in one transaction, each with an outcome of its own. */
  async applyAll(ops: readonly LedgerOp[]): Promise<LedgerOutcome[]> {
    const joined = this.db.inTransaction;
    for (let attempt = 0; ops.length > 0; attempt++) {
      try {
        // new keys are not looked up at first, because they nearly always are new
        return await this.db.transaction(async () => await this.decide(ops, joined || attempt > 0));
      } catch (error) {
        if (!(error instanceof KeyTaken)) throw error;
        if (joined || attempt === MOST_ATTEMPTS) throw new DatabaseBusyError(error);
      }
    }
    return [];
  }

  /** The budgets of these agents, locked until the open transaction ends. */
  async lockAgents(agentIds: readonly string[]): Promise<LockedBudgets> {
    return await this.store.lockAgents(agentIds);
  }

  /** Corrections of budgets that the caller has locked in the open transaction. */
  async correctLocked({ budgets, now }: LockedBudgets, corrections: readonly Correction[]): Promise<void> {
    if (corrections.length === 0) return;
    const batch = new LedgerBatch(budgets, [], this.rules.clock?.() ?? now);
    for (const correction of corrections) batch.apply({ op: 'correct', correction });
    await this.write(batch);
  }

  /** Settles when nothing is under way. */
  @StopsIn('writes')
  async idle(): Promise<void> {
    await this.group.idle();
  }

  private async run(op: LedgerOp): Promise<LedgerOutcome> {
    if (!this.db.inTransaction) return await this.group.run(op);
    const [outcome] = await this.applyAll([op]);
    if (!outcome) throw errorOf(outcome);
    return outcome;
  }

  private async decide(ops: readonly LedgerOp[], lookUp: boolean): Promise<LedgerOutcome[]> {
    const reservations = await this.store.lockReservations(keysIn(ops, lookUp));
    const ids = [...reservations.flatMap(({ budgetIds }) => budgetIds), ...idsIn(ops)];
    const { quota, clock } = this.rules;
    const counted = { owners: this.ownersToCount(ops), upTo: quota.limit };
    const { budgets, now, held } = await this.store.lockBudgets(scopesIn(ops), [...new Set(ids)], counted);
    for (const owner of counted.owners) this.watch.noteCount(owner, held[owner] ?? 0);
    const batch = new LedgerBatch(
      budgets,
      reservations,
      clock?.() ?? now,
      new OwnerCounts(held, quota, 'held reservations'),
    );
    const outcomes = ops.map((op) => batch.apply(op));
    if (!lookUp) await this.checkRefusals(ops, outcomes);
    await this.write(batch);
    return outcomes;
  }

  private async write(batch: LedgerBatch): Promise<void> {
    const writes = batch.writes();
    const { budgets: changed, opened, renewed, closed } = writes;
    if (changed.length + opened.length + renewed.length + closed.length === 0) return;
    if ((await this.store.write(writes)) < opened.length) throw new KeyTaken();
    await this.events.tell(batch, changed);
  }

  private ownersToCount(ops: readonly LedgerOp[]): string[] {
    const asked = new Map<string, number>();
    for (const op of ops) if (op.op === 'reserve') asked.set(op.ask.owner, (asked.get(op.ask.owner) ?? 0) + 1);
    return [...asked].filter(([owner, count]) => this.watch.isDue(owner, count)).map(([owner]) => owner);
  }

  /** What looks like too much may be the repetition of what was granted before. */
  private async checkRefusals(ops: readonly LedgerOp[], outcomes: readonly LedgerOutcome[]): Promise<void> {
    const refused = ops.filter((op, index) => op.op === 'reserve' && !outcomes[index]?.ok);
    if (refused.length > 0 && (await this.store.isAnyKnown(keysIn(refused, true)))) throw new KeyTaken();
  }
}

/** There is a reservation with one of the keys already: all is to be decided again, with a look at them. */
class KeyTaken extends Error {}

function keysIn(ops: readonly LedgerOp[], alsoNew: boolean): ReservationKey[] {
  return ops.flatMap((op) => ('of' in op ? [op.of] : op.op === 'reserve' && alsoNew ? [op.ask] : []));
}

function idsIn(ops: readonly LedgerOp[]): number[] {
  return ops.flatMap((op) => (op.op === 'correct' ? [op.correction.budgetId] : op.op === 'roll' ? [op.budgetId] : []));
}

function scopesIn(ops: readonly LedgerOp[]): BudgetScope[] {
  const scopes = new Map<string, BudgetScope>();
  const add = (kind: BudgetScope['kind'], subject: string | null): void => {
    if (subject !== null) scopes.set(`${kind}\n${subject}`, { kind, subject });
  };
  for (const op of ops) {
    if (op.op !== 'reserve') continue;
    const { agentId, callerId, runId } = op.ask.scopes;
    add('agent', agentId);
    add('caller', callerId);
    add('run', runId);
    add(FLEET_SCOPE.kind, FLEET_SCOPE.subject);
  }
  return [...scopes.values()];
}

function reservationOf(outcome: LedgerOutcome): Reservation {
  if (!outcome.ok || !outcome.reservation) throw errorOf(outcome);
  return outcome.reservation;
}

function errorOf(outcome: LedgerOutcome | undefined): Error {
  return outcome && !outcome.ok ? outcome.error : new Error('a ledger operation had no result');
}

function failureOf(error: unknown): LedgerOutcome {
  return { ok: false, error: error instanceof DomainError ? error : new DatabaseUnavailableError(error) };
}
