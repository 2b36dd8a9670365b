import { qualifiedId } from '#rollcall/platform';
import type { Budget, LedgerOp, LedgerOutcome, Reservation, ReservationKey, Scopes, Usage } from '#rollcall/registry';
import { limitError } from './spending.errors.js';
import {
  NO_LIMIT,
  type OpenAccount,
  type PayingRun,
  type BudgetUsage,
  type RunWriter,
  type Spending,
  type SpendingAmount,
} from './spending.js';

/** The principal that owns the reservations of the runtime, in each namespace. */
export const RUNTIME_OWNER = 'system:runtime';
/** After a crash, the reservations of the process expire after this time. */
export const TTL_MS = 120_000;
export const NOTHING: SpendingAmount = { tokens: 0, microUsd: 0 };

/** `calls`: model calls, one after the other. `final`: the final call. `call`: one call of an agent that has its own loop. */
export type ReservationKind = 'calls' | 'final' | 'call';

/** The run that pays, and who else is charged if it has a budget. */
export interface Payer extends PayingRun {
  readonly agentId: string | null;
  /** The principal that started the run; null if no principal did. */
  readonly callerId: string | null;
}

export interface ReservationTerms {
  readonly amount: SpendingAmount;
  /** The price of the call is unknown. */
  readonly isUnpriced: boolean;
  /** If fewer tokens are left, reserve what is left, but at least this many. */
  readonly atLeastTokens?: number;
  /** Also reserve this for later calls, if the budgets have plenty left. */
  readonly ahead?: SpendingAmount;
}

/** A reservation to open or to raise. */
export interface WantedReservation {
  readonly op: LedgerOp;
  accept(stored: Reservation): void;
  /** What to try if `op` is rejected with this error. */
  instead?(error: unknown): WantedReservation | undefined;
}

interface Rejected {
  readonly wanted: WantedReservation;
  readonly error: Error;
}

/** An amount that is reserved for calls of a run. */
export class RunReservation {
  /** What calls that have ended used. */
  used = NOTHING;
  /** The part of `used` that belongs to stored steps. */
  stored = NOTHING;
  isEstimated = false;
  /** The amount of the call in progress. */
  lent?: SpendingAmount;
  /** The part of `used` that the budgets were charged. */
  charged = NOTHING;
  /** It could not be renewed: it has expired. What was used is charged when it ends. */
  isOver = false;

  constructor(
    readonly name: string,
    readonly of: ReservationKey,
    readonly isUnpriced: boolean,
    /** The whole amount, with what is used. */
    public amount: SpendingAmount,
  ) {}

  /** What is left for further calls. */
  get left(): SpendingAmount {
    const { amount, used } = this;
    return { tokens: amount.tokens - used.tokens, microUsd: amount.microUsd - used.microUsd };
  }

  /** Whether it can pay one more call. */
  covers({ tokens, microUsd }: SpendingAmount): boolean {
    return !this.lent && !this.isOver && this.left.tokens >= tokens && this.left.microUsd >= microUsd;
  }

  use({ tokens, microUsd }: SpendingAmount, isEstimated: boolean): void {
    this.used = { tokens: this.used.tokens + tokens, microUsd: this.used.microUsd + microUsd };
    this.isEstimated ||= isEstimated;
    this.lent = undefined;
  }

  /** What is used and not charged yet. */
  get uncharged(): SpendingAmount {
    const { used, charged } = this;
    return { tokens: used.tokens - charged.tokens, microUsd: used.microUsd - charged.microUsd };
  }

  /** What the budgets are charged in the end. A call that has not ended may be billed, so it is charged as reserved. */
  get total(): Usage {
    const { tokens, microUsd } = this.lent ?? NOTHING;
    const isEstimated = this.isEstimated || this.lent !== undefined;
    return { tokens: this.used.tokens + tokens, microUsd: this.used.microUsd + microUsd, isEstimated };
  }
}

/** The reservations of one execution of a run. It ends all of them when it is closed. */
export class RunReservations implements OpenAccount {
  private open: readonly RunReservation[] = [];
  private count = 0;
  private isClosed = false;

  constructor(
    private readonly spending: Spending,
    readonly run: Payer,
    private readonly writer: RunWriter,
    /** The usage of the run, without what its open reservations have not charged yet. */
    private known: BudgetUsage = { own: NOTHING, subtree: NOTHING, reserved: NOTHING, limit: NO_LIMIT },
  ) {}

  /** The usage of the run and its descendants. */
  get used(): SpendingAmount {
    let { tokens, microUsd } = this.known.subtree;
    for (const { uncharged } of this.open) {
      tokens += uncharged.tokens;
      microUsd += uncharged.microUsd;
    }
    return { tokens, microUsd };
  }

  get limit(): BudgetUsage['limit'] {
    return this.known.limit;
  }

