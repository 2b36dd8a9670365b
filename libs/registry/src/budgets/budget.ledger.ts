import { Injectable } from '@nestjs/common';
import {
  Database,
  DatabaseBusyError,
  DatabaseUnavailableError,
  DomainError,
  GroupCommit,
  NamespaceAdmission,
  namespaceOf,
  NamespaceNotFoundError,
  type Quota,
  StopsIn,
} from '#rollcall/platform';
import { QuotaWatch } from '../quota.watch.js';
import type { Budget } from './budget.js';
import { ReservationNotFoundError } from './budget.errors.js';
import { BudgetEvents } from './budget.events.js';
import type { Correction } from './correction.js';
import { OwnerCounts } from '../owner.counts.js';
import { countOutcomes } from './ledger.counts.js';
import { BudgetOwners, needsOwners } from './budget.owners.js';
import { LedgerBatch, type LedgerOp, type ReservationKey } from './ledger.batch.js';
import type { LedgerOutcome } from './ledger.outcome.js';
import {
  FLEET_SCOPE,
  LedgerStore,
  type BudgetScope,
  type CountedOwners,
  type HeldAmount,
  type LockedBudgets,
} from './ledger.store.js';
import {
  checkAmount,
  checkRequest,
  checkKey,
  checkTtl,
  type Reservation,
  type ReserveRequest,
  type Usage,
} from './reservation.js';
import { checkLife, checkSize, type Spender, type SpendingLimits } from './spending.limits.js';

export interface LedgerRules {
  limits: SpendingLimits;
  /** How many reservations one owner may hold. */
  quota: Quota;
  /** Replaces the clock of the database in tests. */
  clock?: () => number;
}

/** The part of a request that names its budgets. */
type ScopedRequest = Pick<ReserveRequest, 'owner' | 'scopes'>;

