import { Logger, type LoggerService } from '@nestjs/common';
import type { ModelProvider, ModelReply } from '#rollcall/providers';
import { termsOf } from '../spending/call.terms.js';
import type { AccountRules } from '../spending/run.account.js';
import type { Spending, SpendingLimit } from '../spending/spending.js';
import { lowerLimit, NO_LIMIT } from '../spending/spending.limit.js';
import type { ModelCall, ModelMiddleware, ModelNext, RunCall, RunMiddleware } from './middleware.js';
import { PaidRun, type PaidRunOptions, PaidRuns } from './paid.run.js';

export interface BudgetOptions extends Partial<AccountRules> {
  readonly spending: Spending;
  /** The limit of each run, including its descendants. If the run already has a budget, that budget is kept. */
  readonly limit?: SpendingLimit;
  /** The model of the agent. Its prices determine the money that is held for the final call. */
  readonly model?: ModelProvider;
  readonly log?: Pick<LoggerService, 'warn'>;
}

/**
 * Pays for runs. Before each model call, it holds the most that the call can cost; afterwards, it charges what was used. A call that
 * the budget does not cover fails with `SpendingLimitError`. The loop then makes its final call, which is charged to an amount that
 * is held from the start of the run.
 */
export class BudgetMiddleware {
  /** Opens the budget of the run, holds the amount for the final call, and charges the replies. */
  readonly run: RunMiddleware = { name: 'budget', observe: (call) => this.paidRun(call) };
  readonly model: ModelMiddleware = { name: 'budget', call: (call, next) => this.paidCall(call, next) };
  private readonly runs = new PaidRuns();
  private readonly limit: SpendingLimit;
  private readonly each: Omit<PaidRunOptions, 'limit'>;

  constructor(options: BudgetOptions) {
    const { spending, model, limit = NO_LIMIT, log = new Logger('runs') } = options;
    const { defaultOutputTokens = 4_096, minOutputTokens = 64, finalOutputTokens = 1_024 } = options;
    const rules = { defaultOutputTokens, minOutputTokens, finalOutputTokens };
    this.limit = limit;
    this.each = { spending, rules, terms: model ? termsOf(model) : {}, log };
  }

  private paidRun(call: RunCall): PaidRun {
    const limit = lowerLimit(call.limit ?? NO_LIMIT, this.limit);
    return new PaidRun({ ...this.each, limit }, call, this.runs);
  }

  private paidCall(call: ModelCall, next: ModelNext): Promise<ModelReply> {
    const run = this.runs.get(call.context);
    if (!run) throw new Error('BudgetMiddleware.model works only inside BudgetMiddleware.run');
    return run.pay(call, next);
  }
}
