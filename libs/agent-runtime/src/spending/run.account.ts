import type { ModelMessage, ModelRequest, ModelUsage } from '#rollcall/providers';
import { PriceUnknownError } from '#rollcall/registry';
import { estimateMessages, estimateTools } from '../loop/token.estimate.js';
import type { ModelCall } from '../middleware/middleware.js';
import { affordable, amountOf, type CallSize, type ModelTerms, outputLimitOf, priced } from './call.terms.js';
import { isEndedError } from './reservation.recovery.js';
import type { RunReservation, RunReservations, WantedReservation } from './run.reservations.js';
import { shortened } from './shortened.request.js';
import { ModelPriceUnknownError, SpendingLimitError } from './spending.errors.js';
import type { Charge, SpendingAmount } from './spending.js';

export interface AccountRules {
  /** The output limit of a call if neither its request nor its preset has one. */
  readonly defaultOutputTokens: number;
  /** The fewest output tokens of a call. If the budget allows fewer, the call is not made. */
  readonly minOutputTokens: number;
  /** The output tokens that are reserved for the final call. */
  readonly finalOutputTokens: number;
}

/** What pays for a call, and the request with its output limit. */
export interface Payment {
  readonly reservation: RunReservation;
  /** The most that the call may use. */
  readonly amount: SpendingAmount;
  readonly request: ModelRequest;
}

/** A small run reserves at most this share of its budget for the answer of its final call. */
const FINAL_SHARE = 0.2;
/** The number of further calls for which an amount is reserved in advance. */
const CALLS_AHEAD = 3;

/**
 * Pays for the model calls of one run. One reservation, the allowance, pays consecutive calls as long as it covers them. Another one is
 * kept for the final call, and grows with the conversation.
 */
export class RunAccount {
  readonly size = new ConversationSize();
  private allowance?: RunReservation;
  private final?: RunReservation;
  private readonly finalOutput: number;

  constructor(
    private readonly reservations: RunReservations,
    private readonly rules: AccountRules,
  ) {
    const { limit, used } = reservations;
    const left = limit.tokens === null ? Infinity : limit.tokens - used.tokens;
    const share = Math.min(rules.finalOutputTokens, Math.floor(left * FINAL_SHARE));
    this.finalOutput = Math.max(rules.minOutputTokens, share);
  }

  /** Reserves what the call can cost, unless it is reserved already. When it resolves, all steps before the call are stored. */
  async pay(call: ModelCall, input: number, terms: ModelTerms): Promise<Payment> {
    const size = { input, output: outputLimitOf(call.request, terms, this.rules.defaultOutputTokens) };
    const amount = amountOf(size, terms);
    const isCovered = this.allowance?.covers(amount) === true && suits(this.allowance, terms);
    const isPrepared = this.canPayFinally({ input, output: this.rules.minOutputTokens }, terms);
    const wanted = [
      ...(isPrepared ? [] : [this.wantedFinal({ input, output: this.finalOutput }, terms)]),
      ...(isCovered ? [] : [this.wantedCall(size, terms)]),
    ];
    await this.change(call, isCovered ? [] : this.takeAllowance(), wanted);
    if (!this.allowance) throw new Error('a call was not reserved');
    return this.lend(this.allowance, call.request, size, terms);
  }

  /**
   * If the amount for the final call does not suffice, adds to it from the rest of the budget. If the conversation is still too long,
   * because a tool has returned more than the budget covers, the longest results of tools are cut.
   */
  async payFinally(call: ModelCall, input: number, terms: ModelTerms): Promise<Payment> {
    const output = outputLimitOf(call.request, terms, this.rules.finalOutputTokens);
    const size = { input, output: Math.min(output, this.finalOutput) };
    const error = await this.tryToPrepare(call, size, terms);
    if (!this.final) throw error ?? new Error('the final call was not reserved');
    if (!error) return this.lend(this.final, call.request, size, terms);
    const room = affordable(this.final.amount, this.least(size), terms).input;
    const request = shortened(call.request, room);
    if (!request) throw error;
    return this.lend(this.final, request, { ...size, input: room }, terms);
  }

  /** The charge of a call that has ended. A count that is unknown is charged as reserved. */
  charge({ reservation, amount }: Payment, usage: ModelUsage, terms: ModelTerms): Charge {
    const { tokens, microUsd, isEstimated } = chargeOf(priced(usage, terms), amount);
    reservation.use({ tokens, microUsd: microUsd ?? 0 }, isEstimated);
    return { key: reservation.name, tokens, microUsd, ...(isEstimated && { estimated: true }) };
  }

  /** The call was not made. */
  cancel({ reservation }: Payment): void {
    reservation.lent = undefined;
  }

  /** Ends the reservation of a call that no step records, so that a crash does not lose its charge. */
  async endNow({ reservation }: Payment): Promise<void> {
    if (this.allowance === reservation) this.allowance = undefined;
    if (this.final === reservation) this.final = undefined;
    await this.reservations.change([reservation], []);
  }

  private async change(
    { model }: ModelCall,
    ended: readonly RunReservation[],
    wanted: readonly WantedReservation[],
  ): Promise<void> {
    try {
      await this.reservations.change(ended, wanted);
    } catch (error) {
      if (!(error instanceof PriceUnknownError)) throw error;
      throw new ModelPriceUnknownError(`${model.vendor} ${model.model}`, error);
    }
  }

