import { RuntimeError } from '../errors.js';
import type { SpendingAmount } from './spending.js';

/** The budget that has too little left. */
export interface ShortBudget {
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

/** The run has a limit of money, which cannot be applied to a model without prices. */
export class ModelPriceUnknownError extends RuntimeError {
  readonly code = 'MODEL_PRICE_UNKNOWN';

  constructor(label: string) {
    super(
      `The run has a limit of money, but the model ${label} has no prices. Add usdPerMillionTokens to its preset, ` +
        'or limit the run by tokens.',
    );
  }
}
