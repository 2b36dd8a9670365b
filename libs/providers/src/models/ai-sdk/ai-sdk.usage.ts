import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ModelUsage } from '../usage.js';

/** How the wires name each count. */
const NAMES: Record<keyof ModelUsage, string[]> = {
  inputTokens: ['input_tokens', 'prompt_tokens'],
  outputTokens: ['output_tokens', 'completion_tokens'],
  cacheReadTokens: ['cache_read_input_tokens', 'cached_tokens'],
  cacheWriteTokens: ['cache_creation_input_tokens', 'cache_write_tokens'],
  reasoningTokens: ['reasoning_tokens', 'thinking_tokens'],
};

/** The AI SDK turns many a count that was not stated into 0. So a 0 is believed only if the wire itself said it. */
export function toUsage({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): ModelUsage {
  const counts: Record<keyof ModelUsage, number | undefined> = {
    inputTokens: inputTokens.total,
    outputTokens: outputTokens.total,
    cacheReadTokens: inputTokens.cacheRead,
    cacheWriteTokens: inputTokens.cacheWrite,
    reasoningTokens: outputTokens.reasoning,
  };
  const usage: ModelUsage = {};
  for (const name of Object.keys(counts) as (keyof ModelUsage)[]) {
    const count = counts[name];
    if (isCount(count) && (count > 0 || states(raw, NAMES[name]))) usage[name] = count;
  }
  return usage;
}

/** Some servers state a fraction, or less than nothing; neither can be charged, so neither is known. */
function isCount(count: number | undefined): count is number {
  return Number.isSafeInteger(count) && (count ?? -1) >= 0;
}

function states(raw: unknown, names: string[]): boolean {
  if (typeof raw !== 'object' || raw === null) return false;
  return Object.entries(raw).some(([key, value]) =>
    typeof value === 'number' ? names.includes(key) : states(value, names),
  );
}
