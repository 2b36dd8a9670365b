import { Logger, type LoggerService } from '@nestjs/common';
import type { ModelReply } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import type { AccountRules } from '../spending/run.account.js';
import { lowerLimit, NO_LIMIT, type Spending, type SpendingLimit } from '../spending/spending.js';
import type { ModelCall, ModelMiddleware, ModelNext, RunCall, RunMiddleware } from './middleware.js';
import { PaidRun, type PaidRunOptions } from './paid.run.js';

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
