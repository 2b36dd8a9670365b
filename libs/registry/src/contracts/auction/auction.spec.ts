import * as fc from 'fast-check';
import {
  admissionOf,
  type Attendance,
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
const OPEN: Auction = { state: 'bidding', deadline: 1_000, confirmBy: null };
const AWARDED: Auction = { state: 'awarded', deadline: 1_000, confirmBy: 2_000 };
const ALL: Attendance = { pending: 1, isWinnerPresent: true };

const time = fc.integer({ min: 0, max: 3_000 });
const auctions = fc.record({
  state: fc.constantFrom(...CONTRACT_STATES),
  deadline: time,
  confirmBy: time,
});
const attendances = fc.record({ pending: fc.integer({ min: 0, max: 3 }), isWinnerPresent: fc.boolean() });

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

  it('S3.9 accepts answers until the deadline while bids are sealed; after an early close, answers are rejected, but not as late', () => {
    expect([999, 1_000, 1_250].map((now) => admissionOf(OPEN, now))).toEqual(['accepted', 'late', 'late']);
    expect([1_000, 1_250].map((now) => latenessMs(OPEN, now))).toEqual([1, 250]);
    expect(admissionOf(AWARDED, 500)).toBe('closed');
    expect([500, 5_000].map((now) => admissionOf({ ...OPEN, state: 'cancelled' }, now))).toEqual(['closed', 'closed']);
    fc.assert(
      fc.property(auctions, time, (auction, now) => {
        const isAccepted = admissionOf(auction, now) === 'accepted';
        if (isAccepted) expect(now < auction.deadline && nextContractState(auction.state, 'answer')).toBe('bidding');
      }),
    );
  });

  it('S3.9 at any time, an award either can be confirmed or lapses, but never both', () => {
    fc.assert(
      fc.property(auctions, attendances, time, (auction, attendance, now) => {
        const lapses = ['not_confirmed', 'unavailable'].includes(dueStep(auction, attendance, now));
        expect(lapses && isConfirmable(auction, attendance, now)).toBe(false);
        if (auction.state === 'awarded') expect(lapses || isConfirmable(auction, attendance, now)).toBe(true);
      }),
    );
  });

  it('S3.9 an auction closes at its deadline, or as soon as no present agent can answer any more', () => {
    expect(dueStep(OPEN, ALL, 999)).toBe('wait');
    expect(dueStep(OPEN, ALL, 1_000)).toBe('close');
    expect(dueStep(OPEN, { ...ALL, pending: 0 }, 0)).toBe('close');
    fc.assert(
      fc.property(auctions, attendances, (auction, attendance) => {
        const due = dueAt(auction);
        expect(due === null).toBe(isFinalContract(auction.state));
        if (due !== null) expect(dueStep(auction, attendance, due)).not.toBe('wait');
      }),
    );
  });

  it('S3.9 an award lapses when its time is over, or at once when its agent is absent', () => {
    expect(dueStep(AWARDED, ALL, 1_999)).toBe('wait');
    expect(dueStep(AWARDED, ALL, 2_000)).toBe('not_confirmed');
    expect(dueStep(AWARDED, { ...ALL, isWinnerPresent: false }, 1_500)).toBe('unavailable');
    expect(isConfirmable(AWARDED, { ...ALL, isWinnerPresent: false }, 1_500)).toBe(false);
  });
});
