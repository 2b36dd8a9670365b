import * as fc from 'fast-check';
import { checkOffer, type Offer } from './bid.js';
import {
  type Contender,
  DEFAULT_WEIGHTS,
  ranked,
  type ScoringWeights,
  WEIGHTED_RULE,
  weightsFault,
} from './scoring.js';
import { NO_TRACK_RECORD, type PastAward, trackRecord } from './track-record.js';

const offer = (overrides: Partial<Offer> = {}): Offer => ({
  price: 1_000,
  etaMs: 1_000,
  confidence: 0.9,
  note: null,
  ...overrides,
});
const bid = (agentId: string, overrides: Partial<Offer> = {}, history = NO_TRACK_RECORD): Contender => ({
  agentId,
  offer: offer(overrides),
  trackRecord: history,
});
const kept = (overrides: Partial<PastAward> = {}): PastAward => ({
  result: 'completed',
  price: 1_000,
  etaMs: 1_000,
  actualMicroUsd: 1_000,
  actualMs: 1_000,
  ...overrides,
});
const order = (contenders: Contender[], weights = DEFAULT_WEIGHTS, contract = 'c'): string[] =>
  ranked(contract, contenders, WEIGHTED_RULE.score(contenders, weights)).map(({ agentId }) => agentId);

const weight = fc.double({ min: 0, max: 10, noNaN: true });
const weights: fc.Arbitrary<ScoringWeights> = fc
  .record({ price: weight, eta: weight, confidence: weight, reliability: weight })
  .filter((all) => Object.values(all).some((one) => one > 0.001));
const awards = fc.array(
  fc.record({
    result: fc.constantFrom('completed' as const, 'failed' as const, 'lapsed' as const, 'declined' as const),
    price: fc.nat(5_000),
    etaMs: fc.integer({ min: 1, max: 5_000 }),
    actualMicroUsd: fc.option(fc.nat(50_000)),
    actualMs: fc.option(fc.nat(50_000)),
  }),
  { maxLength: 10 },
);
const offers = fc.record({
  price: fc.nat(1_000_000),
  etaMs: fc.integer({ min: 1, max: 1_000_000 }),
  confidence: fc.double({ min: 0, max: 1, noNaN: true }),
  note: fc.constant(null),
});
const contenders = fc.array(fc.tuple(offers, awards), { minLength: 1, maxLength: 8 }).map((all) =>
  all.map(([terms, past], index): Contender => ({
    agentId: `a${index}`,
    offer: terms,
    trackRecord: trackRecord(past),
  })),
);

