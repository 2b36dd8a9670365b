import { localIdOf } from '#rollcall/platform';
import { RegistryError } from '../errors.js';
import type { ContractState } from './auction.js';

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
export class ContractForeignError extends RegistryError {
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
        'Agents that have the capabilities and are routable when a contract is announced are invited.',
    );
  }
}

export class BidInvalidError extends RegistryError {
  readonly code = 'BID_INVALID';

  constructor(fault: string) {
    super(`The bid is invalid: ${fault}. Correct the bid, or refuse with "refuse": true.`);
  }
}

/** The bid arrived after the deadline, or after the auction was closed. */
export class BidLateError extends RegistryError {
  readonly code = 'BID_LATE';

  constructor(id: string, lateMs: number) {
    super(`The bid for the contract "${id}" is ${lateMs} ms late. It is recorded, and has no effect.`);
  }
}

export class BidRevisedTooOftenError extends RegistryError {
  readonly code = 'BID_REVISED_TOO_OFTEN';

  constructor(most: number) {
    super(`The bid was replaced ${most} times, which is the limit. The last accepted bid counts.`);
  }
}

/** The agent does not have the award: another agent has it, or the award has lapsed. */
export class NotAwardedError extends RegistryError {
  readonly code = 'CONTRACT_NOT_AWARDED';

  constructor(id: string, agentId: string) {
    super(
      `The agent "${localIdOf(agentId)}" does not have the award of the contract "${id}". ` +
        'An award lapses when it is not confirmed in time; then the runner-up gets it. Do not start the work.',
    );
  }
}
