/** `announced`: agents are invited. `bidding`: at least one agent has answered. `awarded`: the winner has not confirmed yet. */
export const CONTRACT_STATES = ['announced', 'bidding', 'awarded', 'confirmed', 'expired', 'cancelled'] as const;
export type ContractState = (typeof CONTRACT_STATES)[number];
type FinalContractState = 'confirmed' | 'expired' | 'cancelled';

export const EXPIRY_REASONS = [
  'no_capable_agent',
  'no_bid',
  'all_refused',
  'bidders_left',
  'budget_exhausted',
  'not_confirmed',
] as const;
export type ExpiryReason = (typeof EXPIRY_REASONS)[number];

/** Everything that changes the state of an auction. */
export type AuctionChange = 'answer' | 'award' | 'confirm' | 'expire' | 'cancel';

/** The facts that decide what may happen to an auction. Times are times of the database. */
export interface Auction {
  readonly state: ContractState;
  /** Bids that arrive at this time or later are rejected. */
  readonly deadline: number;
  /** When the current award lapses; null without an award. */
  readonly confirmBy: number | null;
}

/** Which of the invited agents are present: registered, and not withdrawn from work by an operator. */
export interface Attendance {
  /** How many present agents have neither refused nor bid with their current registration. */
  readonly pending: number;
  /** Whether the winner is present with the registration that has bid. */
  readonly isWinnerPresent: boolean;
}

const OPEN = { award: 'awarded', expire: 'expired', cancel: 'cancelled' } as const;
const NEXT: Record<ContractState, Partial<Record<AuctionChange, ContractState>>> = {
  announced: { ...OPEN, answer: 'bidding' },
  bidding: { ...OPEN, answer: 'bidding' },
  awarded: { ...OPEN, confirm: 'confirmed' }, // another award goes to the runner-up
  confirmed: {},
  expired: {},
  cancelled: {},
};

/** The state after a change; undefined if the change is not possible. A final state never changes. */
export function nextContractState(state: ContractState, change: AuctionChange): ContractState | undefined {
  return NEXT[state][change];
}

export function isFinalContract(state: ContractState): state is FinalContractState {
  return Object.keys(NEXT[state]).length === 0;
}

/** While bids are sealed, a bid can be read only by its bidder. */
export function isSealed(state: ContractState): boolean {
  return state === 'announced' || state === 'bidding';
}

/** `late`: at the deadline or later. `closed`: the contract was cancelled, or the auction closed before its deadline. */
type Admission = 'accepted' | 'late' | 'closed';

/** Whether an answer at this time is accepted. */
export function admissionOf({ state, deadline }: Auction, now: number): Admission {
  if (isSealed(state) && now < deadline) return 'accepted';
  return state === 'cancelled' || now < deadline ? 'closed' : 'late';
}

/** By how much a late answer is late. An answer at the deadline is late by 1 ms. */
export function latenessMs({ deadline }: Auction, now: number): number {
  return Math.max(1, now - deadline);
}

/** Whether the winner can confirm at this time. */
export function isConfirmable({ state, confirmBy }: Auction, { isWinnerPresent }: Attendance, now: number): boolean {
  return state === 'awarded' && confirmBy !== null && now < confirmBy && isWinnerPresent;
}

/** Why an award goes to the runner-up. `unavailable`: its agent left, registered again, or was drained or quarantined. */
export type LapseReason = 'not_confirmed' | 'unavailable';

/** `close`: the bids are opened. `wait`: nothing is due. All others: the award lapses. */
type DueStep = 'close' | 'wait' | LapseReason;

/** An auction closes at its deadline, or when no present agent can answer. An award lapses at `confirmBy`, or if its agent is absent. */
export function dueStep(auction: Auction, { pending, isWinnerPresent }: Attendance, now: number): DueStep {
  const { state, deadline, confirmBy } = auction;
  if (isSealed(state)) return now >= deadline || pending === 0 ? 'close' : 'wait';
  if (state !== 'awarded') return 'wait';
  if (now >= (confirmBy ?? 0)) return 'not_confirmed';
  return isWinnerPresent ? 'wait' : 'unavailable';
}

/** When the next step is due if nothing happens before; null for a final state. */
export function dueAt({ state, deadline, confirmBy }: Auction): number | null {
  if (isSealed(state)) return deadline;
  return state === 'awarded' ? confirmBy : null;
}