  /** From now on, the usage includes what delegated runs of this process use. */
  follow(): void {
    this.spending.accounts.add(this);
  }

  /** A new reservation. `opened` is called when it is stored. */
  wanted(
    kind: ReservationKind,
    terms: ReservationTerms,
    opened: (reservation: RunReservation) => void,
  ): WantedReservation {
    const name = `${kind}/${this.writer.execution}.${(this.count += 1)}`;
    const of = reservationOf(this.run, name);
    const request = { ...of, scopes: scopesOf(this.run), agentMayLackBudget: true, ttlMs: TTL_MS, ...terms };
    return {
      op: { op: 'reserve', request },
      accept: ({ held }) => {
        const reservation = new RunReservation(name, of, terms.isUnpriced, held);
        this.open = [...this.open, reservation];
        this.follow();
        opened(reservation);
      },
    };
  }

  /**
   * Ends reservations and opens others in one commit, in this order. Rejects with `SpendingLimitError` if one is rejected. Also stores
   * the steps that were yielded before.
   */
  async change(ended: readonly RunReservation[], wanted: readonly WantedReservation[]): Promise<void> {
    const outcomes = await this.apply([...ended.map((one) => this.ending(one)), ...wanted.map(({ op }) => op)]);
    if (ended.length > 0) this.open = this.open.filter((one) => !ended.includes(one));
    const rejected = this.accept(wanted, outcomes.slice(ended.length));
    if (this.isClosed) await this.close(); // the run ended during the commit
    if (!rejected) return;
    const error = limitError(rejected.error);
    const other = rejected.wanted.instead?.(error);
    if (!other || this.isClosed) throw error;
    await this.change([], [other, ...wanted.slice(wanted.indexOf(rejected.wanted) + 1)]);
  }

  /** Ends all reservations, together with the execution. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.spending.accounts.remove(this);
    const ops = this.open.map((one) => this.ending(one));
    this.open = [];
    if (ops.length > 0) await this.writer.close(ops);
  }

  /** Leaves all reservations to the next execution of the run. */
  async leave(): Promise<void> {
    this.isClosed = true;
    this.spending.accounts.remove(this);
    this.open = [];
    return await Promise.resolve();
  }

  /** A reservation that has expired is not charged here, because that would settle it while a call may still be in progress. */
  async keep(): Promise<void> {
    const { open } = this;
    if (open.length === 0) return;
    const renewed = await this.spending.apply(open.map(({ of }) => ({ op: 'renew', of, ttlMs: TTL_MS })));
    for (const [index, one] of open.entries()) one.isOver = !renewed[index]?.ok;
    const due = open.filter(({ isOver, stored, charged }) => !isOver && stored !== charged);
    const charges = due.map((one) => [one, one.stored] as const);
    await this.spending.apply(charges.map(([{ of }, usage]) => this.spending.partialCharge(of, usage)));
    for (const [one, usage] of charges) one.charged = usage;
  }

  private async apply(ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]> {
    const outcomes = await this.writer.commit(ops);
    for (const reservation of this.open) reservation.stored = reservation.used;
    return outcomes;
  }

  /** Accepts reservations up to the first that is rejected, and returns that one. */
  private accept(wanted: readonly WantedReservation[], outcomes: readonly LedgerOutcome[]): Rejected | undefined {
    for (const [index, one] of wanted.entries()) {
      const outcome = outcomes[index];
      if (outcome && !outcome.ok) return { wanted: one, error: outcome.error };
      if (outcome?.reservation) one.accept(outcome.reservation);
    }
    return undefined;
  }

  /** Charges what was used, and returns the rest to the budgets. */
  private ending({ of, total }: RunReservation): LedgerOp {
    const isUnused = total.tokens === 0 && total.microUsd === 0;
    return isUnused ? { op: 'release', of } : this.spending.settlement(of, total);
  }

  /** The usage never decreases, and outcomes may arrive in another order than they were committed. */
  note({ used, own, reserved, limit }: Budget): void {
    if (used.tokens < this.known.subtree.tokens || used.microUsd < this.known.subtree.microUsd) return;
    this.known = { own, subtree: used, reserved, limit };
  }
}

export function reservationOf({ namespace, runId }: PayingRun, name: string): ReservationKey {
  return { owner: qualifiedId(namespace, RUNTIME_OWNER), key: `${runId}/${name}` };
}

/** The budgets that pay for a call of a run: of the run, its agent and its caller. The ledger adds the runs above it, the namespace and the fleet. */
function scopesOf({ namespace, runId, agentId, callerId }: Payer): Scopes {
  const qualified = (id: string | null): string | null => (id === null ? null : qualifiedId(namespace, id));
  return { agentId: qualified(agentId), callerId: qualified(callerId), runId: qualifiedId(namespace, runId) };
}
