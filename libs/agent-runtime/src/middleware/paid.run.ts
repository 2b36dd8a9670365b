import type { LoggerService } from '@nestjs/common';
import { aborted, type ModelReply } from '#rollcall/providers';
import type { LoopEvent } from '../loop/loop.event.js';
import type { RunContext } from '../loop/run.context.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import { BudgetNotice, MAX_NOTICE_TOKENS } from '../spending/budget.notice.js';
import { type ModelTerms, priced, termsOf } from '../spending/call.terms.js';
import { chargesOf, releaseAll, settleAll } from '../spending/charges.js';
import { usageOfFailure, wasNeverSent } from '../spending/failed.call.js';
import { ReplyPayments } from '../spending/reply.payments.js';
import { type AccountRules, RunAccount } from '../spending/run.account.js';
import { ModelPriceUnknownError, SpendingLimitError } from '../spending/spending.errors.js';
import type { Hold, RunUsage, Spending, SpendingLimit } from '../spending/spending.js';
import { estimateMessages } from '../tokens/token.estimate.js';
import type { ModelCall, ModelNext, RunCall } from './middleware.js';
import type { RunObserver } from './run.observer.js';

export interface PaidRunOptions {
  readonly spending: Spending;
  readonly limit: SpendingLimit;
  readonly rules: AccountRules;
  /** The terms of the model of the agent. */
  readonly terms: ModelTerms;
  readonly log: Pick<LoggerService, 'warn'>;
}

interface Opened {
  readonly account: RunAccount;
  readonly notice: BudgetNotice;
  readonly limit: SpendingLimit;
}

/** The runs in progress, so that a model call finds the run that it belongs to. */
export class PaidRuns {
  private readonly namespaces = new Map<string, Map<string, PaidRun>>();

  get({ namespace, runId }: RunContext): PaidRun | undefined {
    return this.namespaces.get(namespace)?.get(runId);
  }

  add({ namespace, runId }: RunContext, run: PaidRun): void {
    const runs = this.namespaces.get(namespace) ?? new Map<string, PaidRun>();
    this.namespaces.set(namespace, runs.set(runId, run));
  }

  remove({ namespace, runId }: RunContext, run: PaidRun): void {
    const runs = this.namespaces.get(namespace);
    if (runs?.get(runId) === run) runs.delete(runId);
    if (runs?.size === 0) this.namespaces.delete(namespace);
  }
}

/**
 * Pays for one run: holds the most that a model call can cost, and charges what was used. A failed attempt is charged at once. A reply
 * is charged when the reader has stored its step, which contains the charges, so a reply that is lost in a crash costs nothing, and no
 * reply is charged twice. The end of the run settles and releases everything that is open.
 */
export class PaidRun implements RunObserver {
  private readonly replies = new ReplyPayments();
  private opened?: Opened;
  /** The charge of the last stored reply. */
  private settling?: Promise<void>;

  constructor(
    private readonly options: PaidRunOptions,
    private readonly call: RunCall,
    private readonly runs: PaidRuns,
  ) {}

  /** Returns an outcome if the budget does not cover even the final call. */
  async onStart(): Promise<RunOutcome | undefined> {
    const usage = await this.open();
    const { limit } = usage;
    const { spending, rules, terms } = this.options;
    const { context, state } = this.call;
    const { namespace, runId, agentName: agentId, callerId = null } = context;
    const account = new RunAccount({ spending, namespace, runId, agentId, callerId }, rules, usage);
    try {
      await account.prepareFinal(estimateMessages(state.messages), terms);
    } catch (error) {
      if (error instanceof SpendingLimitError) return stopped(error);
      throw error;
    }
    this.opened = { account, limit, notice: new BudgetNotice(spending, context, limit) };
    this.runs.add(context, this);
    return undefined;
  }

  onEvent(event: LoopEvent): LoopEvent | undefined {
    if (event.type !== 'step') return undefined;
    const { step } = event;
    if (step.type !== 'model-replied' && step.type !== 'context-summarised') return undefined;
    const charges = this.replies.read(step.turn);
    return charges && { type: 'step', step: { ...step, charges } };
  }

