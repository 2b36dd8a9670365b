import type { TestingModule } from '@nestjs/testing';
import { ContractBidding } from '../contracts/auction/contract.bidding.js';
import { ContractCloser } from '../contracts/auction/contract.closer.js';
import { DEFAULT_WEIGHTS } from '../contracts/auction/scoring.js';
import type { Announcement } from '../contracts/contract.js';
import { ContractOutcomes } from '../contracts/contract.outcomes.js';
import { ContractWaits } from '../contracts/contract.selection.js';
import { ContractsService } from '../contracts/contracts.service.js';
import { AttendanceStore } from '../contracts/store/attendance.store.js';

/** The services of one replica that handle contracts. */
export interface ContractParts {
  service: ContractsService;
  bidding: ContractBidding;
  outcomes: ContractOutcomes;
  closer: ContractCloser;
  attendance: AttendanceStore;
  waits: ContractWaits;
}

export function contractsOf(module: TestingModule): ContractParts {
  const anywhere = { strict: false };
  return {
    service: module.get(ContractsService, anywhere),
    bidding: module.get(ContractBidding, anywhere),
    outcomes: module.get(ContractOutcomes, anywhere),
    closer: module.get(ContractCloser, anywhere),
    attendance: module.get(AttendanceStore, anywhere),
    waits: module.get(ContractWaits, anywhere),
  };
}

/** A valid announcement for agents with the capability `build`. */
export function announcement(overrides: Partial<Announcement> = {}): Announcement {
  return {
    namespace: 'default',
    capabilities: ['build'],
    task: 'Build the project.',
    bidWithinMs: 60_000,
    confirmWithinMs: 60_000,
    limits: { price: null, etaMs: null },
    reserve: { tokens: 0, microUsd: null, runId: null },
    scoring: 'weighted',
    weights: DEFAULT_WEIGHTS,
    run: false,
    by: 'key:test',
    payer: 'key:test',
    ...overrides,
  };
}
