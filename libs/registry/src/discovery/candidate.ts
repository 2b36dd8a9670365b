import type { AgentBudget } from '../agents/agent.record.js';
import type { Assessment, CandidateMark } from './assessment.js';
import type { Listing } from './listing.js';
import type { CandidateView, RankedCandidate } from './ranking.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';

/** An agent that was found, and whether by its exact capabilities. */
export interface Found {
  listing: Listing;
  fuzzy: boolean;
}

export function toCandidate({ listing, fuzzy }: Found, strategy: SelectionStrategy, rank: number): RankedCandidate {
  return { rank, ...judge(listing.assessment, strategy, fuzzy), agent: toCandidateView(listing) };
}

/** The same as JSON, put together from texts that are kept until the agent changes. */
export function candidateJson({ listing, fuzzy }: Found, strategy: SelectionStrategy, rank: number): string {
  listing.json ??= JSON.stringify(toCandidateView(listing));
  return `{"rank":${rank},${preface(listing, strategy, fuzzy)},"agent":${listing.json}}`;
}

function preface(listing: Listing, strategy: SelectionStrategy, fuzzy: boolean): string {
  const key = fuzzy ? `~${strategy.name}` : strategy.name;
  const kept = listing.prefaces?.get(key);
  if (kept !== undefined) return kept;
  const text = JSON.stringify(judge(listing.assessment, strategy, fuzzy)).slice(1, -1);
  listing.prefaces ??= new Map();
  listing.prefaces.set(key, text);
  return text;
}

function judge(
  agent: Assessment,
  strategy: SelectionStrategy,
  fuzzy: boolean,
): Pick<RankedCandidate, 'score' | 'marks' | 'reasons'> {
  const marks: CandidateMark[] = fuzzy ? ['fuzzy_match', ...agent.marks] : [...agent.marks];
  const reasons = [strategy.reason(agent), budgetText(agent.record.budget), ...marks.map((mark) => MARK_TEXTS[mark])];
  return { score: strategy.score(agent), marks, reasons };
}

function toCandidateView(listing: Listing): CandidateView {
  const { agentCard: _, ...view } = listing.heard(listing.assessment.record);
  return view;
}

const MARK_TEXTS: Record<CandidateMark, string> = {
  low_budget: 'low budget',
  saturated: 'no free capacity: ranked after those that have some',
  suspect: 'heartbeats are missing: ranked after those that are heard',
  probe: 'its circuit is half open: claim the probe slot before calling it',
  fuzzy_match: 'claims nothing asked for exactly, only something spelled like it',
};

function budgetText({ remaining }: AgentBudget): string {
  return remaining === null ? 'unlimited tokens' : `${compactCount(remaining)} tokens remaining`;
}

/** 376k as in the RFC, 1.2M, 999; rounded down, so that nobody is promised more than there is. */
function compactCount(count: number): string {
  if (count >= 1_000_000) return `${Math.floor(count / 100_000) / 10}M`;
  return count >= 1_000 ? `${Math.floor(count / 1_000)}k` : String(count);
}
