import { Injectable } from '@nestjs/common';
import {
  Database,
  DatabaseUnavailableError,
  DomainError,
  GroupCommit,
  NamespaceAdmission,
  NamespaceNotFoundError,
  type Quota,
  StopsIn,
} from '#rollcall/platform';
import { QuotaWatch } from '../../owner.quota.js';
import { ReservationNotFoundError } from '../budget.errors.js';
import { BudgetEvents } from '../budget.events.js';
import type { Budget } from '../budget.js';
import { type CountedOwners, LedgerStore, type LockedBudgets } from '../store/ledger.store.js';
import { LedgerBatch } from './ledger.batch.js';
import type { Correction, LedgerOp, LedgerOutcome, ReservationKey } from './ledger.operation.js';
import { type LedgerParts, LedgerSession, repeatIfTaken, scopesIn } from './ledger.session.js';
import {
  checkAmount,
  checkKey,
  checkRequest,
  checkTtl,
  countable,
  type Reservation,
  type ReserveRequest,
  type Usage,
} from './reservation.js';
import { checkLife, checkSize, type Spender, type SpendingLimits } from './spending.limits.js';

interface LedgerRules {
  limits: SpendingLimits;
  /** How many reservations one owner may hold. */
  quota: Quota;
  /** The percentage of a shared budget that one owner may hold. */
  share: Quota;
  /** Replaces the clock of the database in tests. */
  clock?: () => number;
}

/** The part of a request that names its budgets. */
type ScopedRequest = Pick<ReserveRequest, 'owner' | 'scopes'>;

/** The outcomes of a list of operations, or the error if its batch could not be committed. */
type GroupResult = readonly LedgerOutcome[] | { readonly error: Error };

const MAX_BATCH = 500;
const NO_OWNERS: CountedOwners = { owners: [], upTo: 0, withOwners: false };

/**
 * Reserves, settles and releases amounts, exact to the token. Before a call, a reservation sets aside an amount on every budget
 * that the call concerns, all or nothing. After the call, the caller settles what was really used, or releases the reservation.
 * Reservations together never exceed a limit, even if processes race or crash. Only a call that uses more than it reserved can
 * exceed a limit; the next reservation is then rejected.
 *
 * Operations commit in groups, so many callers of a hot budget share one lock and one commit. Inside a transaction of the caller,
 * an operation is part of that transaction instead.
 */
@Injectable()
export class BudgetLedger {
  private readonly group: GroupCommit<readonly LedgerOp[], GroupResult>;
  private readonly parts: LedgerParts;

  constructor(
    private readonly db: Database,
    private readonly store: LedgerStore,
    private readonly events: BudgetEvents,
    private readonly namespaces: NamespaceAdmission,
    private readonly rules: LedgerRules,
  ) {
    const { quota, share, clock } = rules;
    this.parts = { db, store, events, namespaces, quota, share, clock, watch: new QuotaWatch(quota) };
    this.group = new GroupCommit<readonly LedgerOp[], GroupResult>(db, {
      name: 'ledger',
      maxBatch: MAX_BATCH,
      commit: async (lists) => await this.commit(lists),
      failure: failureOf,
      failsAll: (error) => error instanceof DatabaseUnavailableError,
    });
  }

  /** The limits of `limited` callers. */
  get limits(): SpendingLimits {
    return this.rules.limits;
  }

  async reserve(request: ReserveRequest, spender: Spender = 'trusted'): Promise<Reservation> {
    checkRequest(request);
    if (spender === 'limited') checkSize(request, this.rules.limits);
    return reservationOf(await this.run({ op: 'reserve', request }));
  }

  /**
   * Charges the usage in full. A repeated settlement returns the result of the first one, or is rejected if its amount differs. A
   * `limited` caller that exceeds its limit is rejected: nothing is charged, and the reservation stays open.
   */
  async settle(of: ReservationKey, usage: Usage, spender: Spender = 'trusted'): Promise<Reservation> {
    checkKey(of);
    checkAmount({ tokens: usage.tokens ?? 0, microUsd: usage.microUsd ?? 0 });
    const atMostTimes = spender === 'limited' ? this.rules.limits.settleMultiple : 0;
    return reservationOf(await this.run({ op: 'settle', of, usage, atMostTimes }));
  }

  /**
   * Settles with a usage that somebody outside reports, such as an agent or a vendor. It charges at most the multiple of the reservation
   * that limits callers, so one wrong number cannot exhaust a budget (S-6). The ledger line states a usage that exceeds this limit.
   */
  async settleReported(of: ReservationKey, usage: Usage): Promise<Reservation> {
    checkKey(of);
    return reservationOf(await this.run(this.reported(of, usage)));
  }

  /** The operation of `settleReported`, or the same for a part of the reservation, which stays open. */
  reported(of: ReservationKey, usage: Usage, op: 'settle' | 'charge' = 'settle'): LedgerOp {
    const { settleMultiple: atMostTimes } = this.rules.limits;
    return { op, of, usage: countable(usage), atMostTimes, isCapped: true };
  }

  /**
   * Charges a part of a reservation, which stays open. `usage` is the total so far: a repeated charge has no effect, and the
   * settlement charges only what exceeds it.
   */
  async charge(of: ReservationKey, usage: Usage): Promise<Reservation> {
    checkKey(of);
    checkAmount({ tokens: usage.tokens ?? 0, microUsd: usage.microUsd ?? 0 });
    return reservationOf(await this.run({ op: 'charge', of, usage }));
  }

  async release(of: ReservationKey): Promise<Reservation> {
    checkKey(of);
    return reservationOf(await this.run({ op: 'release', of }));
  }

