import type { ModelMessage, ModelRequest } from '#rollcall/providers';
import { estimateMessages, estimateTools } from './token.estimate.js';

/**
 * Estimates the input tokens of the next call of a run. It begins with the count that the vendor reported for the last call, and
 * estimates only the messages that were added since.
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

  /** The request used this many input tokens. */
  learn({ messages }: ModelRequest, inputTokens: number | undefined): void {
    if (inputTokens === undefined) return;
    this.count = messages.length;
    this.last = messages.at(-1);
    this.tokens = inputTokens;
  }
}
