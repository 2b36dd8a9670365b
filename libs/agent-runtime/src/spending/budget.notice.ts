import type { ModelMessage, ModelRequest } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import type { ModelCall } from '../middleware/middleware.js';
import type { RunUsage, Spending, SpendingAmount } from './spending.js';

const NOTICE_SHARE = 0.8;
/** The estimate for the message with the notice. */
export const MAX_NOTICE_TOKENS = 100;
const UNITS = ['tokens', 'microUsd'] as const satisfies (keyof SpendingAmount)[];

/**
 * Informs the model once that its run has used most of its budget, so that it can finish. All attempts of that turn contain the
 * notice; later turns do not.
 */
export class BudgetNotice {
  private turn: number | undefined;
  private text = '';

  constructor(
    private readonly spending: Spending,
    private readonly context: RunContext,
    private usage: RunUsage,
  ) {}

  /** Without a limit, there is nothing to inform about. */
  get isNeeded(): boolean {
    return this.usage.limit.tokens !== null || this.usage.limit.microUsd !== null;
  }

  /** Inserts the notice after the system messages at the beginning. */
  async addTo({ request, turn, isFinal }: ModelCall): Promise<ModelRequest> {
    if (this.turn === undefined && !isFinal) await this.check(turn);
    if (this.turn !== turn || isFinal) return request;
    const { messages } = request;
    const first = messages.findIndex(({ role }) => role !== 'system');
    const notice: ModelMessage = { role: 'system', text: this.text };
    return { ...request, messages: messages.toSpliced(first === -1 ? messages.length : first, 0, notice) };
  }

  private async check(turn: number): Promise<void> {
    this.usage = await this.spending.usageOf(this.context.namespace, this.context.runId);
    const unit = UNITS.find((one) => shareOf(this.usage, one) >= NOTICE_SHARE);
    if (!unit) return;
    this.turn = turn;
    const percent = Math.floor(shareOf(this.usage, unit) * 100);
    this.text =
      `Budget notice: this run has used ${percent} % of its ${unit === 'tokens' ? 'tokens' : 'money'}. ` +
      'Finish the task with as few further steps as possible, and give your answer soon.';
  }
}

function shareOf({ subtree, limit }: RunUsage, unit: keyof SpendingAmount): number {
  const most = limit[unit];
  return most === null || most === 0 ? 0 : subtree[unit] / most;
}
