import {
  type Counts,
  type Database,
  DatabaseBusyError,
  type DomainError,
  type NamespaceAdmission,
  NamespaceNotFoundError,
  namespaceOf,
  type Quota,
  sqlState,
} from '#rollcall/platform';
import { NotTheOwnerError } from '../../agents/agent.errors.js';
import { OwnerCounts, type QuotaWatch } from '../../owner.quota.js';
import type { BudgetEvents } from '../budget.events.js';
import type { BudgetKind } from '../budget.js';
import { type BudgetOwner, type BudgetScope, FLEET_SCOPE, type LedgerStore } from '../store/ledger.store.js';
import { BudgetShares, isBounding } from './budget.shares.js';
import { LedgerBatch } from './ledger.batch.js';
import { isRejectedReservation, type LedgerOp, type LedgerOutcome, type ReservationKey } from './ledger.operation.js';
import type { ReserveRequest } from './reservation.js';

/** What all sessions of a ledger share. */
export interface LedgerParts {
  readonly db: Database;
  readonly store: LedgerStore;
  readonly events: BudgetEvents;
  readonly namespaces: NamespaceAdmission;
  /** How many reservations one owner may hold. */
  readonly quota: Quota;
  readonly watch: QuotaWatch;
  /** The percentage of a shared budget that one owner may hold. */
  readonly share: Quota;
  /** Replaces the clock of the database in tests. */
  readonly clock?: () => number;
}

/** A reservation with one of the keys exists. The batch must be decided again, with the stored reservations. */
class KeyTakenError extends Error {}

/**
 * The ledger operations of one transaction: `lock` locks the rows that they concern, in one round trip; `apply` decides each
 * operation in memory; `write` sends the changed rows, together with COMMIT if the caller wants that.
 *
 * All writers lock in the same order: reservations by key, namespaces, budgets by id. The caller locks its own rows before.
 */
export class LedgerSession {
  private readonly rejected: ReservationKey[] = [];
  private readonly applied: AppliedOp[] = [];
  private batch?: LedgerBatch;
  private existing: ReadonlySet<string> = new Set();
  private owners = new BudgetOwners([]);

  /**
   * `looksUp`: also reads the reservations whose keys are to be opened. The first attempt does not, because such keys are almost
   * always unused; if one is used, `write` or the commit fails, and `isKeyTaken` recognises the error.
   */
  constructor(
    private readonly parts: LedgerParts,
    private readonly ops: readonly LedgerOp[],
    private readonly looksUp: boolean,
  ) {}

  async lock(): Promise<void> {
    const { store, namespaces, quota, watch, share, clock } = this.parts;
    const { ops } = this;
    const keys = keysIn(ops, this.looksUp);
    const counted = { owners: this.ownersToCount(), upTo: quota.limit, withOwners: needsOwners(ops) };
    const sharing = isBounding(share) ? sharingOwners(ops) : [];
    // one round trip: the statements are pipelined. The shares are read by a statement after the locks, so they are exact.
    const [reservations, existing, locked, shares] = await Promise.all([
      store.lockReservations(keys),
      namespaces.hold(namespacesIn(ops)),
      store.lockBudgets({ scopes: scopesIn(requestsIn(ops)), ids: idsIn(ops), reservedFor: keys }, counted),
      store.heldShares(sharing),
    ]);
    const { budgets, now, held } = locked;
    for (const owner of counted.owners) watch.noteCount(owner, held[owner] ?? 0);
    const counts = new OwnerCounts(held, quota, 'held reservations');
    this.batch = new LedgerBatch(
      budgets,
      reservations,
      clock?.() ?? now,
      counts,
      new BudgetShares(share, shares, locked.owners),
    );
    this.owners = new BudgetOwners(locked.owners);
    this.existing = existing;
  }

  /**
   * Decides operations that the session was created with, after those that were applied before. If a reservation is rejected, the
   * operations after it are not applied and have no outcome.
   */
  apply(ops: readonly LedgerOp[]): LedgerOutcome[] {
    const outcomes: LedgerOutcome[] = [];
    for (const op of ops) {
      const outcome = this.decide(op);
      this.applied.push({ op, outcome });
      outcomes.push(outcome);
      if (isRejectedReservation(op, outcome)) break;
    }
    return outcomes;
  }

  private decide(op: LedgerOp): LedgerOutcome {
    const error = namespaceError(op, this.existing) ?? this.owners.errorOf(op);
    const outcome: LedgerOutcome = error ? { ok: false, error } : this.locked.apply(op);
    if (op.op === 'reserve' && !outcome.ok) this.rejected.push(op.request);
    return outcome;
  }

