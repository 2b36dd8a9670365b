import type { ModelMessage, ModelRequest } from '#rollcall/providers';
import { estimateMessages, estimateTools } from '../tokens/token.estimate.js';

/**
 * Estimates the input tokens of the next call of a run: the count that the vendor reported for the previous call, plus an estimate
 * of the messages that were added after it.
 */
export class ConversationSize {
  private count = 0;
  private last: ModelMessage | undefined;
  private tokens = 0;

  estimate({ messages, tools }: ModelRequest): number {
    const isContinued = this.count > 0 && messages[this.count - 1] === this.last;
    if (isContinued) return this.tokens + estimateMessages(messages, this.count);
    return estimateMessages(messages) + estimateTools(tools);
  }

  /** Records the input tokens that the vendor reported for the request. */
  learn({ messages }: ModelRequest, inputTokens: number | undefined): void {
    if (inputTokens === undefined) return;
    this.count = messages.length;
    this.last = messages.at(-1);
    this.tokens = inputTokens;
  }
}
