import { Injectable } from '@nestjs/common';
import { QuotaExceededError } from '#rollcall/platform';
import { type Amount, UNITS } from '../../budgets/budget.js';
import { BudgetLedger } from '../../budgets/ledger/budget.ledger.js';
import { MAX_TTL_MS, type Scopes } from '../../budgets/ledger/reservation.js';
import { RegistryError } from '../../errors.js';
import type { Contract, ContractOutcome, ContractReserve, Participant } from '../contract.js';

/** The reservation is kept this much longer than the bid says, up to the limit of a reservation, so that the outcome can be reported. */
const MARGIN_MS = 60_000;

/**
 * The reservation of each award, in the transaction of the award. It belongs to the announcer, so the announcer can also settle it
 * like any other reservation.
 */
@Injectable()
export class ContractReservations {
  constructor(private readonly ledger: BudgetLedger) {}

  /** Returns a message if no award could reserve this amount. */
  faultOf({ tokens, microUsd }: ContractReserve): string | undefined {
    const { largest } = this.ledger.limits;
    const amount: Amount = { tokens, microUsd: microUsd ?? 0 };
    const unit = UNITS.find((one) => largest[one] > 0 && amount[one] > largest[one]);
    return unit && `reserve.${unit} must be at most ${largest[unit]}, which is the limit of one reservation.`;
  }

  /** Locks the reservation of the current award, and the budgets of an award to each of these agents. */
  async lock(contract: Contract, agentIds: readonly string[]): Promise<void> {
    const requests = agentIds.map((agentId) => ({ owner: contract.payer, scopes: scopesOf(contract, agentId) }));
    await this.ledger.lock([keyOf(contract)], requests);
  }

  /** If the budgets do not allow the award, reserves nothing and returns the code of the error. */
  async reserve(contract: Contract, { agentId, offer }: Participant): Promise<string | undefined> {
    const { reserve, confirmWithinMs } = contract;
    const { price = 0, etaMs = 0 } = offer ?? {};
    const longestMs = this.ledger.limits.longestMs || MAX_TTL_MS;
    const ttlMs = Math.min(longestMs, confirmWithinMs + etaMs + MARGIN_MS);
    const amount = { tokens: reserve.tokens, microUsd: reserve.microUsd ?? price };
    const scopes = scopesOf(contract, agentId);
    try {
      await this.ledger.reserve({ ...keyOf(contract), scopes, shareOf: null, amount, ttlMs }, 'limited');
      return undefined;
    } catch (error) {
      if (error instanceof RegistryError || error instanceof QuotaExceededError) return error.code;
      throw error;
    }
  }

  async release(contract: Contract): Promise<void> {
    await ifOpen(this.ledger.release(keyOf(contract)));
  }

  /** Charges the actual cost. The charge in each unit is at most the limit of its reservation (`settleMultiple`). */
  async settle(contract: Contract, { tokens, microUsd }: ContractOutcome): Promise<void> {
    await ifOpen(this.ledger.settleReported(keyOf(contract), { tokens, microUsd }));
  }
}

/** Each award has a reservation of its own. */
function keyOf({ payer, id, awards }: Contract): { owner: string; key: string } {
  return { owner: payer, key: `contract-${id}-${awards}` };
}

function scopesOf({ payer, reserve }: Contract, agentId: string): Scopes {
  return { agentId, callerId: payer, runId: reserve.runId };
}

const CLOSED: ReadonlySet<string> = new Set(['RESERVATION_CLOSED', 'RESERVATION_NOT_FOUND']);

/** Ignores a reservation that the announcer has closed, or that was deleted because it is old. */
async function ifOpen(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof RegistryError && CLOSED.has(error.code))) throw error;
  }
}
