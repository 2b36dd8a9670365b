import { Logger, type LoggerService } from '@nestjs/common';
import { aborted, type ModelMessage, type ModelReply, type ModelRequest } from '#rollcall/providers';
import type { LoopEvent } from '../loop/loop.step.js';
import type { RunContext } from '../loop/run.context.js';
import { type ModelTerms, termsOf } from '../spending/call.terms.js';
import { usageOfFailure, wasNeverSent } from '../spending/failed.call.js';
import { type AccountRules, type Payment, RunAccount } from '../spending/run.account.js';
import { RunReservations } from '../spending/run.reservations.js';
import {
  type Charge,
  lowerLimit,
  NO_LIMIT,
  type BudgetUsage,
  type RunWriter,
  type Spending,
  type SpendingAmount,
  type SpendingLimit,
  unrecorded,
} from '../spending/spending.js';
import type { ModelCall, ModelMiddleware, ModelNext, RunCall, RunMiddleware, RunObserver } from './middleware.js';

export interface BudgetOptions extends Partial<AccountRules> {
  readonly spending: Spending;
  /** The limit of each run, including its descendants. If the run already has a budget, that budget is kept. */
  readonly limit?: SpendingLimit;
  readonly log?: Pick<LoggerService, 'warn'>;
}

/**
 * Pays for runs. Before each model call, it reserves the most that the call can cost; afterwards, it charges what was used. A call
 * that the budget does not cover fails with `SpendingLimitError`. The loop then makes its final call, which is charged to an amount
 * that is reserved together with the first call.
 */
export class BudgetMiddleware {
  /** Opens the budget of the run, adds the charges to its steps, and ends what is reserved. */
  readonly run: RunMiddleware = { name: 'budget', observe: (call) => this.paidRun(call) };
  readonly model: ModelMiddleware = { name: 'budget', call: (call, next) => this.paidCall(call, next) };
  /** The runs in progress, so that a model call finds the run that it belongs to. */
  private readonly runs = new WeakMap<RunContext, PaidRun>();
  private readonly limit: SpendingLimit;
  private readonly each: Omit<PaidRunOptions, 'limit'>;

  constructor(options: BudgetOptions) {
    const { spending, limit = NO_LIMIT, log = new Logger('runs') } = options;
    const { defaultOutputTokens = 4_096, minOutputTokens = 64, finalOutputTokens = 1_024 } = options;
    const rules = { defaultOutputTokens, minOutputTokens, finalOutputTokens };
    this.limit = limit;
    this.each = { spending, rules, log };
  }

  private paidRun(call: RunCall): PaidRun {
    const limit = lowerLimit(call.limit ?? NO_LIMIT, this.limit);
    const run = new PaidRun({ ...this.each, limit }, call);
    this.runs.set(call.context, run);
    return run;
  }

  private paidCall(call: ModelCall, next: ModelNext): Promise<ModelReply> {
    const run = this.runs.get(call.context);
    if (!run) throw new Error('BudgetMiddleware.model works only inside BudgetMiddleware.run');
    return run.pay(call, next);
  }
}

interface PaidRunOptions {
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
class PaidRun implements RunObserver {
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
  private async open(): Promise<BudgetUsage> {
    const { spending, limit } = this.options;
    const { context, state, usage: known } = this.call;
    if (known) return known;
    const { namespace, runId, parentRunId = null } = context;
    const usage = await spending.openRun({ namespace, runId, parentRunId, limit });
    const isResumed = state.charges !== undefined || usage.reserved.tokens > 0 || usage.reserved.microUsd > 0;
    if (!isResumed) return usage;
    await spending.recover({ namespace, runId }, state.charges ?? []);
    return await spending.usageOf({ namespace, runId });
  }

  private warn(error: unknown): void {
    const { runId, agentName } = this.call.context;
    this.options.log.warn({ event: 'run.charge_failed', runId, agentName, err: error });
  }
}

const NOTICE_SHARE = 0.8;
/** The estimate for the message with the notice. */
const MAX_NOTICE_TOKENS = 100;
const UNITS = ['tokens', 'microUsd'] as const satisfies (keyof SpendingAmount)[];

/** The usage of a run and its descendants, and its limit. */
interface KnownUsage {
  readonly used: SpendingAmount;
  readonly limit: SpendingLimit;
}

/**
 * Informs the model once that its run has used most of its budget, so that it can finish. All attempts of that turn contain the
 * notice; later turns do not.
 */
class BudgetNotice {
  private turn: number | undefined;
  private text = '';

  /** Inserts the notice after the system messages at the beginning. `used` is the usage of the run and its descendants. */
  addTo({ request, turn, isFinal }: ModelCall, { used, limit }: KnownUsage): ModelRequest {
    if (this.turn === undefined && !isFinal) this.check(turn, used, limit);
    if (this.turn !== turn || isFinal) return request;
    const { messages } = request;
    const first = messages.findIndex(({ role }) => role !== 'system');
    const notice: ModelMessage = { role: 'system', text: this.text };
    return { ...request, messages: messages.toSpliced(first === -1 ? messages.length : first, 0, notice) };
  }

  private check(turn: number, used: SpendingAmount, limit: SpendingLimit): void {
    const shareOf = (unit: keyof SpendingAmount): number => used[unit] / (limit[unit] || Infinity);
    const unit = UNITS.find((one) => shareOf(one) >= NOTICE_SHARE);
    if (!unit) return;
    this.turn = turn;
    const percent = Math.floor(shareOf(unit) * 100);
    this.text =
      `Budget notice: this run has used ${percent} % of its ${unit === 'tokens' ? 'tokens' : 'money'}. ` +
      'Finish the task with as few further steps as possible, and give your answer soon.';
  }
}
