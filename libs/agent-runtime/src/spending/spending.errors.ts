import { BudgetExhaustedError } from '#rollcall/registry';
import { RuntimeError } from '../errors.js';
import type { SpendingAmount } from './spending.js';

/** The budget that has too little left. */
interface ShortBudget {
  readonly kind: string;
  /** Absent if the caller must not know it. */
  readonly subject?: string;
  readonly unit: keyof SpendingAmount;
}

/** A call costs more than a budget has left. The run then makes its final call. */
export class SpendingLimitError extends RuntimeError {
  readonly code = 'SPENDING_LIMIT_REACHED';
  override readonly details: Record<string, unknown>;
  override readonly retryAfterMs?: number;

  constructor(
    message: string,
    readonly budget: ShortBudget,
    retryAfterMs?: number,
  ) {
    super(message);
    this.details = { budget };
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

/** A budget that the call concerns limits money, so a model without prices cannot be called. */
export class ModelPriceUnknownError extends RuntimeError {
  readonly code = 'MODEL_PRICE_UNKNOWN';

  constructor(label: string, cause: Error) {
    super(
      `${cause.message} The model ${label} has no prices. Add usdPerMillionTokens to its preset, or limit the budget by tokens.`,
      { cause },
    );
  }
}

/** A budget that the call concerns limits money, so an agent without prices cannot be called. */
export class AgentPriceUnknownError extends RuntimeError {
  readonly code = 'AGENT_PRICE_UNKNOWN';

  constructor(name: string, cause: Error) {
    super(
      `${cause.message} The agent ${name} declares no price. Register it with a costModel (usdPerTask or usdPer1kTokens), or limit ` +
        'the budget by tokens.',
      { cause },
    );
  }
}

/** The error of the runtime for a rejected reservation. */
export function limitError(error: unknown): unknown {
  if (!(error instanceof BudgetExhaustedError)) return error;
  const { kind, subject, unit } = error.details['budget'] as ShortBudget;
  const budget = kind === 'fleet' ? { kind, unit } : { kind, subject, unit };
  return new SpendingLimitError(error.message, budget, error.retryAfterMs);
}
