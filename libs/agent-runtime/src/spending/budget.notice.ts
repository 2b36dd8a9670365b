import type { ModelMessage, ModelRequest } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import type { ModelCall } from '../middleware/middleware.js';
import type { Awaitable, RunUsage, Spending, SpendingAmount, SpendingLimit } from './spending.js';

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
    private readonly limit: SpendingLimit,
  ) {}

  /** Without a limit, there is nothing to inform about. */
  get isNeeded(): boolean {
    return this.limit.tokens !== null || this.limit.microUsd !== null;
  }

  /** Inserts the notice after the system messages at the beginning. */
  addTo(call: ModelCall): Awaitable<ModelRequest> {
    if (this.turn !== undefined || call.isFinal) return this.informed(call);
    const usage = this.spending.usageOf(this.context.namespace, this.context.runId);
    if (usage instanceof Promise) return usage.then((known) => this.checked(call, known));
    return this.checked(call, usage);
  }

  private checked(call: ModelCall, usage: RunUsage): ModelRequest {
    this.check(call.turn, usage);
    return this.informed(call);
  }

  private informed({ request, turn, isFinal }: ModelCall): ModelRequest {
    if (this.turn !== turn || isFinal) return request;
    const { messages } = request;
    const first = messages.findIndex(({ role }) => role !== 'system');
    const notice: ModelMessage = { role: 'system', text: this.text };
    return { ...request, messages: messages.toSpliced(first === -1 ? messages.length : first, 0, notice) };
  }

  private check(turn: number, usage: RunUsage): void {
    const unit = UNITS.find((one) => shareOf(usage, one) >= NOTICE_SHARE);
    if (!unit) return;
    this.turn = turn;
    const percent = Math.floor(shareOf(usage, unit) * 100);
    this.text =
      `Budget notice: this run has used ${percent} % of its ${unit === 'tokens' ? 'tokens' : 'money'}. ` +
      'Finish the task with as few further steps as possible, and give your answer soon.';
  }
}

function shareOf({ subtree, limit }: RunUsage, unit: keyof SpendingAmount): number {
  const most = limit[unit];
  return most === null || most === 0 ? 0 : subtree[unit] / most;
}
