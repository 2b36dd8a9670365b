import { Injectable } from '@nestjs/common';
import { NamespaceAdmission } from '#rollcall/platform';
import { MAX_AMOUNT } from '../budgets/budget.js';
import { checkAmount } from '../budgets/reservation.js';
import { claimFault } from '../discovery/capability.claim.js';
import { MAX_ETA_MS } from './bid.js';
import { ContractInvalidError } from './contract.errors.js';
import { ContractInvitees } from './contract.invitees.js';
import type { Announcement } from './contract.js';
import { ContractQuota } from './contract.quota.js';
import { weightsFault } from './scoring.js';
import { ScoringRules } from './scoring.rules.js';

export const MIN_WINDOW_MS = 100;
export const MAX_WINDOW_MS = 86_400_000;
export const MAX_TASK_LENGTH = 16_000;

/** The parts of an announcement: who is invited, which rule scores the bids, and how many contracts a caller may have. */
@Injectable()
export class AnnouncementRules {
  constructor(
    readonly invitees: ContractInvitees,
    readonly scoring: ScoringRules,
    readonly namespaces: NamespaceAdmission,
    readonly quota: ContractQuota,
  ) {}
}

/** Throws unless an auction with these terms can end: all times are finite, and the scores can differ. */
export function checkAnnouncement({ bidWithinMs, confirmWithinMs, task, ...terms }: Announcement): void {
  const { capabilities, limits, reserve, weights } = terms;
  for (const [name, ms] of Object.entries({ bidWithinMs, confirmWithinMs }))
    check(isWhole(ms, MIN_WINDOW_MS, MAX_WINDOW_MS), `${name} must be from ${MIN_WINDOW_MS} to ${MAX_WINDOW_MS} ms.`);
  check(task.length <= MAX_TASK_LENGTH, `task must have at most ${MAX_TASK_LENGTH} characters.`);
  check(
    limits.price === null || isWhole(limits.price, 0, MAX_AMOUNT),
    `limits.price must be a whole number of micro-dollars from 0 to ${MAX_AMOUNT}.`,
  );
  check(
    limits.etaMs === null || isWhole(limits.etaMs, 1, MAX_ETA_MS),
    `limits.etaMs must be a whole number from 1 to ${MAX_ETA_MS}.`,
  );
  for (const capability of capabilities) check(claimFault(capability) === undefined, claimFault(capability) ?? '');
  checkAmount({ tokens: reserve.tokens, microUsd: reserve.microUsd ?? 0 });
  const fault = weightsFault(weights);
  check(fault === undefined, fault ?? '');
}

function check(isValid: boolean, message: string): void {
  if (!isValid) throw new ContractInvalidError(message);
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}
