import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ModelUsage } from '../usage.js';

/** The names of each count in the answers of vendors. */
const NAMES: Record<keyof ModelUsage, string[]> = {
  inputTokens: ['input_tokens', 'prompt_tokens'],
  outputTokens: ['output_tokens', 'completion_tokens'],
  cacheReadTokens: ['cache_read_input_tokens', 'cached_tokens'],
  cacheWriteTokens: ['cache_creation_input_tokens', 'cache_write_tokens'],
  reasoningTokens: ['reasoning_tokens', 'thinking_tokens'],
};

/**
 * The AI SDK reports some missing counts as 0. A 0 is therefore only used if the raw answer of the vendor contains the
 * count.
 */
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
    if (isCount(count) && (count > 0 || contains(raw, NAMES[name]))) usage[name] = count;
  }
  return usage;
}

/** Some servers report fractions or negative numbers. These cannot be charged, so they are treated as unknown. */
function isCount(count: number | undefined): count is number {
  return Number.isSafeInteger(count) && (count ?? -1) >= 0;
}

function contains(raw: unknown, names: string[]): boolean {
  if (typeof raw !== 'object' || raw === null) return false;
  return Object.entries(raw).some(([key, value]) =>
    typeof value === 'number' ? names.includes(key) : contains(value, names),
  );
}
