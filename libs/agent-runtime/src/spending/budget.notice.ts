import type { ModelMessage, ModelRequest } from '#rollcall/providers';
import type { ModelCall } from '../middleware/middleware.js';
import type { SpendingAmount, SpendingLimit } from './spending.js';

const NOTICE_SHARE = 0.8;
/** The estimate for the message with the notice. */
export const MAX_NOTICE_TOKENS = 100;
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
export class BudgetNotice {
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
