import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import {
  BudgetLedger,
  type LedgerOp,
  type LedgerOutcome,
  type Reservation,
  type ReservationKey,
  type Usage,
} from '#rollcall/registry';
import { type ReservationKind, reservationOf, RUNTIME_OWNER } from './run.reservations.js';
import type { Charge, PayingRun, Spending } from './spending.js';

const FINAL = 'final' satisfies ReservationKind;
/** The errors of an operation on a reservation that has ended, or ended so long ago that it was deleted. */
const ENDED: ReadonlySet<unknown> = new Set(['RESERVATION_SETTLED', 'RESERVATION_CLOSED', 'RESERVATION_NOT_FOUND']);

/**
 * Ends the reservations of runs whose execution was interrupted. It needs only the stored steps and the ledger. All of it has no effect
 * on a reservation that has ended.
 */
@Injectable()
export class ReservationRecovery {
  constructor(private readonly ledger: BudgetLedger) {}

  /** For a run that continues: makes the charges of recorded replies, and releases all other reservations. */
  async recover(run: PayingRun, charges: readonly Charge[]): Promise<void> {
    const held = await this.heldFor(run);
    await this.apply(recoveryOf(run, held, charges, (of, usage) => this.ledger.reported(of, usage)));
  }

  /**
   * For a run that does not continue. Makes the charges of recorded replies. Charges a call in progress as reserved, because its usage is
   * unknown. Releases what is reserved for the final call. `isCalling`: a call follows the last step. The reservations of the execution
   * `except` are left to their owner.
   */
  async end(run: PayingRun, charges: readonly Charge[], isCalling: boolean, except?: string): Promise<void> {
    const usages = recordedUsage(charges);
    const isOwn = (one: Reservation): boolean => except !== undefined && nameOf(run, one).includes(`/${except}.`);
    const held = (await this.heldFor(run)).filter((one) => !isOwn(one));
    const others: LedgerOp[] = [];
    for (const one of held) {
      const name = nameOf(run, one);
      const usage = isCalling && !name.startsWith(`${FINAL}/`) ? withLostCall(one, usages.get(name)) : usages.get(name);
      if (usage) usages.set(name, usage);
      else others.push({ op: 'release', of: one });
    }
    await this.apply([...this.settlements(run, usages), ...others]);
  }

  /**
   * Makes the charges of recorded replies of several runs, also of expired reservations. A reservation stays open, because its owner may
   * still charge a call in progress. All charges are one list: two lists in one transaction would overwrite each other's budgets.
   */
  async charge(runs: readonly (PayingRun & { readonly charges: readonly Charge[] })[]): Promise<void> {
    const ops = runs.flatMap((run) =>
      [...recordedUsage(run.charges)].map(([name, usage]) =>
        this.ledger.reported(reservationOf(run, name), usage, 'charge'),
      ),
    );
    await this.apply(ops);
  }

  private settlements(run: PayingRun, usages: ReadonlyMap<string, Usage>): LedgerOp[] {
    return [...usages].map(([name, usage]) => this.ledger.reported(reservationOf(run, name), usage));
  }

  private async apply(ops: readonly LedgerOp[]): Promise<void> {
    throwUnlessEnded(await this.ledger.apply(ops));
  }

  private async heldFor({ namespace, runId }: PayingRun): Promise<Reservation[]> {
    return await this.ledger.heldFor(qualifiedId(namespace, RUNTIME_OWNER), qualifiedId(namespace, runId));
  }
}

/** The operations for a run that continues. */
export function recoveryOf(
  run: PayingRun,
  held: readonly Reservation[],
  charges: readonly Charge[],
  settlement: Spending['settlement'],
): LedgerOp[] {
  const usages = recordedUsage(charges);
  const settled = [...usages].map(([name, usage]) => settlement(reservationOf(run, name), usage));
  const released = held.filter((one) => !usages.has(nameOf(run, one)));
  return [...settled, ...released.map(({ owner, key }): LedgerOp => ({ op: 'release', of: { owner, key } }))];
}

/** Throws the first error that does not mean that the reservation has ended. */
export function throwUnlessEnded(outcomes: readonly LedgerOutcome[]): void {
  for (const outcome of outcomes) if (!outcome.ok && !isEndedError(outcome.error)) throw outcome.error;
}

/** Whether an operation failed because its reservation has ended. */
export function isEndedError(error: unknown): boolean {
  return ENDED.has(((error ?? {}) as { code?: unknown }).code);
}

/** Adds up the charges of recorded replies, by the name of the reservation. */
function recordedUsage(charges: readonly Charge[]): Map<string, Usage> {
  const usages = new Map<string, Usage>();
  for (const { key, tokens, microUsd, estimated = false } of charges) {
    const before = usages.get(key);
    usages.set(key, {
      tokens: (before?.tokens ?? 0) + tokens,
      microUsd: (before?.microUsd ?? 0) + (microUsd ?? 0),
      isEstimated: estimated || (before?.isEstimated ?? false),
    });
  }
  return usages;
}

/** Adds a call whose usage is unknown: as much as the call that the reservation was opened for, but at most what is left of it. */
function withLostCall({ held, used, ahead }: Reservation, recorded?: Usage): Usage {
  const add = (unit: 'tokens' | 'microUsd'): number => {
    const total = held[unit] + (used?.[unit] ?? 0);
    const before = recorded?.[unit] ?? 0;
    return before + Math.max(0, Math.min(total - ahead[unit], total - before));
  };
  return { tokens: add('tokens'), microUsd: add('microUsd'), isEstimated: true };
}

function nameOf({ runId }: PayingRun, { key }: ReservationKey): string {
  return key.slice(runId.length + 1);
}
