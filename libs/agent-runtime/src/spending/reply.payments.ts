import { settleAll } from './charges.js';
import type { Awaitable, Charge, ChargeTime, Hold } from './spending.js';

interface OpenPayment {
  readonly turn: number;
  readonly holds: readonly Hold[];
  readonly charges: readonly Charge[];
  /** Whether the reader has the step of the reply. */
  isRead: boolean;
}

/**
 * Pays for the replies of one run, each after its step is stored. If the run is interrupted before the step is stored, the reply is
 * neither recorded nor paid. If it is interrupted later, the step contains the charges, and they are made when the run resumes.
 */
export class ReplyPayments {
  private open?: OpenPayment;
  private isClosed = false;

  /** Adds the payment of a reply that has arrived. It is settled at once if the run has already ended. */
  add(turn: number, holds: readonly Hold[], charges: readonly Charge[]): Awaitable<void> {
    if (this.isClosed) return settleAll(holds, charges);
    this.open = { turn, holds, charges, isRead: false };
  }

  /** The charges of the reply of this turn, for its step. The reader receives the step now. */
  read(turn: number): readonly Charge[] | undefined {
    if (this.open?.turn !== turn) return undefined;
    this.open.isRead = true;
    return this.open.charges;
  }

  /** Whether the reader received the step of an unpaid reply. When it asks for the next event, it has stored the step. */
  get isDue(): boolean {
    return this.open?.isRead ?? false;
  }

  get isOpen(): boolean {
    return this.open !== undefined;
  }

  /** Settles the open payment. Use `later` only if the step of the reply is stored. */
  settle(when: ChargeTime): Awaitable<void> {
    const payment = this.open;
    this.open = undefined;
    return payment && settleAll(payment.holds, payment.charges, when);
  }

  /** Pays for a reply that has no stored step, because the run ended before the step was stored. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.settle('now');
  }
}
