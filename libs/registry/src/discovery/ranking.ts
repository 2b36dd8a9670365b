import type { AgentRecord } from '../agents/agent.record.js';
import type { CandidateMark } from './assessment.js';
import type { Exclusion } from './routability.js';

/** An agent in a result: the record without the card, which may be large and can be read with GET. */
export type CandidateView = Omit<AgentRecord, 'agentCard'>;

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

/** The result of a query: the candidates, best first. The caller chooses one of them. */
export interface Ranking {
  prefer: string;
  scoreMeaning: string;
  candidates: RankedCandidate[];
  /** If there are no candidates: the time after which there will be one, if no agent changes. Null in all other cases. */
  retryAfterMs: number | null;
  /** Only with `explain`: the excluded agents, with the fewest exclusions first. */
  excluded?: ExcludedAgent[];
  /** The number of excluded agents, among at most 10,000 that are checked. `excluded` contains the first of them. */
  excludedTotal?: number;
  /** The requested capabilities that no agent claims, with the most similar claimed ones. */
  unclaimed?: { capability: string; similar: string[] }[];
}
