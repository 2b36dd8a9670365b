import type { Auction, ContractState, ExpiryReason } from './auction/auction.js';
import type { ContractLimits, Offer } from './auction/bid.js';
import type { ScoringWeights } from './auction/scoring.js';
import type { AwardResult } from './auction/track-record.js';

/** What the award reserves. Without `microUsd`, it reserves the price of the bid. */
export interface ContractReserve {
  readonly tokens: number;
  readonly microUsd: number | null;
  /** The run whose budget, and whose ancestors' budgets, the reservation counts against; null for none. */
  readonly runId: string | null;
}

/** A call for proposals. The API has validated it. */
export interface Announcement {
  readonly namespace: string;
  readonly capabilities: readonly string[];
  readonly task: string;
  /** How long agents may bid. */
  readonly bidWithinMs: number;
  /** How long the winner may take to confirm. */
  readonly confirmWithinMs: number;
  readonly limits: ContractLimits;
  readonly reserve: ContractReserve;
  readonly scoring: string;
  readonly weights: ScoringWeights;
  /** Whether a run with the winner starts when the winner has confirmed. */
  readonly run: boolean;
  /** The principal that announces. It stays the same when an API key is rotated. */
  readonly by: string;
  /** The qualified id of the caller, whose budgets the award counts against and which owns its reservation. */
  readonly payer: string;
}

/** The actual cost and duration of the work of the winner. Null means unknown. */
export interface ContractOutcome {
  readonly ok: boolean;
  /** Why the work failed, if Rollcall knows it. */
  readonly reason?: string;
  readonly microUsd: number | null;
  readonly tokens: number | null;
  readonly ms: number | null;
}

export interface Contract extends Omit<Announcement, 'bidWithinMs'>, Auction {
  readonly id: string;
  readonly state: ContractState;
  readonly announcedAt: number;
  readonly invited: number;
  /** How many capable agents were not invited, because a contract invites at most `MAX_INVITED`. */
  readonly notInvited: number;
  /** How many of the invited agents have bid or refused. */
  readonly answered: number;
  /** The qualified id of the agent that has the award; null before the award and after the last award lapsed. */
  readonly winner: string | null;
  /** How many awards there were. Each one has its own reservation. */
  readonly awards: number;
  readonly awardedAt: number | null;
  readonly endedAt: number | null;
  readonly expiryReason: ExpiryReason | null;
  readonly runId: string | null;
  readonly outcome: ContractOutcome | null;
}

/** A contract in a list, with its position in the order of announcement. */
export interface ListedContract extends Contract {
  readonly seq: number;
}

export type Answer = 'bid' | 'refused';

/** One invited agent and its answer. The registry reads all of them when it opens the bids. */
export interface Participant {
  readonly agentId: string;
  /** The registration that was invited; after an answer, the registration that answered. */
  readonly generation: number;
  readonly answer: Answer | null;
  readonly offer: Offer | null;
  /** The note of the bid or of the refusal. */
  readonly note: string | null;
  /** How many answers of the agent were accepted. Only the last one counts. */
  readonly revision: number;
  readonly answeredAt: number | null;
  readonly lateAnswers: number;
  /** 1 is the best bid; null before the bids are opened, and without a bid. */
  readonly rank: number | null;
  readonly score: number | null;
  readonly result: AwardResult | null;
}
