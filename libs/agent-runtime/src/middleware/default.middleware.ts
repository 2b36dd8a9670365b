import { Inject, Injectable, Logger, type LoggerService } from '@nestjs/common';
import type { ModelProvider } from '#rollcall/providers';
import { LedgerSpending } from '../spending/ledger.spending.js';
import type { Spending, SpendingLimit } from '../spending/spending.js';
import { traceModelCalls, traceRuns } from '../tracing/tracing.middleware.js';
import { BudgetMiddleware, type BudgetOptions } from './budget.middleware.js';
import { fallback } from './fallback.middleware.js';
import { type InputCheck, inputGuardrail, type OutputCheck, outputGuardrail } from './guardrail.middleware.js';
import { logger } from './logger.middleware.js';
import type { ModelMiddleware, RunMiddleware } from './middleware.js';
import { ModelCircuit } from './model-circuit.middleware.js';
import { recovery } from './recovery.middleware.js';
import { retry, type RetryOptions } from './retry.middleware.js';
import { timeout } from './timeout.middleware.js';

interface DefaultMiddlewareOptions {
  readonly log: Pick<LoggerService, 'log' | 'warn' | 'error'>;
  readonly budget: BudgetOptions;
  /** One instance for all agents of the process. */
  readonly circuit: ModelCircuit;
  /** The model of the agent, for its traces. */
  readonly model?: ModelProvider;
  readonly timeoutMs?: number;
  readonly retry?: RetryOptions;
  /** The models to call, in order, if the model of the agent is unavailable. */
  readonly fallbackModels?: readonly ModelProvider[];
  /** More middleware around each run. */
  readonly middleware?: readonly RunMiddleware[];
  readonly inputChecks?: readonly InputCheck[];
  readonly outputChecks?: readonly OutputCheck[];
}

interface Middleware {
  readonly run: readonly RunMiddleware[];
  readonly model: readonly ModelMiddleware[];
}

/** Ten minutes. */
const DEFAULT_TIMEOUT_MS = 600_000;

/** The middleware of an agent, from the outermost to the innermost. Create it once for each agent. */
export function defaultMiddleware(options: DefaultMiddlewareOptions): Middleware {
  const { log, circuit, timeoutMs = DEFAULT_TIMEOUT_MS, fallbackModels = [] } = options;
  const budget = new BudgetMiddleware({ log, ...options.budget });
  return {
    run: [
      traceRuns(options.model), // outermost: the span contains everything that the run does
      logger(log), // logs the outcome and the error code that the caller gets
      recovery(log), // inside the logger, so that the logger logs one code for all unknown errors
      timeout(timeoutMs), // limits everything below, including slow guardrails
      ...(options.middleware ?? []), // inside the time limit, because it is code of the operator
      ...(options.inputChecks ?? []).map(inputGuardrail), // before the budget: a rejected input costs nothing
      ...(options.outputChecks ?? []).map(outputGuardrail), // outside the budget: nothing is reserved during the check
      budget.run, // innermost: only the loop inside it spends
    ],
    model: [
      ...(fallbackModels.length > 0 ? [fallback(fallbackModels)] : []), // outermost: each model gets its own retries
      retry(options.retry), // outside the circuit, so that the circuit counts each attempt
      circuit, // before the budget: nothing is reserved for a call that the circuit rejects
      budget.model, // inside retry and fallback, so that each attempt is charged
      traceModelCalls, // innermost: the span measures the vendor, not the delays and the ledger
    ],
  };
}

export const EXECUTION_OPTIONS = Symbol('EXECUTION_OPTIONS');

/** The limits of each run of an agent that Rollcall runs itself. */
export interface ExecutionOptions {
  /** The time limit of a run. The default is ten minutes. */
  readonly timeoutMs?: number;
  readonly retry?: Pick<RetryOptions, 'maxAttempts' | 'maxDelayMs'>;
  /** More middleware around each run, from the outermost to the innermost. */
  readonly middleware?: readonly RunMiddleware[];
  readonly inputChecks?: readonly InputCheck[];
  readonly outputChecks?: readonly OutputCheck[];
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
  create(limit: SpendingLimit | undefined, model?: ModelProvider): Middleware {
    const { log, circuit, spending } = this;
    return defaultMiddleware({ ...this.options, log, circuit, budget: { spending, limit }, ...(model && { model }) });
  }
}
