import { createHash } from 'node:crypto';
import { NamedScoringUnknownError } from '../contract.errors.js';
import type { Offer } from './bid.js';
import type { TrackRecord } from './track-record.js';

/** How much each part of a score counts. Only the ratios matter. */
export interface ScoringWeights {
  readonly price: number;
  readonly eta: number;
  readonly confidence: number;
  readonly reliability: number;
}

export const DEFAULT_WEIGHTS: ScoringWeights = { price: 0.4, eta: 0.2, confidence: 0.1, reliability: 0.3 };

/** A bid, and what is known about the agent that made it. */
export interface Contender {
  readonly agentId: string;
  readonly offer: Offer;
  readonly trackRecord: TrackRecord;
}

/** The score of a bid. */
export interface BidScore {
  readonly agentId: string;
  /** From 0 to 1; more is better. */
  readonly score: number;
  /** The parts of the score, each from 0 to 1, before the weights are applied. */
  readonly parts: ScoringWeights;
}

/** Scores all bids of an auction. The result must depend on the arguments only, and not on the order of the bids. */
export interface ScoringRule {
  readonly name: string;
  score(contenders: readonly Contender[], weights: ScoringWeights): BidScore[];
}

const PRECISION = 1e9;

/**
 * The default rule. Prices and times are multiplied by the usual overrun of the agent, and then compared with the best ones of the
 * auction. The confidence is weighted with the reliability of the agent. So an agent that promises too much loses against an agent that
 * keeps a slightly worse promise.
 */
export const WEIGHTED_RULE: ScoringRule = {
  name: 'weighted',
  score(contenders, weights) {
    const expected = contenders.map(({ offer, trackRecord }) => ({
      price: offer.price * trackRecord.costOverrun,
      etaMs: offer.etaMs * trackRecord.timeOverrun,
    }));
    const cheapest = Math.min(...expected.map(({ price }) => price));
    const fastest = Math.min(...expected.map(({ etaMs }) => etaMs));
    return contenders.map(({ agentId, offer, trackRecord: { reliability } }, index) => {
      const { price, etaMs } = expected[index];
      const parts = {
        price: (cheapest + 1) / (price + 1), // plus one micro-dollar, because a price can be 0
        eta: fastest / etaMs,
        confidence: offer.confidence * reliability,
        reliability,
      };
      return { agentId, score: weighted(parts, weights), parts };
    });
  },
};

/** Sorts the best bid first. If scores are equal, price, then time, then confidence decide, and finally a hash that favours no agent. */
export function ranked(contractId: string, contenders: readonly Contender[], scores: readonly BidScore[]): BidScore[] {
  const offers = new Map(contenders.map(({ agentId, offer }) => [agentId, offer]));
  return scores.toSorted((one, other) => {
    const [mine, theirs] = [offers.get(one.agentId), offers.get(other.agentId)];
    return (
      other.score - one.score ||
      (mine?.price ?? 0) - (theirs?.price ?? 0) ||
      (mine?.etaMs ?? 0) - (theirs?.etaMs ?? 0) ||
      (theirs?.confidence ?? 0) - (mine?.confidence ?? 0) ||
      compareText(lot(contractId, one.agentId), lot(contractId, other.agentId))
    );
  });
}

/** Returns a message if the weights are invalid. */
export function weightsFault(weights: ScoringWeights): string | undefined {
  const values = Object.values(weights) as number[];
  if (values.some((weight) => !(weight >= 0 && weight <= 1_000))) return 'Each weight must be a number from 0 to 1000.';
  return values.every((weight) => weight === 0) ? 'At least one weight must be above 0.' : undefined;
}

function weighted(parts: ScoringWeights, weights: ScoringWeights): number {
  const names = Object.keys(DEFAULT_WEIGHTS) as (keyof ScoringWeights)[];
  const total = names.reduce((sum, name) => sum + weights[name], 0);
  const sum = names.reduce((all, name) => all + weights[name] * parts[name], 0);
  return Math.round((sum / total) * PRECISION) / PRECISION;
}

function lot(contractId: string, agentId: string): string {
  return createHash('sha256').update(`${contractId}\n${agentId}`).digest('hex');
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** The scoring rules that an announcement can name. A deployment adds its own with the option `contracts.scoring`. */
export class ScoringRules {
  private readonly rules: ReadonlyMap<string, ScoringRule>;

  constructor(more: readonly ScoringRule[] = []) {
    this.rules = new Map([WEIGHTED_RULE, ...more].map((rule) => [rule.name, rule]));
  }

  get(name: string): ScoringRule {
    const rule = this.rules.get(name);
    if (!rule) throw new NamedScoringUnknownError(name, [...this.rules.keys()]);
    return rule;
  }
}
