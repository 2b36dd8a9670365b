import type { AgentBudget } from '../../agents/agent.record.js';
import type { CandidateView } from '../directory/listing.js';
import type { CandidateMark } from './assessment.js';
import type { Exclusion } from './routability.js';
import type { Match } from './search.js';
import type { SelectionStrategy } from './strategies.js';

export interface RankedCandidate {
  /** Starts at 1. */
  rank: number;
  /** `scoreMeaning` explains its unit. Null if the value is unknown, or if the strategy has no score. */
  score: number | null;
  marks: CandidateMark[];
  reasons: string[];
  agent: CandidateView;
}

export interface ExcludedAgent {
  agentId: string;
  name: string;
  exclusions: Exclusion[];
}

/** The place of one agent in a ranking, or the reasons why it has none. */
export interface AboutAgent {
  agentId: string;
  /** Starts at 1, and can be beyond the limit of the query. Null if the agent is excluded, or after more candidates than are checked. */
  rank: number | null;
  score: number | null;
  reasons: string[];
  exclusions: Exclusion[];
}

/** The result of a query: the candidates, best first. The caller chooses one of them. */
export interface Ranking {
  prefer: string;
  scoreMeaning: string;
  candidates: RankedCandidate[];
  /** If there are no candidates: the time after which there will be one, if no agent changes. Null in all other cases. */
  retryAfterMs: number | null;
  /** The strategy that the query named, if it failed and the strategy in `prefer` replaced it. */
  failedStrategy?: string;
  /** Only with `explain`: the excluded agents, with the fewest exclusions first. */
  excluded?: ExcludedAgent[];
  /** The number of excluded agents, among at most 10,000 that are checked. `excluded` contains the first of them. */
  excludedTotal?: number;
  /** Only if the query names an agent in `about`. */
  about?: AboutAgent;
  /** The requested capabilities that no agent declares, with the most similar declared ones. */
  unclaimed?: { capability: string; similar: string[] }[];
}

/** A candidate without the agent itself: its rank and the reasons for it. */
type CandidateRating = Omit<RankedCandidate, 'agent'>;

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

/** The result of a query before it is converted to objects or JSON. */
export interface QueryResult {
  strategy: SelectionStrategy;
  /** Best first. */
  matches: readonly Match[];
  /** All fields of the ranking except the candidates. */
  facts: Omit<Ranking, 'candidates'>;
}

export function toRanking({ strategy, matches, facts }: QueryResult): Ranking {
  const candidates = matches.map((match, at) => ({ ...rate(match, strategy, at + 1), agent: match.listing.view() }));
  return { ...facts, candidates };
}

/** Returns the ranking in JSON. It reuses the serialised agents instead of serialising them for every query. */
export function rankingJson({ strategy, matches, facts }: QueryResult): string {
  const { prefer, scoreMeaning, ...rest } = facts;
  const candidates = matches.map((match, at) =>
    withMember(JSON.stringify(rate(match, strategy, at + 1)), 'agent', match.listing.document()),
  );
  const head = withMember(JSON.stringify({ prefer, scoreMeaning }), 'candidates', `[${candidates.join(',')}]`);
  return `${head.slice(0, -1)},${JSON.stringify(rest).slice(1)}`;
}

/** Appends a member to a JSON object that has at least one member. */
function withMember(object: string, name: string, value: string): string {
  return `${object.slice(0, -1)},"${name}":${value}}`;
}
