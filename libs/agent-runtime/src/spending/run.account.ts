import type { ModelRequest } from '#rollcall/providers';
import type { ModelCall } from '../middleware/middleware.js';
import { affordable, amountOf, type CallSize, type ModelTerms, outputLimitOf } from './call.terms.js';
import { releaseAll } from './charges.js';
import { ConversationSize } from './conversation.size.js';
import { FINAL_PREFIX, FinalFund } from './final.fund.js';
import { shortened } from './shortened.request.js';
import { SpendingLimitError } from './spending.errors.js';
import type { Awaitable, Hold, RunUsage, Spending, SpendingAmount } from './spending.js';

export interface AccountRules {
  /** The output limit of a call if neither its request nor its preset has one. */
  readonly defaultOutputTokens: number;
  /** The fewest output tokens of a call. If the budget allows fewer, the call is not made. */
  readonly minOutputTokens: number;
  /** The output tokens that are held for the final call. */
  readonly finalOutputTokens: number;
}

/** The holds for a call, and the request with its output limit. */
export interface Payment {
  readonly holds: readonly Hold[];
  readonly request: ModelRequest;
}

/** A small run holds at most this share of its budget for the answer of its final call. */
const FINAL_SHARE = 0.2;

/** The run that is charged. */
export interface Payer {
  readonly spending: Spending;
  readonly namespace: string;
  readonly runId: string;
  readonly agentId: string | null;
  readonly callerId: string | null;
}

/**
 * Pays for the model calls of one run. The final call is charged to a fund that is held from the start and grows with the
 * conversation.
 */
export class RunAccount {
  readonly size = new ConversationSize();
  private readonly fund = new FinalFund();
  private readonly finalOutput: number;
  private fundHolds = 0;

  constructor(
    private readonly payer: Payer,
    private readonly rules: AccountRules,
    { limit, subtree }: RunUsage,
  ) {
    const left = limit.tokens === null ? Infinity : limit.tokens - subtree.tokens;
    const share = Math.min(rules.finalOutputTokens, Math.floor(left * FINAL_SHARE));
    this.finalOutput = Math.max(rules.minOutputTokens, share);
  }

  /** Makes sure that the fund covers the final call of a conversation with this many tokens. */
  async prepareFinal(input: number, terms: ModelTerms): Promise<void> {
    if (!this.isPrepared(input, terms)) await this.growFund({ input, output: this.finalOutput }, terms);
  }

  pay(call: ModelCall, input: number, terms: ModelTerms): Awaitable<Payment> {
    if (this.isPrepared(input, terms)) return this.payPrepared(call, input, terms);
    return this.prepareFinal(input, terms).then(() => this.payPrepared(call, input, terms));
  }

  private payPrepared(call: ModelCall, input: number, terms: ModelTerms): Awaitable<Payment> {
    const output = outputLimitOf(call.request, terms, this.rules.defaultOutputTokens);
    const key = `${call.turn}/${call.attempt}`;
    const wanted = amountOf({ input, output }, terms);
    const least = amountOf(this.least({ input, output }), terms);
    const payWith = (hold: Hold): Payment => {
      const request = limited(call.request, affordable(hold.amount, { input, output }, terms).output);
      return { holds: [hold], request };
    };
    const hold = this.holdBetween(key, wanted, least, { isFinal: false });
    return hold instanceof Promise ? hold.then(payWith) : payWith(hold);
  }

  /**
   * If the fund is too small for the answer, adds to it from the rest of the budget. If the conversation is still too long, because a
   * tool has returned more than the budget covers, the longest results of tools are cut.
   */
  async payFinal(call: ModelCall, input: number, terms: ModelTerms): Promise<Payment> {
    const output = outputLimitOf(call.request, terms, this.rules.finalOutputTokens);
    const wanted = { input, output: Math.min(output, this.finalOutput) };
    const error = await this.tryToHold(wanted, terms);
    if (!error) return this.payFromFund(call.request, wanted, terms);
    const least = this.least(wanted);
    const room = affordable(this.fund.amount, least, terms).input;
    const request = shortened(call.request, room);
    if (!request) throw error;
    return this.payFromFund(request, { ...wanted, input: room }, terms);
  }

  async close(): Promise<void> {
    const { spending, namespace, runId } = this.payer;
    await Promise.all([spending.closeRun({ namespace, runId }), releaseAll(this.fund.take())]);
  }

  private payFromFund(request: ModelRequest, size: CallSize, terms: ModelTerms): Payment {
    const { output } = affordable(this.fund.amount, size, terms);
    return { holds: this.fund.take(), request: limited(request, output) };
  }

  /** Returns the error if the fund does not cover even the shortest answer. */
  private async tryToHold(wanted: CallSize, terms: ModelTerms): Promise<SpendingLimitError | undefined> {
    if (this.canPay(wanted, terms)) return undefined;
    try {
      await this.growFund(wanted, terms);
    } catch (error) {
      if (!(error instanceof SpendingLimitError)) throw error;
      return this.canPay(this.least(wanted), terms) ? undefined : error;
    }
    return undefined;
  }

  private isPrepared(input: number, terms: ModelTerms): boolean {
    return this.canPay({ input, output: this.rules.minOutputTokens }, terms);
  }

  private canPay(size: CallSize, terms: ModelTerms): boolean {
    const held = this.fund.amount;
    const needed = amountOf(size, terms);
    return held.tokens >= needed.tokens && held.microUsd >= needed.microUsd;
  }

  private async growFund(size: CallSize, terms: ModelTerms): Promise<void> {
    const held = this.fund.amount;
    const missing = (part: CallSize): SpendingAmount => {
      const { tokens, microUsd } = amountOf(part, terms);
      return { tokens: Math.max(0, tokens - held.tokens), microUsd: Math.max(0, microUsd - held.microUsd) };
    };
    const key = `${FINAL_PREFIX}${(this.fundHolds += 1)}`;
    this.fund.add(await this.holdBetween(key, missing(size), missing(this.least(size)), { isFinal: true }));
  }

  private least({ input, output }: CallSize): CallSize {
    return { input, output: Math.min(output, this.rules.minOutputTokens) };
  }

  /** Holds the wanted amount. If less is left, holds all that is left; for the final call, holds only the least amount. */
  private holdBetween(
    key: string,
    wanted: SpendingAmount,
    least: SpendingAmount,
    { isFinal }: { isFinal: boolean },
  ): Awaitable<Hold> {
    const { spending, namespace, runId, agentId, callerId } = this.payer;
    const request = { namespace, runId, agentId, callerId, key, amount: wanted };
    const holdLeast = (error: unknown): Awaitable<Hold> => {
      if (!(error instanceof SpendingLimitError) || isSame(wanted, least)) throw error;
      if (!isFinal && error.budget.unit === 'tokens') throw error;
      return spending.hold({ ...request, amount: least });
    };
    try {
      const hold = spending.hold(isFinal ? request : { ...request, atLeastTokens: least.tokens, isRepeated: true });
      return hold instanceof Promise ? hold.catch(holdLeast) : hold;
    } catch (error) {
      return holdLeast(error);
    }
  }
}

function limited(request: ModelRequest, maxOutputTokens: number): ModelRequest {
  return { ...request, settings: { ...request.settings, maxOutputTokens } };
}

function isSame(one: SpendingAmount, other: SpendingAmount): boolean {
  return one.tokens === other.tokens && one.microUsd === other.microUsd;
}
