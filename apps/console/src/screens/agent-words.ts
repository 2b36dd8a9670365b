import type { AgentView } from '#rollcall/client';
import { count, money, plain, words } from '../parts/format.js';
import type { Tone } from '../parts/parts.js';

/** The state that matters most, as a word with its colour. */
export function standing({ status, health, budget }: AgentView): { word: string; tone: Tone } {
  if (status === 'left') return { word: 'left', tone: 'off' };
  if (status === 'quarantined') return { word: 'quarantined', tone: 'bad' };
  if (status === 'draining') return { word: 'draining', tone: 'off' };
  if (health.circuitBreakerState === 'open') return { word: 'circuit open', tone: 'bad' };
  if (budget.remaining === 0) return { word: 'no budget', tone: 'bad' };
  if (status === 'suspect') return { word: 'suspect', tone: 'warn' };
  if (health.circuitBreakerState === 'half_open') return { word: 'probing', tone: 'warn' };
  return { word: 'active', tone: 'good' };
}

/** How the agent gets its work. */
export function origin({
  definition,
  work,
  endpoint,
  provider,
}: Pick<AgentView, 'definition' | 'work' | 'endpoint' | 'provider'>): string {
  if (definition !== null) return plain(definition.replace('@', ', rev '));
  if (work === 'pull') return 'takes tasks';
  if (endpoint !== null) return 'external';
  return provider.adapter === 'unknown' ? 'no address' : plain(provider.adapter);
}

export function price({ costModel }: AgentView): string {
  const { usdPerTask, usdPer1kTokens } = costModel;
  if (usdPerTask !== null) return `${money(usdPerTask * 1_000_000)} / task`;
  return usdPer1kTokens === null ? 'unknown' : `${money(usdPer1kTokens * 1_000_000)} / 1k`;
}

/** The tightest budget, and which share of it is left. */
export function tightest({ budget }: AgentView): { text: string; left: number; tone?: Tone } {
  const { remaining, totalTokens } = budget;
  if (remaining === null) return { text: 'unlimited', left: 1 };
  const left = totalTokens === null || totalTokens === 0 ? 0 : remaining / totalTokens;
  const tone = remaining === 0 || left < 0.03 ? 'bad' : left < 0.1 ? 'warn' : undefined;
  return { text: `${count(remaining)} tokens`, left, ...(tone && { tone }) };
}

export function leaveText({ leaveReason }: AgentView): string {
  return leaveReason === null ? 'left' : `left: ${words(leaveReason)}`;
}