  private lend(reservation: RunReservation, request: ModelRequest, size: CallSize, terms: ModelTerms): Payment {
    const left = reservation.left;
    const wanted = amountOf(size, terms);
    const amount = {
      tokens: Math.min(left.tokens, wanted.tokens),
      microUsd: Math.min(left.microUsd, wanted.microUsd),
    };
    reservation.lent = amount;
    const { output: maxOutputTokens } = affordable(left, size, terms);
    return { reservation, amount, request: { ...request, settings: { ...request.settings, maxOutputTokens } } };
  }

  /** An allowance whose call is still in progress ends together with the run. */
  private takeAllowance(): RunReservation[] {
    const { allowance } = this;
    this.allowance = undefined;
    return allowance && !allowance.lent ? [allowance] : [];
  }

  /** Returns the error if the reserved amount does not cover even the shortest answer. */
  private async tryToPrepare(
    call: ModelCall,
    size: CallSize,
    terms: ModelTerms,
  ): Promise<SpendingLimitError | undefined> {
    if (this.canPayFinally(size, terms)) {
      await this.reservations.change([], []);
      return undefined;
    }
    try {
      await this.change(call, this.takeAllowance(), [this.wantedFinal(size, terms)]);
    } catch (error) {
      if (!(error instanceof SpendingLimitError)) throw error;
      return this.canPayFinally(this.least(size), terms) ? undefined : error;
    }
    return undefined;
  }

  private canPayFinally(size: CallSize, terms: ModelTerms): boolean {
    return this.final?.covers(amountOf(size, terms)) === true && suits(this.final, terms);
  }

  private wantedCall(size: CallSize, terms: ModelTerms): WantedReservation {
    const opened = (reservation: RunReservation): void => void (this.allowance = reservation);
    const [amount, least] = [amountOf(size, terms), amountOf(this.least(size), terms)];
    const isUnpriced = !terms.prices;
    const ahead = { tokens: amount.tokens * CALLS_AHEAD, microUsd: amount.microUsd * CALLS_AHEAD };
    const wanted = { amount, atLeastTokens: least.tokens, ahead, isUnpriced };
    return {
      ...this.reservations.wanted('calls', wanted, opened),
      instead: (error) =>
        error instanceof SpendingLimitError && error.budget.unit === 'microUsd' && !isSame(amount, least)
          ? this.reservations.wanted('calls', { amount: least, isUnpriced }, opened)
          : undefined,
    };
  }

  /** Reserves the amount for the final call, or adds to it. */
  private wantedFinal(size: CallSize, terms: ModelTerms): WantedReservation {
    const least = this.least(size);
    const isLeast = isSame(amountOf(size, terms), amountOf(least, terms));
    return {
      ...this.opensFinal(amountOf(size, terms), terms),
      instead: (error) => {
        if (error instanceof SpendingLimitError) return isLeast ? undefined : this.wantedFinal(least, terms);
        if (!this.final || !isEndedError(error)) return undefined;
        this.final = undefined; // it has expired
        return this.wantedFinal(size, terms);
      },
    };
  }

  private opensFinal(amount: SpendingAmount, terms: ModelTerms): WantedReservation {
    const { final } = this;
    if (final && !final.isOver && suits(final, terms))
      return { op: { op: 'raise', of: final.of, to: amount }, accept: ({ held }) => void (final.amount = held) };
    return this.reservations.wanted('final', { amount, isUnpriced: !terms.prices }, (opened) => {
      this.final = opened; // one that has expired or does not suit the model ends together with the run
    });
  }

  private least({ input, output }: CallSize): CallSize {
    return { input, output: Math.min(output, this.rules.minOutputTokens) };
  }
}

/** Whether a call on these terms may be charged to the reservation. Its budgets may limit money if it was made for a model with prices. */
function suits({ isUnpriced }: RunReservation, { prices }: ModelTerms): boolean {
  return isUnpriced || prices !== undefined;
}

function chargeOf(
  { inputTokens, outputTokens, costMicroUsd }: ModelUsage & { costMicroUsd?: number },
  amount: SpendingAmount,
): { tokens: number; microUsd: number | null; isEstimated: boolean } {
  const areTokensKnown = isCount(inputTokens) && isCount(outputTokens);
  const isCostKnown = isCount(costMicroUsd);
  return {
    tokens: areTokensKnown ? inputTokens + outputTokens : amount.tokens,
    microUsd: isCostKnown ? costMicroUsd : amount.microUsd === 0 ? null : amount.microUsd,
    isEstimated: !areTokensKnown || (!isCostKnown && amount.microUsd > 0),
  };
}

function isCount(count: number | undefined): count is number {
  return count !== undefined && Number.isFinite(count) && count >= 0;
}

function isSame(one: SpendingAmount, other: SpendingAmount): boolean {
  return one.tokens === other.tokens && one.microUsd === other.microUsd;
}

/**
 * Estimates the input tokens of the next call of a run: the count that the vendor reported for the previous call, plus an estimate
 * of the messages that were added after it.
 */
class ConversationSize {
  private count = 0;
  private last: ModelMessage | undefined;
  private tokens = 0;

  estimate({ messages, tools }: ModelRequest): number {
    const isContinued = this.count > 0 && messages[this.count - 1] === this.last;
    if (isContinued) return this.tokens + estimateMessages(messages, this.count);
    return estimateMessages(messages) + estimateTools(tools);
  }

  /** Records the input tokens that the vendor reported for the request. */
  learn({ messages }: ModelRequest, inputTokens: number | undefined): void {
    if (inputTokens === undefined) return;
    this.count = messages.length;
    this.last = messages.at(-1);
    this.tokens = inputTokens;
  }
}
