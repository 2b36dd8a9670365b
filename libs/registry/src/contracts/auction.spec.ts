import * as fc from 'fast-check';
import {
  type Auction,
  type AuctionChange,
  CONTRACT_STATES,
  type ContractState,
  dueAt,
  dueStep,
  isConfirmable,
  isFinalContract,
  latenessMs,
  nextContractState,
} from './auction.js';

const CHANGES: AuctionChange[] = ['answer', 'award', 'confirm', 'expire', 'cancel'];
const OPEN: Auction = { state: 'bidding', deadline: 1_000, invited: 2, answered: 1, confirmBy: null };

const time = fc.integer({ min: 0, max: 3_000 });
const auctions = fc.record({
  state: fc.constantFrom(...CONTRACT_STATES),
  deadline: time,
  invited: fc.integer({ min: 1, max: 3 }),
  answered: fc.integer({ min: 0, max: 3 }),
  confirmBy: time,
});

describe('the state machine of an auction (S3.9)', () => {
  it('S3.9 any sequence of changes ends in at most one final state, and a final state never changes', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...CHANGES), { maxLength: 30 }), (changes) => {
        let state: ContractState = 'announced';
        for (const change of changes) {
          const next = nextContractState(state, change);
          if (isFinalContract(state)) expect(next).toBeUndefined();
          state = next ?? state;
        }
        expect(CONTRACT_STATES).toContain(state);
      }),
    );
  });

  it('S3.9 only an awarded contract can be confirmed, and no bid is accepted after the award', () => {
    const from = (change: AuctionChange): ContractState[] =>
      CONTRACT_STATES.filter((state) => nextContractState(state, change) !== undefined);
    expect(from('confirm')).toEqual(['awarded']);
    expect(from('answer')).toEqual(['announced', 'bidding']);
    expect(from('award')).toEqual(['announced', 'bidding', 'awarded']);
    expect(from('expire')).toEqual(from('cancel'));
  });

  it('S3.9 an answer is in time only before the deadline, and only while the bids are sealed', () => {
    expect([999, 1_000, 1_250].map((now) => latenessMs(OPEN, now))).toEqual([0, 1, 250]);
    expect(latenessMs({ ...OPEN, state: 'awarded' }, 500)).toBe(1);
    fc.assert(
      fc.property(auctions, time, (auction, now) => {
        const isAccepted = latenessMs(auction, now) === 0;
        if (isAccepted) expect(now < auction.deadline && nextContractState(auction.state, 'answer')).toBe('bidding');
      }),
    );
  });

  it('S3.9 an award can be confirmed or lapses, and never both at the same time', () => {
    fc.assert(
      fc.property(auctions, time, (auction, now) => {
        const lapses = dueStep(auction, now) === 'lapse';
        expect(lapses && isConfirmable(auction, now)).toBe(false);
        if (auction.state === 'awarded') expect(lapses || isConfirmable(auction, now)).toBe(true);
      }),
    );
  });

  it('S3.9 an auction closes at its deadline, or as soon as all invited agents have answered', () => {
    expect(dueStep(OPEN, 999)).toBe('wait');
    expect(dueStep(OPEN, 1_000)).toBe('close');
    expect(dueStep({ ...OPEN, answered: 2 }, 0)).toBe('close');
    fc.assert(
      fc.property(auctions, (auction) => {
        const due = dueAt(auction);
        expect(due === null).toBe(isFinalContract(auction.state));
        if (due !== null) expect(dueStep(auction, due)).not.toBe('wait');
      }),
    );
  });
});
