import type { ModelMessage, ModelRequest } from '#rollcall/providers';
import { estimateMessages, estimateText, estimateTools } from '../loop/token.estimate.js';

const CUT_NOTICE = '\n[cut: the budget of this run does not allow more]';
const NOTICE_TOKENS = estimateText(CUT_NOTICE);
const BYTES_PER_TOKEN = 3;

/**
 * Cuts the longest results of tools until the request has at most this many tokens, so that a run at its limit can still answer.
 * Returns undefined if that is not enough. Nothing else is cut.
 */
export function shortened(request: ModelRequest, maxTokens: number): ModelRequest | undefined {
  const excess = estimateMessages(request.messages) + estimateTools(request.tools) - maxTokens;
  if (excess <= 0) return request;
  const limit = outputLimit(request.messages, excess);
  return limit === undefined ? undefined : { ...request, messages: request.messages.map((one) => cut(one, limit)) };
}

/** Returns the limit for each output that removes at least `excess` tokens in total. */
function outputLimit(messages: readonly ModelMessage[], excess: number): number | undefined {
  const sizes = messages
    .flatMap((message) => (message.role === 'tool' ? message.content : []))
    .map(({ output }) => estimateText(output))
    .toSorted((one, other) => other - one);
  let sum = 0;
  for (const [index, size] of sizes.entries()) {
    sum += size;
    const limit = Math.floor((sum - excess) / (index + 1));
    if (limit <= NOTICE_TOKENS) continue;
    if (limit >= (sizes[index + 1] ?? 0)) return limit;
  }
  return undefined;
}

function cut(message: ModelMessage, limit: number): ModelMessage {
  if (message.role !== 'tool') return message;
  const content = message.content.map((part) =>
    estimateText(part.output) <= limit ? part : { ...part, output: cutText(part.output, limit - NOTICE_TOKENS) },
  );
  return { ...message, content };
}

/** Removes an incomplete character at the end. */
function cutText(text: string, tokens: number): string {
  const kept = Buffer.from(text).subarray(0, tokens * BYTES_PER_TOKEN);
  return kept.toString().replace(/\uFFFD$/, '') + CUT_NOTICE;
}
