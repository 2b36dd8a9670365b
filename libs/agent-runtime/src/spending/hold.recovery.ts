import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { BudgetLedger, type Usage } from '#rollcall/registry';
import { FINAL_PREFIX } from './final.fund.js';
import { amountIn, exceeds, recordedUsage, type RecordedUsage } from './hold.key.js';
import { codeOf, type PayingRun, reservationOf, RUNTIME_OWNER } from './ledger.hold.js';
import type { Charge, SpendingAmount } from './spending.js';

const UNKNOWN = { tokens: null, microUsd: null };
/** The errors of an operation on a reservation that has ended, or ended so long ago that it was deleted. */
const ENDED: ReadonlySet<unknown> = new Set(['RESERVATION_SETTLED', 'RESERVATION_CLOSED', 'RESERVATION_NOT_FOUND']);

/** A reservation that is held for a run. */
type NamedHold = SpendingAmount & { readonly name: string };

/** Ends the holds of runs whose execution was interrupted. It needs only the stored steps and the ledger. */
@Injectable()
export class HoldRecovery {
  constructor(private readonly ledger: BudgetLedger) {}

  /** For a run that continues: makes the charges of recorded replies, and releases all other holds. */
  async recover(run: PayingRun, charges: readonly Charge[]): Promise<void> {
    await this.settle(run, recordedUsage(charges));
    await this.release(run, await this.heldFor(run));
  }

  /**
   * For a run that does not continue with its holds. Makes the charges of recorded replies. Charges a call in progress with the held
   * amount, because its usage is unknown. Releases what is held for the final call. `isCalling`: a model call follows the last step.
   */
  async end(run: PayingRun, charges: readonly Charge[], isCalling: boolean): Promise<void> {
    const usages = recordedUsage(charges);
    const held = await this.heldFor(run);
    const calls = held.filter((one) => !isFinal(one));
    for (const one of calls) usages.set(one.name, usageOfLost(one, usages.get(one.name), isCalling));
    await this.settle(run, usages);
    await this.release(run, held.filter(isFinal));
  }

  /**
   * Makes the charges of recorded replies, unless they have already been made. This also charges expired reservations. A
   * reservation that pays several calls stays open, because its owner may still charge a call in progress.
   */
  async charge({ namespace, runId }: PayingRun, charges: readonly Charge[]): Promise<void> {
    const charged = [...recordedUsage(charges)].map(async ([name, usage]) => {
      const of = reservationOf(namespace, runId, name);
      await unlessEnded(usage.isShared ? this.ledger.charge(of, usage) : this.ledger.settleReported(of, usage));
    });
    await Promise.all(charged);
  }

  private async settle({ namespace, runId }: PayingRun, usages: ReadonlyMap<string, Usage>): Promise<void> {
    const settled = [...usages].map(async ([name, usage]) => {
      await unlessEnded(this.ledger.settleReported(reservationOf(namespace, runId, name), usage));
    });
    await Promise.all(settled);
  }

  private async release({ namespace, runId }: PayingRun, held: readonly NamedHold[]): Promise<void> {
    const released = held.map(async ({ name }) => {
      await unlessEnded(this.ledger.release(reservationOf(namespace, runId, name)));
    });
    await Promise.all(released);
  }

  private async heldFor({ namespace, runId }: PayingRun): Promise<NamedHold[]> {
    const held = await this.ledger.heldFor(qualifiedId(namespace, RUNTIME_OWNER), qualifiedId(namespace, runId));
    return held.map(({ key, tokens, microUsd }) => ({ name: key.slice(runId.length + 1), tokens, microUsd }));
  }
}

function isFinal({ name }: NamedHold): boolean {
  return name.startsWith(FINAL_PREFIX);
}

/** The charge for a hold whose owner is gone. At most one of the calls that the hold pays was in progress. */
function usageOfLost(held: NamedHold, recorded: RecordedUsage | undefined, isCalling: boolean): RecordedUsage {
  const call = amountIn(held.name);
  const isShared = recorded?.isShared ?? (call !== undefined && exceeds(held, call));
  if (!call || !isShared) return recorded ?? { ...UNKNOWN, isShared };
  const { tokens, microUsd } = isCalling ? call : { tokens: 0, microUsd: 0 };
  return {
    tokens: (recorded?.tokens ?? 0) + tokens,
    microUsd: (recorded?.microUsd ?? 0) + microUsd,
    isEstimated: isCalling || (recorded?.isEstimated ?? false),
    isShared,
  };
}

async function unlessEnded(operation: Promise<unknown>): Promise<void> {
  try {
    await operation;
  } catch (error) {
    if (!ENDED.has(codeOf(error))) throw error;
  }
}
