import type { LoggerService } from '@nestjs/common';
import { aborted, type ModelReply } from '#rollcall/providers';
import type { LoopEvent } from '../loop/loop.event.js';
import { BudgetNotice, MAX_NOTICE_TOKENS } from '../spending/budget.notice.js';
import { type ModelTerms, termsOf } from '../spending/call.terms.js';
import { usageOfFailure, wasNeverSent } from '../spending/failed.call.js';
import { type AccountRules, type Payment, RunAccount } from '../spending/run.account.js';
import { RunReservations } from '../spending/run.reservations.js';
import {
  type Charge,
  type RunUsage,
  type RunWriter,
  type Spending,
  type SpendingLimit,
  unrecorded,
} from '../spending/spending.js';
import type { ModelCall, ModelNext, RunCall } from './middleware.js';
import type { RunObserver } from './run.observer.js';

export interface PaidRunOptions {
  readonly spending: Spending;
  readonly limit: SpendingLimit;
  readonly rules: AccountRules;
  readonly log: Pick<LoggerService, 'warn'>;
}

/** The charge of a reply whose step the reader does not have yet. */
interface UnreadReply {
  readonly turn: number;
  readonly payment: Payment;
  readonly charge: Charge;
}

/**
 * Pays for one run: reserves the most that a model call can cost, and charges what was used. A failed attempt is charged at once. The
 * step of a reply contains its charge, so a reply that is lost in a crash costs nothing, and no reply is charged twice. What is still
 * reserved ends together with the run.
 */
export class PaidRun implements RunObserver {
  private reservations?: RunReservations;
  private account?: RunAccount;
  private readonly notice = new BudgetNotice();
  private unread?: UnreadReply;

  constructor(
    private readonly options: PaidRunOptions,
    private readonly call: RunCall,
  ) {}

  async onStart(): Promise<undefined> {
    const usage = await this.open();
    const { spending, rules } = this.options;
    const { namespace, runId, agentName: agentId, callerId = null } = this.call.context;
    const writer: RunWriter = this.call.writer ?? unrecorded(spending);
    this.reservations = new RunReservations(spending, { namespace, runId, agentId, callerId }, writer, usage);
    this.reservations.follow(); // a resumed run can continue with delegated runs, before it reserves anything
    this.account = new RunAccount(this.reservations, rules);
  }

  onEvent(event: LoopEvent): LoopEvent | undefined {
    if (event.type !== 'step') return undefined;
    const { step } = event;
    if (step.type !== 'model-replied' && step.type !== 'context-summarised') return undefined;
    if (this.unread?.turn !== step.turn) return undefined;
    const { charge } = this.unread;
    this.unread = undefined;
    return { type: 'step', step: { ...step, charges: [charge] } };
  }

  async onEnd(): Promise<void> {
    await this.reservations?.close().catch((error: unknown) => this.warn(error));
  }

  async pay(call: ModelCall, next: ModelNext): Promise<ModelReply> {
    const { account, reservations } = this;
    if (!account || !reservations) throw new Error('the budget of the run is not open');
    await this.chargeUnread(account);
    const terms = termsOf(call.model);
    const informed = this.notice.addTo(call, reservations);
    const input = account.size.estimate(call.request) + (informed === call.request ? 0 : MAX_NOTICE_TOKENS);
    const wanted = informed === call.request ? call : { ...call, request: informed };
    const payment = await (call.isFinal ? account.payFinally(wanted, input, terms) : account.pay(wanted, input, terms));
    const reply = await this.attempt({ ...call, request: payment.request }, next, payment, terms);
    account.size.learn(call.request, reply.usage.inputTokens);
    this.unread = { turn: call.turn, payment, charge: account.charge(payment, reply.usage, terms) };
    return reply;
  }

  /** A middleware rejected the last reply, so no step contains its charge. */
  private async chargeUnread(account: RunAccount): Promise<void> {
    const { unread } = this;
    this.unread = undefined;
    if (unread) await account.endNow(unread.payment);
  }

  /** Charges the attempt if it fails. */
  private async attempt(call: ModelCall, next: ModelNext, payment: Payment, terms: ModelTerms): Promise<ModelReply> {
    if (call.signal.aborted) {
      this.account?.cancel(payment);
      throw aborted(`The call to ${call.model.vendor} ${call.model.model}`);
    }
    try {
      return await next(call);
    } catch (error) {
      await this.endFailed(call, payment, error, terms).catch((reason: unknown) => this.warn(reason));
      throw error;
    }
  }

  private async endFailed(call: ModelCall, payment: Payment, error: unknown, terms: ModelTerms): Promise<void> {
    const { account } = this;
    if (!account) return;
    if (wasNeverSent(error)) return account.cancel(payment);
    account.charge(payment, usageOfFailure(error), terms);
    if (!call.signal.aborted) await account.endNow(payment); // otherwise, it ends together with the run
  }

  /** Opens the budget, and ends the reservations of an earlier execution that was interrupted. */
  private async open(): Promise<RunUsage> {
    const { spending, limit } = this.options;
    const { context, state, usage: known } = this.call;
    if (known) return known;
    const { namespace, runId, parentRunId = null } = context;
    const usage = await spending.openRun({ namespace, runId, parentRunId, limit });
    const isResumed = state.charges !== undefined || usage.held.tokens > 0 || usage.held.microUsd > 0;
    if (!isResumed) return usage;
    await spending.recover({ namespace, runId }, state.charges ?? []);
    return await spending.usageOf({ namespace, runId });
  }

  private warn(error: unknown): void {
    const { runId, agentName } = this.call.context;
    this.options.log.warn({ event: 'run.charge_failed', runId, agentName, err: error });
  }
}