describe('the score of a bid (S3.9)', () => {
  it('S3.9 a score is between 0 and 1, and the ranking does not depend on the order in which the bids arrived', () => {
    fc.assert(
      fc.property(contenders, weights, fc.nat(), (all, chosen, seed) => {
        for (const { score } of WEIGHTED_RULE.score(all, chosen)) {
          expect(score).toBeGreaterThanOrEqual(0);
          expect(score).toBeLessThanOrEqual(1);
        }
        const cut = seed % all.length;
        const rotated = [...all.slice(cut), ...all.slice(0, cut)].toReversed();
        expect(order(rotated, chosen)).toEqual(order(all, chosen));
      }),
    );
  });

  it('S3.9 a lower price, a shorter time or more confidence never makes the rank of a bid worse', () => {
    const better = fc.constantFrom(
      ({ price, ...rest }: Offer): Offer => ({ ...rest, price: Math.floor(price / 2) }),
      ({ etaMs, ...rest }: Offer): Offer => ({ ...rest, etaMs: Math.max(1, Math.floor(etaMs / 2)) }),
      (terms: Offer): Offer => ({ ...terms, confidence: 1 }),
    );
    fc.assert(
      fc.property(contenders, weights, better, (all, chosen, improve) => {
        const [first, ...rest] = all;
        if (!first) return;
        const before = order(all, chosen).indexOf(first.agentId);
        const improved = { ...first, offer: improve(first.offer) };
        expect(order([improved, ...rest], chosen).indexOf(first.agentId)).toBeLessThanOrEqual(before);
      }),
    );
  });

  it('S3.9 ties are decided by price, then time, then confidence, and finally by a hash that favours no agent', () => {
    const onlyReliability = { price: 0, eta: 0, confidence: 0, reliability: 1 };
    const all = [
      bid('d', { price: 2 }),
      bid('c', { price: 1, etaMs: 9 }),
      bid('b', { price: 1, etaMs: 8, confidence: 0.1 }),
      bid('a', { price: 1, etaMs: 8, confidence: 0.2 }),
    ];
    expect(order(all, onlyReliability)).toEqual(['a', 'b', 'c', 'd']);
    const equal = [bid('a'), bid('b')];
    const winners = Array.from({ length: 40 }, (_, index) => order(equal, DEFAULT_WEIGHTS, `contract-${index}`)[0]);
    expect(new Set(winners)).toEqual(new Set(['a', 'b']));
    expect(order(equal)).toEqual(order(equal.toReversed()));
  });

  it('S3.9 an agent whose earlier work exceeded its bids loses against a more expensive agent that kept its bids', () => {
    const overbidder = trackRecord([kept({ actualMicroUsd: 4_000, actualMs: 3_000 }), kept({ actualMicroUsd: 5_000 })]);
    const honest = trackRecord([kept(), kept()]);
    expect(overbidder.reliability).toBeLessThan(NO_TRACK_RECORD.reliability);
    expect(honest.reliability).toBeGreaterThan(NO_TRACK_RECORD.reliability);
    expect(overbidder.costOverrun).toBeGreaterThan(2);
    const cheap = bid('over', { price: 900, confidence: 1 }, overbidder);
    expect(order([cheap, bid('honest', { price: 1_100 }, honest)])).toEqual(['honest', 'over']);
    expect(order([bid('over', { price: 900 }), bid('honest', { price: 1_100 })])).toEqual(['over', 'honest']);
  });

  it('S3.9 an award that failed or was not confirmed lowers the reliability; an unknown cost neither lowers nor raises it', () => {
    const reliabilityOf = (past: PastAward[]): number => trackRecord(past).reliability;
    expect(reliabilityOf([kept({ result: 'lapsed' })])).toBeLessThan(reliabilityOf([]));
    expect(reliabilityOf([kept({ result: 'declined' })])).toBe(reliabilityOf([kept({ result: 'failed' })]));
    expect(reliabilityOf([kept({ actualMicroUsd: null, actualMs: null })])).toBeCloseTo(reliabilityOf([]));
    const overran = kept({ actualMicroUsd: 4_000 });
    const unknown = kept({ result: 'failed', actualMicroUsd: null });
    expect(trackRecord([overran, unknown]).costOverrun).toBe(trackRecord([overran]).costOverrun);
    expect(trackRecord([kept({ price: 0, actualMicroUsd: 50 })]).costOverrun).toBeGreaterThan(1);
    fc.assert(
      fc.property(awards, (past) => {
        const { reliability, costOverrun, timeOverrun } = trackRecord(past);
        expect(reliability >= 0 && reliability <= 1 && costOverrun >= 1 && timeOverrun >= 1).toBe(true);
      }),
    );
  });

  it('S3.9 rejects weights that are all 0, and weights that are not numbers from 0 to 1,000', () => {
    expect(weightsFault(DEFAULT_WEIGHTS)).toBeUndefined();
    expect(weightsFault({ price: 0, eta: 0, confidence: 0, reliability: 0 })).toContain('above 0');
    for (const price of [NaN, -1, Infinity]) expect(weightsFault({ ...DEFAULT_WEIGHTS, price })).toContain('0 to 1000');
  });
});

describe('an offer (S3.9)', () => {
  it('S3.9 rejects an offer whose price, time, confidence or note is invalid or above the limits of the contract', () => {
    const limits = { price: 5_000, etaMs: 9_000 };
    expect(() => checkOffer(offer(), limits)).not.toThrow();
    const faults: Partial<Offer>[] = [
      ...[NaN, -1, 0.5, Infinity, 5_001].map((price) => ({ price })),
      ...[NaN, 0, 1.5, 9_001].map((etaMs) => ({ etaMs })),
      ...[NaN, -0.1, 1.1].map((confidence) => ({ confidence })),
      { note: 'x'.repeat(501) },
    ];
    for (const fault of faults)
      expect(() => checkOffer(offer(fault), limits)).toThrow(expect.objectContaining({ code: 'BID_INVALID' }));
  });
});