  /** Sends the rows `now`, or together with the COMMIT of the open transaction, which saves a round trip. */
  async write(when: 'now' | 'with-commit'): Promise<void> {
    const { db, store } = this.parts;
    if (!this.looksUp) await this.checkRejections();
    const writes = this.locked.writes();
    const statements = store.statementsOf(writes);
    if (when === 'now') await Promise.all(statements.map(({ sql, parameters }) => db.query(sql, parameters)));
    else for (const statement of statements) db.sendWithCommit(statement);
    if (statements.length > 0) await this.parts.events.append(this.locked, writes.budgets);
    db.afterCommit(() => countOutcomes(db.counts, this.applied));
  }

  private get locked(): LedgerBatch {
    if (!this.batch) throw new Error('a session of the ledger must be locked before it is used');
    return this.batch;
  }

  private ownersToCount(): string[] {
    const added = new Map<string, number>();
    for (const { owner } of requestsIn(this.ops)) added.set(owner, (added.get(owner) ?? 0) + 1);
    return [...added].filter(([owner, count]) => this.parts.watch.mustCount(owner, count)).map(([owner]) => owner);
  }

  /** A rejected request may repeat a reservation that was granted before. Then the batch must be decided again. */
  private async checkRejections(): Promise<void> {
    if (this.rejected.length > 0 && (await this.parts.store.isAnyKnown(this.rejected))) throw new KeyTakenError();
  }
}

const UNIQUE_VIOLATION = '23505';
const MAX_ATTEMPTS = 5;

/** Runs a transaction with a session. If a key is taken, runs it again with `looksUp`. */
export async function repeatIfTaken<Result>(
  transaction: (looksUp: boolean) => Promise<Result>,
  attempts = MAX_ATTEMPTS,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction(attempt > 1);
    } catch (error) {
      if (!isKeyTaken(error)) throw error;
      if (attempt >= attempts) throw new DatabaseBusyError(error);
    }
  }
}

/** Whether the session must be repeated with `looksUp`. */
function isKeyTaken(error: unknown): boolean {
  if (error instanceof KeyTakenError) return true;
  const { constraint } = (error ?? {}) as { constraint?: unknown };
  return sqlState(error) === UNIQUE_VIOLATION && constraint === 'budget_reservation_pkey';
}

export function scopesIn(requests: readonly Pick<ReserveRequest, 'owner' | 'scopes'>[]): BudgetScope[] {
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

/**
 * Rejects a reservation of a principal that may spend only for itself, if the reservation names an agent or a run of another owner. The
 * budgets above a run, and those of the caller, the namespace and the fleet, need no check.
 */
export class BudgetOwners {
  private readonly owners: ReadonlyMap<string, string | null>;

  constructor(owners: readonly BudgetOwner[]) {
    this.owners = new Map(owners.map(({ kind, subject, owner }) => [scopeOf(kind, subject), owner]));
  }

  /** Ignores subjects without a budget, because the ledger reports them. */
  errorOf(op: LedgerOp): DomainError | undefined {
    if (op.op !== 'reserve' || op.request.onlyOwnedBy === undefined) return undefined;
    const { onlyOwnedBy, scopes } = op.request;
    const isOwnedByOther = (kind: BudgetKind, subject: string): boolean => {
      const owner = this.owners.get(scopeOf(kind, subject));
      return owner !== undefined && owner !== onlyOwnedBy;
    };
    const { agentId, runId } = scopes;
    if (agentId !== null && isOwnedByOther('agent', agentId)) return NotTheOwnerError.ofSpending(agentId);
    if (runId !== null && isOwnedByOther('run', runId)) return NotTheOwnerError.ofRun(runId);
    return undefined;
  }
}

/** The owners that may hold only their share of a budget. */
function sharingOwners(ops: readonly LedgerOp[]): string[] {
  return [...new Set(requestsIn(ops).flatMap(({ owner, shareOf }) => (shareOf === undefined ? [] : [owner])))];
}

/** Whether an operation of the batch needs the owners. */
export function needsOwners(ops: readonly LedgerOp[]): boolean {
  return requestsIn(ops).some(({ onlyOwnedBy, shareOf }) => onlyOwnedBy !== undefined || typeof shareOf === 'string');
}

const scopeOf = (kind: BudgetKind, subject: string): string => `${kind}\n${subject}`;

interface AppliedOp {
  readonly op: LedgerOp;
  readonly outcome: LedgerOutcome;
}

/** Counts what a committed batch reserved, charged and rejected. A repeated operation counts once. */
function countOutcomes(counts: Counts, applied: readonly AppliedOp[]): void {
  for (const {
    op: { op },
    outcome,
  } of applied) {
    if (!outcome.ok) {
      if (outcome.error.code === 'BUDGET_EXHAUSTED') counts.add('budget.refused');
    } else if (op === 'reserve' && !outcome.replayed) {
      counts.add('budget.reserved');
    } else if (outcome.charged) {
      counts.add('budget.tokens', outcome.charged.tokens);
      counts.add('budget.micro_usd', outcome.charged.microUsd);
    }
  }
}
