import type { AgentRecord } from '../../agents/agent.record.js';

const MICROS_PER_USD = 1_000_000;

/** Converts to whole micro-dollars, so that prices compare exactly. */
export function toMicros(usd: number): number {
  return Math.round(usd * MICROS_PER_USD);
}

export interface Price {
  /** The fixed price of a task. */
  taskMicros: number;
  /** The price of a million tokens, because a thousand cheap tokens cost less than a micro-dollar. */
  microsPer1mTokens: number;
}

/** Returns undefined if the agent declares no price. A subscription without a price costs nothing, because it is paid already. */
export function priceOf({ costModel, provider }: Pick<AgentRecord, 'costModel' | 'provider'>): Price | undefined {
  const { usdPerTask, usdPer1kTokens } = costModel;
  if (usdPerTask === null && usdPer1kTokens === null && provider.type !== 'subscription') return undefined;
  return { taskMicros: toMicros(usdPerTask ?? 0), microsPer1mTokens: perMillion(usdPer1kTokens ?? 0) };
}

/** The price of a task with this many tokens. */
export function estimateMicros(price: Price, tokens: number): number {
  return price.taskMicros + Math.round((price.microsPer1mTokens / 1_000_000) * tokens);
}

export function perMillion(usdPer1kTokens: number): number {
  return toMicros(usdPer1kTokens * 1_000);
}

/** Formats a price as `$0/task`, `$0.003/1k tokens` or `$0.01/task + $0.003/1k tokens`. */
export function priceText(price: Price | undefined): string {
  if (price === undefined) return 'price unknown';
  const parts: string[] = [];
  if (price.taskMicros > 0 || price.microsPer1mTokens === 0) parts.push(`${usdText(price.taskMicros)}/task`);
  if (price.microsPer1mTokens > 0) parts.push(`${usdText(price.microsPer1mTokens / 1_000)}/1k tokens`);
  return parts.join(' + ');
}

function usdText(micros: number): string {
  return `$${(micros / MICROS_PER_USD).toFixed(9).replace(/\.?0{1,9}$/, '')}`;
}
