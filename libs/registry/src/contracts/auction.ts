/** `announced`: agents are invited. `bidding`: at least one agent has answered. `awarded`: the winner has not confirmed yet. */
export const CONTRACT_STATES = ['announced', 'bidding', 'awarded', 'confirmed', 'expired', 'cancelled'] as const;
export type ContractState = (typeof CONTRACT_STATES)[number];
export type FinalContractState = 'confirmed' | 'expired' | 'cancelled';

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
  readonly invited: number;
  /** How many of the invited agents have bid or refused. */
  readonly answered: number;
  /** When the current award lapses; null without an award. */
  readonly confirmBy: number | null;
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

/** While bids are sealed, nobody but their bidders can read them. */
export function isSealed(state: ContractState): boolean {
  return state === 'announced' || state === 'bidding';
}

/** By how much an answer at this time is late; 0 if it is accepted. An answer after an early close is late by at least 1 ms. */
export function latenessMs({ state, deadline }: Auction, now: number): number {
  if (isSealed(state) && now < deadline) return 0;
  return Math.max(1, now - deadline);
}

/** Whether the winner can confirm at this time. */
export function isConfirmable({ state, confirmBy }: Auction, now: number): boolean {
  return state === 'awarded' && confirmBy !== null && now < confirmBy;
}

/** `close`: the bids are opened. `lapse`: the winner has not confirmed in time. `wait`: nothing is due. */
export type DueStep = 'close' | 'lapse' | 'wait';

export function dueStep(auction: Auction, now: number): DueStep {
  const { state, deadline, invited, answered, confirmBy } = auction;
  if (isSealed(state)) return now >= deadline || answered >= invited ? 'close' : 'wait';
  return state === 'awarded' && now >= (confirmBy ?? 0) ? 'lapse' : 'wait';
}

/** When the next step is due if nothing happens before; null for a final state. */
export function dueAt({ state, deadline, confirmBy }: Auction): number | null {
  if (isSealed(state)) return deadline;
  return state === 'awarded' ? confirmBy : null;
}