  /** Does not wait for the charge: the stored step contains it, so a resumed run makes the charge if it is missing. */
  onNext(): undefined {
    const settled = this.replies.isDue ? this.replies.settle('later') : undefined;
    if (!(settled instanceof Promise)) return;
    settled.catch(() => undefined); // the next call or the end of the run reports the error
    this.settling = settled;
  }

  async onEnd(): Promise<void> {
    this.runs.remove(this.call.context, this);
    await this.settling?.catch((error: unknown) => this.warn('run.charge_failed', error));
    await this.replies.close().catch((error: unknown) => this.warn('run.charge_failed', error));
    // the hold expires if it cannot be released
    await this.opened?.account.close().catch((error: unknown) => this.warn('run.hold_not_released', error));
  }

  async pay(call: ModelCall, next: ModelNext): Promise<ModelReply> {
    if (!this.opened) throw new Error('the budget of the run is not open');
    const { account, notice, limit } = this.opened;
    if (this.settling) await this.settling;
    if (this.replies.isOpen) await this.replies.settle('now'); // a middleware rejected the reply, so the reply has no step
    const terms = termsOf(call.model);
    if (limit.microUsd !== null && !terms.prices)
      throw new ModelPriceUnknownError(`${call.model.vendor} ${call.model.model}`);
    const added = notice.isNeeded ? notice.addTo(call) : call.request;
    const informed = added instanceof Promise ? await added : added; // an unnecessary await costs time
    const noticed = informed === call.request ? 0 : MAX_NOTICE_TOKENS;
    const input = account.size.estimate(call.request) + noticed;
    const wanted = informed === call.request ? call : { ...call, request: informed };
    const paid = call.isFinal ? account.payFinal(wanted, input, terms) : account.pay(wanted, input, terms);
    const { holds, request } = paid instanceof Promise ? await paid : paid;
    const reply = await this.attempt({ ...call, request }, next, holds, terms);
    account.size.learn(call.request, reply.usage.inputTokens);
    const settled = this.replies.add(call.turn, holds, chargesOf(holds, priced(reply.usage, terms)));
    if (settled instanceof Promise) await settled;
    return reply;
  }

  /** Settles the holds if the attempt fails. */
  private async attempt(
    call: ModelCall,
    next: ModelNext,
    holds: readonly Hold[],
    terms: ModelTerms,
  ): Promise<ModelReply> {
    if (call.signal.aborted) {
      await releaseAll(holds);
      throw aborted(`The call to ${call.model.vendor} ${call.model.model}`);
    }
    try {
      return await next(call);
    } catch (error) {
      await this.endFailed(holds, error, terms).catch((reason: unknown) => this.warn('run.charge_failed', reason));
      throw error;
    }
  }

  private async endFailed(holds: readonly Hold[], error: unknown, terms: ModelTerms): Promise<void> {
    if (wasNeverSent(error)) await releaseAll(holds);
    else await settleAll(holds, chargesOf(holds, priced(usageOfFailure(error), terms)));
  }

  /** Opens the budget, and ends the holds of an earlier execution that was interrupted. */
  private async open(): Promise<RunUsage> {
    const { spending, limit } = this.options;
    const { context, state, usage: known } = this.call;
    if (known) return known;
    const { namespace, runId, parentRunId = null } = context;
    const usage = await spending.openRun({ namespace, runId, parentRunId, limit });
    const isResumed = state.charges !== undefined || usage.held.tokens > 0 || usage.held.microUsd > 0;
    if (!isResumed) return usage;
    await spending.recover({ namespace, runId }, state.charges ?? []);
    return await spending.usageOf(namespace, runId);
  }

  private warn(event: string, error: unknown): void {
    const { runId, agentName } = this.call.context;
    this.options.log.warn({ event, runId, agentName, err: error });
  }
}

function stopped({ message }: SpendingLimitError): RunOutcome {
  return { type: 'stopped', reason: 'budget', detail: message, parts: [] };
}
