import type { AgentRecord } from '../agents/agent.record.js';
import type { CandidateMark } from './assessment.js';
import type { Exclusion } from './routability.js';

/** What an answer shows of an agent: all but the card, which may be large and is one GET away. */
export type CandidateView = Omit<AgentRecord, 'agentCard'>;

export interface RankedCandidate {
  /** From 1. */
  rank: number;
  /** In the strategy's own measure; null when the agent does not tell. */
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

/** Who can do this now, best first; the caller picks. */
export interface Ranking {
  prefer: string;
  scoreMeaning: string;
  candidates: RankedCandidate[];
  /** With no candidates: when waiting alone will have made one. Null when it will not, or when there are candidates. */
  retryAfterMs: number | null;
  /** Only when asked to explain: who was left out, those nearest to being eligible first. */
  excluded?: ExcludedAgent[];
  /** How many were left out of those near the question (10,000 are looked at, at the most); `excluded` shows the first. */
  excludedTotal?: number;
  /** Asked for, and claimed by nobody; with the most similar capabilities that are. */
  unclaimed?: { capability: string; similar: string[] }[];
}