  /** Extends a reservation for a call that takes longer than expected. It never shortens a reservation. */
  async renew(of: ReservationKey, ttlMs: number, spender: Spender = 'trusted'): Promise<Reservation> {
    checkKey(of);
    checkTtl(ttlMs);
    if (spender === 'limited') checkLife(ttlMs, this.rules.limits);
    return reservationOf(await this.run({ op: 'renew', of, ttlMs }));
  }

  async get(of: ReservationKey): Promise<Reservation> {
    const found = await this.store.find(of);
    if (!found) throw new ReservationNotFoundError(of.key);
    return found;
  }

  /** The reservations that the owner holds for a run. */
  async heldFor(owner: string, runId: string): Promise<Reservation[]> {
    return await this.store.heldFor(owner, runId);
  }

  async correct(correction: Correction): Promise<Budget> {
    const [outcome] = await this.applyAll([{ op: 'correct', correction }]);
    if (!outcome?.ok || !outcome.budget) throw errorOf(outcome);
    return outcome.budget;
  }

  /**
   * Applies the operations in order and commits them together, in the open transaction if there is one. If a reservation is rejected,
   * the operations after it are not applied and have no outcome.
   */
  async apply(ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]> {
    for (const op of ops) checkOp(op);
    if (ops.length === 0) return [];
    const result = this.db.inTransaction ? (await this.commit([ops]))[0] : await this.group.run(ops);
    if (!Array.isArray(result)) throw (result as { error: unknown }).error;
    return result as readonly LedgerOutcome[];
  }

  /** Applies all operations in one transaction of their own. Returns one outcome for each operation. */
  async applyAll(ops: readonly LedgerOp[]): Promise<LedgerOutcome[]> {
    return (await this.commit(ops.map((op) => [op]))).flat();
  }

  /** A session for operations that are a part of the open transaction of the caller. */
  session(ops: readonly LedgerOp[], looksUp: boolean): LedgerSession {
    for (const op of ops) checkOp(op);
    return new LedgerSession(this.parts, ops, looksUp);
  }

  private async commit(lists: readonly (readonly LedgerOp[])[]): Promise<LedgerOutcome[][]> {
    const joined = this.db.inTransaction;
    const ops = lists.flat();
    if (ops.length === 0) return lists.map(() => []);
    return await repeatIfTaken(
      async (isRepeated) => {
        const session = new LedgerSession(this.parts, ops, joined || isRepeated);
        return await this.db.transaction(async () => {
          await session.lock();
          const outcomes = lists.map((list) => session.apply(list));
          await session.write(joined ? 'now' : 'with-commit');
          return outcomes;
        });
      },
      joined ? 1 : undefined,
    );
  }

  /** Throws unless the namespace exists. It cannot be deleted until the open transaction ends. */
  async lockNamespace(name: string): Promise<void> {
    if (!(await this.namespaces.hold([name])).has(name)) throw new NamespaceNotFoundError(name);
  }

  /**
   * Locks these reservations, and the budgets that they and these requests concern, until the open transaction ends. A transaction with
   * several operations calls it first: if each operation locked its own budgets, two such transactions could wait for each other.
   */
  async lock(of: readonly ReservationKey[], requests: readonly ScopedRequest[]): Promise<void> {
    const budgets = { scopes: scopesIn(requests), ids: [], reservedFor: of };
    await Promise.all([this.store.lockReservations(of), this.store.lockBudgets(budgets, NO_OWNERS)]);
  }

  /** Locks the budgets of these agents until the open transaction ends, and returns them. */
  async lockAgents(agentIds: readonly string[]): Promise<LockedBudgets> {
    return await this.store.lockAgents(agentIds);
  }

  /** Corrects budgets that the caller has locked in the open transaction. */
  async correctLocked({ budgets, now }: LockedBudgets, corrections: readonly Correction[]): Promise<void> {
    if (corrections.length === 0) return;
    const batch = new LedgerBatch(budgets, [], this.rules.clock?.() ?? now);
    for (const correction of corrections) batch.apply({ op: 'correct', correction });
    const writes = batch.writes();
    await Promise.all(this.store.statementsOf(writes).map(({ sql, parameters }) => this.db.query(sql, parameters)));
    await this.events.append(batch, writes.budgets);
  }

  /** Resolves when no operation is in progress. */
  @StopsIn('writes')
  async idle(): Promise<void> {
    await this.group.idle();
  }

  private async run(op: LedgerOp): Promise<LedgerOutcome> {
    const [outcome] = await this.apply([op]);
    if (!outcome) throw errorOf(outcome);
    return outcome;
  }
}

/** Validates an operation before it joins a batch, because one invalid operation would make the whole batch fail. */
function checkOp(op: LedgerOp): void {
  if (op.op === 'reserve') checkRequest(op.request);
  else if (op.op === 'raise') checkAmount(op.to);
  else if (op.op === 'settle' || op.op === 'charge')
    checkAmount({ tokens: op.usage.tokens ?? 0, microUsd: op.usage.microUsd ?? 0 });
}

function reservationOf(outcome: LedgerOutcome): Reservation {
  if (!outcome.ok || !outcome.reservation) throw errorOf(outcome);
  return outcome.reservation;
}

function errorOf(outcome: LedgerOutcome | undefined): Error {
  return outcome && !outcome.ok ? outcome.error : new Error('a ledger operation returned no result');
}

function failureOf(error: unknown): GroupResult {
  return { error: error instanceof DomainError ? error : new DatabaseUnavailableError(error) };
}