const MAX_BATCH = 500;
const MAX_ATTEMPTS = 5;
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
  private readonly group: GroupCommit<LedgerOp, LedgerOutcome>;
  private readonly watch: QuotaWatch;

  constructor(
    private readonly db: Database,
    private readonly store: LedgerStore,
    private readonly events: BudgetEvents,
    private readonly namespaces: NamespaceAdmission,
    private readonly rules: LedgerRules,
  ) {
    this.watch = new QuotaWatch(rules.quota);
    this.group = new GroupCommit<LedgerOp, LedgerOutcome>(db, {
      name: 'ledger',
      maxBatch: MAX_BATCH,
      commit: async (ops) => await this.applyAll(ops),
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
  async heldFor(owner: string, runId: string): Promise<HeldAmount[]> {
    return await this.store.heldFor(owner, runId);
  }

  async correct(correction: Correction): Promise<Budget> {
    const [outcome] = await this.applyAll([{ op: 'correct', correction }]);
    if (!outcome?.ok || !outcome.budget) throw errorOf(outcome);
    return outcome.budget;
  }

  /** Applies all operations in one transaction. Returns one outcome for each operation. */
  async applyAll(ops: readonly LedgerOp[]): Promise<LedgerOutcome[]> {
    const joined = this.db.inTransaction;
    for (let attempt = 1; ops.length > 0; attempt++) {
      try {
        // the first attempt does not look up the keys of new reservations, because they are almost always unused
        const outcomes = await this.db.transaction(async () => await this.decide(ops, joined || attempt > 1));
        this.db.afterCommit(() => countOutcomes(this.db.counts, ops, outcomes));
        return outcomes;
      } catch (error) {
        if (!(error instanceof KeyTakenError)) throw error;
        if (joined || attempt === MAX_ATTEMPTS) throw new DatabaseBusyError(error);
      }
    }
    return [];
  }

  /** Throws unless the namespace exists. It cannot be deleted until the open transaction ends. */
  async holdNamespace(name: string): Promise<void> {
    if (!(await this.namespaces.hold([name])).has(name)) throw new NamespaceNotFoundError(name);
  }

  /**
   * Locks these reservations, and the budgets that they and these requests concern, until the open transaction ends. A transaction with
   * several operations calls it first: if each operation locked its own budgets, two such transactions could wait for each other.
   */
  async lock(of: readonly ReservationKey[], requests: readonly ScopedRequest[]): Promise<void> {
    const reservations = await this.store.lockReservations(of);
    const ids = reservations.flatMap(({ budgetIds }) => budgetIds);
    await this.store.lockBudgets(scopesIn(requests), [...new Set(ids)], NO_OWNERS);
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
    await this.write(batch);
  }

  /** Resolves when no operation is in progress. */
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
    const counted = { owners: this.ownersToCount(ops), upTo: quota.limit, withOwners: needsOwners(ops) };
    // one round trip: the statements are pipelined
    const [existing, locked] = await Promise.all([
      this.namespaces.hold(namespacesIn(ops)),
      this.store.lockBudgets(scopesIn(requestsIn(ops)), [...new Set(ids)], counted),
    ]);
    const { budgets, now, held } = locked;
    for (const owner of counted.owners) this.watch.noteCount(owner, held[owner] ?? 0);
    const batch = new LedgerBatch(
      budgets,
      reservations,
      clock?.() ?? now,
      new OwnerCounts(held, quota, 'held reservations'),
    );
    const owners = new BudgetOwners(locked.owners);
    const outcomes = ops.map((op): LedgerOutcome => {
      const error = namespaceError(op, existing) ?? owners.errorOf(op);
      return error ? { ok: false, error } : batch.apply(op);
    });
    if (!lookUp) await this.checkRejections(ops, outcomes);
    await this.write(batch);
    return outcomes;
  }

  private async write(batch: LedgerBatch): Promise<void> {
    const writes = batch.writes();
    const { budgets: changed, opened, renewed, charged, closed } = writes;
    if (changed.length + opened.length + renewed.length + charged.length + closed.length === 0) return;
    if ((await this.store.write(writes)) < opened.length) throw new KeyTakenError();
    await this.events.append(batch, changed);
  }

  private ownersToCount(ops: readonly LedgerOp[]): string[] {
    const added = new Map<string, number>();
    for (const op of ops) if (op.op === 'reserve') added.set(op.request.owner, (added.get(op.request.owner) ?? 0) + 1);
    return [...added].filter(([owner, count]) => this.watch.mustCount(owner, count)).map(([owner]) => owner);
  }

  /** A rejected request may repeat a reservation that was granted before. Then the batch must be decided again. */
  private async checkRejections(ops: readonly LedgerOp[], outcomes: readonly LedgerOutcome[]): Promise<void> {
    const rejected = ops.filter((op, index) => op.op === 'reserve' && !outcomes[index]?.ok);
    if (rejected.length > 0 && (await this.store.isAnyKnown(keysIn(rejected, true)))) throw new KeyTakenError();
  }
}

/** A reservation with one of the keys exists. The batch must be decided again, with the stored reservations. */
class KeyTakenError extends Error {}

function keysIn(ops: readonly LedgerOp[], alsoNew: boolean): ReservationKey[] {
  return ops.flatMap((op) => ('of' in op ? [op.of] : op.op === 'reserve' && alsoNew ? [op.request] : []));
}

function idsIn(ops: readonly LedgerOp[]): number[] {
  return ops.flatMap((op) => (op.op === 'correct' ? [op.correction.budgetId] : op.op === 'roll' ? [op.budgetId] : []));
}

/** The namespaces of the new reservations. */
function namespacesIn(ops: readonly LedgerOp[]): string[] {
  return [...new Set(requestsIn(ops).map(({ owner }) => namespaceOf(owner)))];
}

function namespaceError(op: LedgerOp, existing: ReadonlySet<string>): DomainError | undefined {
  if (op.op !== 'reserve') return undefined;
  const namespace = namespaceOf(op.request.owner);
  return existing.has(namespace) ? undefined : new NamespaceNotFoundError(namespace);
}

function requestsIn(ops: readonly LedgerOp[]): ReserveRequest[] {
  return ops.flatMap((op) => (op.op === 'reserve' ? [op.request] : []));
}

function scopesIn(requests: readonly ScopedRequest[]): BudgetScope[] {
  const found = new Map<string, BudgetScope>();
  const add = (kind: BudgetScope['kind'], subject: string | null): void => {
    if (subject !== null) found.set(`${kind}\n${subject}`, { kind, subject });
  };
  for (const { owner, scopes } of requests) {
    const { agentId, callerId, runId } = scopes;
    add('agent', agentId);
    add('caller', callerId);
    add('run', runId);
    add('namespace', namespaceOf(owner));
    add(FLEET_SCOPE.kind, FLEET_SCOPE.subject);
  }
  return [...found.values()];
}

function reservationOf(outcome: LedgerOutcome): Reservation {
  if (!outcome.ok || !outcome.reservation) throw errorOf(outcome);
  return outcome.reservation;
}

function errorOf(outcome: LedgerOutcome | undefined): Error {
  return outcome && !outcome.ok ? outcome.error : new Error('a ledger operation returned no result');
}

function failureOf(error: unknown): LedgerOutcome {
  return { ok: false, error: error instanceof DomainError ? error : new DatabaseUnavailableError(error) };
}
