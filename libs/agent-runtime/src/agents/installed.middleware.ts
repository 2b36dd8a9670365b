import { Inject, Injectable, Logger } from '@nestjs/common';
import { defaultMiddleware, type Middleware } from '../middleware/default.middleware.js';
import { ModelCircuit } from '../middleware/model-circuit.middleware.js';
import type { RetryOptions } from '../middleware/retry.middleware.js';
import { LedgerSpending } from '../spending/ledger.spending.js';
import type { Spending, SpendingLimit } from '../spending/spending.js';

export const EXECUTION_OPTIONS = Symbol('EXECUTION_OPTIONS');

/** The limits of each run of an agent that Rollcall runs itself. */
export interface ExecutionOptions {
  /** The time limit of a run. The default is ten minutes. */
  readonly timeoutMs?: number;
  readonly retry?: Pick<RetryOptions, 'maxAttempts' | 'maxDelayMs'>;
}

/** Creates the middleware of agents with the settings of this installation. All agents share the circuits of the models. */
@Injectable()
export class InstalledMiddleware {
  private readonly log = new Logger('runs');
  private readonly circuit = new ModelCircuit();

  constructor(
    @Inject(LedgerSpending) private readonly spending: Spending,
    @Inject(EXECUTION_OPTIONS) private readonly options: ExecutionOptions,
  ) {}

  /** `limit` applies to each run of the agent. */
  create(limit: SpendingLimit | undefined): Middleware {
    const { log, circuit, spending } = this;
    return defaultMiddleware({ ...this.options, log, circuit, budget: { spending, limit } });
  }
}
