import { localIdOf } from '#rollcall/platform';
import { RegistryError } from '../errors.js';
import type { ContractState } from './auction/auction.js';

export class ContractNotFoundError extends RegistryError {
  readonly code = 'CONTRACT_NOT_FOUND';

  constructor(id: string) {
    super(`No contract "${id.slice(0, 80)}" exists. GET /v1/contracts lists the contracts.`);
  }
}

export class ContractInvalidError extends RegistryError {
  readonly code = 'CONTRACT_INVALID';
}

export class NamedScoringUnknownError extends ContractInvalidError {
  constructor(name: string, known: readonly string[]) {
    super(`There is no scoring rule "${name.slice(0, 80)}". Use one of: ${known.join(', ')}.`);
  }
}

/** The state of the contract does not allow the change. */
export class ContractClosedError extends RegistryError {
  readonly code = 'CONTRACT_CLOSED';

  constructor(id: string, state: ContractState, change: string) {
    super(`The contract "${id}" is ${state}, so it cannot be ${change}. GET /v1/contracts/${id} shows its transcript.`);
  }
}

/** The contract was announced by another principal. */
export class NotTheAnnouncerError extends RegistryError {
  readonly code = 'CONTRACT_FOREIGN';

  constructor(id: string) {
    super(
      `The contract "${id}" was announced by another caller. Use the key that announced it, or the key of an operator.`,
    );
  }
}

export class NotInvitedError extends RegistryError {
  readonly code = 'CONTRACT_NOT_INVITED';

  constructor(id: string, agentId: string) {
    super(
      `The agent "${localIdOf(agentId)}" is not invited to the contract "${id}". ` +
        'A contract invites the agents that have its capabilities and are routable when it is announced.',
    );
  }
}

export class BidInvalidError extends RegistryError {
  readonly code = 'BID_INVALID';

  constructor(fault: string) {
    super(`The bid is invalid: ${fault}. Correct the bid, or refuse with "refuse": true.`);
  }
}

/** The answer arrived at the deadline or later. */
export class BidLateError extends RegistryError {
  readonly code = 'BID_LATE';

  constructor(id: string, { lateMs, isRecorded }: { lateMs: number; isRecorded: boolean }) {
    const record = isRecorded ? 'It is recorded, and has no effect.' : 'It has no effect.';
    super(`The answer to the contract "${id}" is ${lateMs} ms late. ${record}`);
  }
}

export class BidRevisedTooOftenError extends RegistryError {
  readonly code = 'BID_REVISED_TOO_OFTEN';

  constructor(most: number) {
    super(`The answer was replaced ${most} times, which is the limit. The last accepted answer counts.`);
  }
}

/** The part of a contract that the error explains. */
interface AwardedContract {
  readonly id: string;
  readonly state: ContractState;
  readonly winner: string | null;
}

/** The agent does not have the award, or cannot confirm it any more. */
export class NotAwardedError extends RegistryError {
  readonly code = 'CONTRACT_NOT_AWARDED';

  constructor({ id, state, winner }: AwardedContract, agentId: string) {
    const name = localIdOf(agentId);
    const isLost = winner === agentId ? LAPSED : NOT_AWARDED[state];
    super(`The agent "${name}" cannot confirm or decline the contract "${id}": ${isLost} Do not start the work.`);
  }
}

const LAPSED =
  'its award has lapsed, because it was not confirmed in time, or because the agent registered again, is drained or is quarantined.';
const OPEN = 'the auction is not closed yet. Wait for the award.';
const NOT_AWARDED: Record<ContractState, string> = {
  announced: OPEN,
  bidding: OPEN,
  awarded: 'another agent has the award.',
  confirmed: 'another agent has confirmed it.',
  expired: 'the contract has expired.',
  cancelled: 'the contract was cancelled.',
};

/** The contract already has a different outcome. */
export class OutcomeRecordedError extends RegistryError {
  readonly code = 'CONTRACT_CLOSED';

  constructor(id: string) {
    super(`The contract "${id}" already has a different outcome, which is final. GET /v1/contracts/${id} shows it.`);
  }
}

/** The contract starts a run, so no caller can report its outcome. */
export class OutcomeOfRunError extends RegistryError {
  readonly code = 'CONTRACT_CLOSED';

  constructor(id: string) {
    super(
      `The contract "${id}" starts a run with its winner, and the run reports the outcome. GET /v1/contracts/${id} shows the run and its ` +
        'outcome; cancel the run to end it early.',
    );
  }
}
