import type { ContractView } from '#rollcall/client';
import { count, money, plain, spanText } from '../../parts/format.js';
import type { Tone } from '../../parts/parts.js';

type Facts = Pick<ContractView, 'state' | 'outcome'>;

/** The state of the auction, or, after it, of the work. */
export function contractState({ state, outcome }: Facts): { word: string; tone: Tone } {
  if (state === 'announced' || state === 'bidding') return { word: 'open for bids', tone: 'info' };
  if (state === 'awarded') return { word: 'awarded', tone: 'warn' };
  if (state === 'expired') return { word: 'expired', tone: 'bad' };
  if (state === 'cancelled') return { word: 'cancelled', tone: 'off' };
  if (outcome === null) return { word: 'at work', tone: 'info' };
  return outcome.ok ? { word: 'done', tone: 'good' } : { word: 'failed', tone: 'bad' };
}

const EXPIRED: Record<NonNullable<ContractView['expiryReason']>, string> = {
  no_capable_agent: 'no agent has the capabilities',
  no_bid: 'no agent made a bid in time',
  all_refused: 'all agents refused',
  bidders_left: 'all bidders have left',
  budget_exhausted: 'no budget allows the award',
  not_confirmed: 'no winner confirmed',
};

/** What came of the contract, in words. */
export function contractResult({ expiryReason, winner, outcome, state }: ContractView): string {
  if (expiryReason !== null) return EXPIRED[expiryReason];
  if (state === 'cancelled') return 'cancelled by its caller or an operator';
  if (winner === null) return 'no winner yet';
  if (outcome === null) return `${plain(winner)} has the award`;
  const facts = [
    outcome.microUsd !== null && money(outcome.microUsd),
    outcome.ms !== null && spanText(outcome.ms),
    outcome.reason !== null && plain(outcome.reason),
  ].filter((fact) => fact !== false);
  return [plain(winner), ...facts].join(', ');
}

/** Bids are sealed until the auction closes: then nobody can see them, or bid below them. */
export function hidesBids({ state }: Pick<ContractView, 'state'>): boolean {
  return state === 'announced' || state === 'bidding';
}

export function mayBeCancelled({ state }: Pick<ContractView, 'state'>): boolean {
  return hidesBids({ state }) || state === 'awarded';
}

export function answeredText({ answered, invited, notInvited }: ContractView): string {
  const others = notInvited > 0 ? `, ${count(notInvited)} more were not invited` : '';
  return `${count(answered)} of ${count(invited)} answered${others}`;
}

export function costText(microUsd: number | null): string {
  return microUsd === null ? '–' : money(microUsd);
}

export function score(value: number): string {
  return value.toFixed(2);
}
