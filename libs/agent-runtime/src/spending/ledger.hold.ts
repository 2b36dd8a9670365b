import { DatabaseBusyError, DatabaseUnavailableError, qualifiedId } from '#rollcall/platform';
import type { BudgetLedger, Usage } from '#rollcall/registry';
import { tokensOf } from './charges.js';
import type { Hold, SpendingAmount } from './spending.js';

/** The principal that owns the reservations of the runtime, in each namespace. */
export const RUNTIME_OWNER = 'system:runtime';

/** Identifies the run that pays. */
export interface PayingRun {
  readonly namespace: string;
  readonly runId: string;
}

/** The reservation of a run in the ledger. */
export interface RunReservation {
  readonly owner: string;
  readonly key: string;
  /** The name of the reservation within its run. */
  readonly name: string;
}

/** One reservation in the ledger. */
export class LedgerHold implements Hold {
  private usage: Usage | undefined;
  private isEnded = false;

  constructor(
    private readonly ledger: BudgetLedger,
    private readonly of: RunReservation,
    readonly amount: SpendingAmount,
    private readonly onEnd: (hold: LedgerHold) => void,
  ) {}

  get key(): string {
    return this.of.name;
  }

  /** Resolves even if the database is unavailable: the call has ended, and the charge is repeated later. */
  async settle(usage: Parameters<Hold['settle']>[0]): Promise<void> {
    await this.settleTotal({ tokens: tokensOf(usage), microUsd: usage.costMicroUsd ?? null });
  }

  /** Like `settle`, with the usage of all calls that the reservation paid. */
  async settleTotal(usage: Usage): Promise<void> {
    this.usage ??= usage;
    await this.retrySettlement();
  }

  /** Charges what was used so far. The reservation stays open. */
  async charge(usage: Usage): Promise<void> {
    if (!this.isEnded && !this.usage) await this.ledger.charge(this.of, usage);
  }

  async release(): Promise<void> {
    if (this.isEnded || this.usage) return;
    this.end(); // first, because a hold that cannot be released must not be renewed
    await this.ledger.release(this.of);
  }

  /** Settles if the call has ended. Does not throw if the database is unavailable. */
  async retrySettlement(): Promise<void> {
    if (this.isEnded || !this.usage) return;
    try {
      await this.ledger.settleReported(this.of, this.usage);
    } catch (error) {
      if (error instanceof DatabaseUnavailableError || error instanceof DatabaseBusyError) return;
      this.end();
      throw error;
    }
    this.end();
  }

  /** Renews the reservation. A reservation that expired during an outage is not renewed: it is charged at the end of its call. */
  async keep(ttlMs: number): Promise<void> {
    try {
      await this.ledger.renew(this.of, ttlMs);
    } catch (error) {
      const code = codeOf(error);
      if (code !== 'RESERVATION_CLOSED' && code !== 'RESERVATION_NOT_FOUND') throw error;
    }
    await this.retrySettlement();
  }

  private end(): void {
    this.isEnded = true;
    this.onEnd(this);
  }
}

export function reservationOf(namespace: string, runId: string, name: string): RunReservation {
  return { owner: qualifiedId(namespace, RUNTIME_OWNER), key: `${runId}/${name}`, name };
}

export function codeOf(error: unknown): unknown {
  return ((error ?? {}) as { code?: unknown }).code;
}
