import type { AgentBudget } from '../agents/agent.record.js';
import type { CandidateMark } from './assessment.js';
import type { Listing } from './listing.js';
import type { RankedCandidate } from './ranking.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';

/** An agent that matches a query, by its exact capabilities or by similarly spelled ones. */
export interface Match {
  listing: Listing;
  fuzzy: boolean;
}

/** A candidate without the agent itself: its rank and the reasons for it. */
export type CandidateRating = Omit<RankedCandidate, 'agent'>;

export function rate({ listing, fuzzy }: Match, strategy: SelectionStrategy, rank: number): CandidateRating {
  const { assessment } = listing;
  const marks: CandidateMark[] = fuzzy ? ['fuzzy_match', ...assessment.marks] : [...assessment.marks];
  const budget = budgetText(assessment.record.budget);
  const reasons = [strategy.reason(assessment), budget, ...marks.map((mark) => MARK_TEXTS[mark])];
  return { rank, score: strategy.score(assessment), marks, reasons };
}

const MARK_TEXTS: Record<CandidateMark, string> = {
  low_budget: 'low budget',
  saturated: 'no free capacity: ranked after agents with free capacity',
  suspect: 'heartbeats are missing: ranked after agents that send them',
  probe: 'its circuit is half open: claim the probe slot before you call it',
  fuzzy_match: 'matches only by a similarly spelled capability',
};

function budgetText({ remaining }: AgentBudget): string {
  return remaining === null ? 'unlimited tokens' : `${compactCount(remaining)} tokens remaining`;
}

/** Formats a count as 376k, 1.2M or 999. Rounds down, so that a result never shows more than is left. */
function compactCount(count: number): string {
  if (count >= 1_000_000) return `${Math.floor(count / 100_000) / 10}M`;
  return count >= 1_000 ? `${Math.floor(count / 1_000)}k` : String(count);
}
