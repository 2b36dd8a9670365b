import { Logger, type LoggerService } from '@nestjs/common';
import { aborted, type ModelProvider, type ModelReply } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import { type ModelTerms, priced, termsOf } from '../spending/call.terms.js';
import { usageOfFailure, wasNeverSent } from '../spending/failed.call.js';
import { BudgetNotice, MAX_NOTICE_TOKENS } from '../spending/budget.notice.js';
import { type AccountRules, RunAccount } from '../spending/run.account.js';
import { ModelPriceUnknownError, SpendingLimitError } from '../spending/spending.errors.js';
import type { Hold, Spending, SpendingLimit } from '../spending/spending.js';
import { estimateMessages } from '../tokens/token.estimate.js';
import type {
  ModelCall,
  ModelMiddleware,
  ModelNext,
  RunCall,
  RunEvents,
  RunMiddleware,
  RunNext,
} from './middleware.js';
import { ObservedRun } from './observed.run.js';

export interface BudgetOptions extends Partial<AccountRules> {
  readonly spending: Spending;
  /** The limit of each run, including its descendants. If the run already has a budget, that budget is kept. */
  readonly limit?: SpendingLimit;
  /** The agent in the registry that is also charged. */
  readonly agentId?: string | null;
  /** The model of the agent. Its prices determine the money that is held for the final call. */
  readonly model?: ModelProvider;
  readonly log?: Pick<LoggerService, 'warn'>;
}

interface OpenRun {
  readonly account: RunAccount;
  readonly notice: BudgetNotice;
  readonly limit: SpendingLimit;
}

const NO_LIMIT: SpendingLimit = { tokens: null, microUsd: null };

/**
 * Pays for a run. Before each model call, it holds the most that the call can cost; afterwards, it charges what was used. A call that
 * the budget does not cover fails with `SpendingLimitError`. The loop then makes its final call, which is charged to an amount that
 * is held since the start of the run.
 */
export class BudgetMiddleware {
  /** Opens the budget of the run, and holds the amount for the final call. */
  readonly run: RunMiddleware = { name: 'budget', run: (call, next) => this.paidRun(call, next) };
  readonly model: ModelMiddleware = { name: 'budget', call: (call, next) => this.paidCall(call, next) };
  private readonly runs = new Map<string, OpenRun>();
  private readonly rules: AccountRules;
  private readonly log: Pick<LoggerService, 'warn'>;

  constructor(private readonly options: BudgetOptions) {
    const { defaultOutputTokens = 4_096, minOutputTokens = 64, finalOutputTokens = 1_024 } = options;
    this.rules = { defaultOutputTokens, minOutputTokens, finalOutputTokens };
    this.log = options.log ?? new Logger('runs');
  }

  private paidRun(call: RunCall, next: RunNext): RunEvents {
    return new ObservedRun(next(call), {
      onStart: async () => await this.begin(call),
      onEnd: async () => await this.end(call.context),
    });
  }

  /** Returns an outcome if the budget cannot even pay the final call. */
  private async begin({ context, limit, state }: RunCall): Promise<RunOutcome | undefined> {
    const opened = await this.open(context, limit);
    try {
      await opened.account.prepareFinal(estimateMessages(state.messages), this.terms);
    } catch (error) {
      if (error instanceof SpendingLimitError) return stopped(error);
      throw error;
    }
    this.runs.set(keyOf(context), opened);
    return undefined;
  }

  private async end(context: RunContext): Promise<void> {
    const account = this.runs.get(keyOf(context))?.account;
    this.runs.delete(keyOf(context));
    // the hold expires if it cannot be released
    await account?.close().catch((error: unknown) => this.warn('run.hold_not_released', context, error));
  }

  private async open(context: RunContext, allowed = NO_LIMIT): Promise<OpenRun> {
    const { spending, agentId = null } = this.options;
    const limit = lowerLimit(allowed, this.options.limit ?? NO_LIMIT);
    const { namespace, runId, parentRunId = null } = context;
    await spending.openRun({ namespace, runId, parentRunId, limit });
    const usage = await spending.usageOf(namespace, runId);
    const account = new RunAccount({ spending, namespace, runId, agentId }, this.rules, usage);
    return { account, notice: new BudgetNotice(spending, context, usage), limit: usage.limit };
  }

  private async paidCall(call: ModelCall, next: ModelNext): Promise<ModelReply> {
    const run = this.runs.get(keyOf(call.context));
    if (!run) throw new Error('the model half of the budget middleware needs its run half');
    const terms = termsOf(call.model);
    if (run.limit.microUsd !== null && !terms.prices)
      throw new ModelPriceUnknownError(`${call.model.vendor} ${call.model.model}`);
    const informed = run.notice.isNeeded ? { ...call, request: await run.notice.addTo(call) } : call;
    const noticed = informed.request === call.request ? 0 : MAX_NOTICE_TOKENS;
    const input = run.account.size.estimate(call.request) + noticed;
    const { hold, request } = call.isFinal
      ? await run.account.payFinal(informed, input, terms)
      : await run.account.pay(informed, input, terms);
    const reply = await this.charged({ ...call, request }, next, hold, terms);
    run.account.size.learn(call.request, reply.usage.inputTokens);
    return reply;
  }

  private async charged(call: ModelCall, next: ModelNext, hold: Hold, terms: ModelTerms): Promise<ModelReply> {
    if (call.signal.aborted) {
      await hold.release();
      throw aborted(`The call to ${call.model.vendor} ${call.model.model}`);
    }
    let reply: ModelReply;
    try {
      reply = await next(call);
    } catch (error) {
      const ended = wasNeverSent(error) ? hold.release() : hold.settle(priced(usageOfFailure(error), terms));
      await ended.catch((reason: unknown) => this.warn('run.charge_failed', call.context, reason));
      throw error;
    }
    await hold.settle(priced(reply.usage, terms));
    return reply;
  }

  private get terms(): ModelTerms {
    return this.options.model ? termsOf(this.options.model) : {};
  }

  private warn(event: string, { runId, agentName }: RunContext, error: unknown): void {
    this.log.warn({ event, runId, agentName, err: error });
  }
}

const keyOf = ({ namespace, runId }: RunContext): string => `${namespace}/${runId}`;

function lowerLimit(one: SpendingLimit, other: SpendingLimit): SpendingLimit {
  return { tokens: lower(one.tokens, other.tokens), microUsd: lower(one.microUsd, other.microUsd) };
}

/** Null means no limit. */
function lower(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function stopped({ message }: SpendingLimitError): RunOutcome {
  return { type: 'stopped', reason: 'budget', detail: message, parts: [] };
}
