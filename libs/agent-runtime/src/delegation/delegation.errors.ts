import { RuntimeError } from '../errors.js';
import { suggestion } from '../tools/closest.name.js';

export class AgentFactoryInvalidError extends RuntimeError {
  readonly code = 'AGENT_FACTORY_INVALID';
}

export class AgentFactoryTakenError extends RuntimeError {
  readonly code = 'AGENT_FACTORY_TAKEN';

  constructor(name: string) {
    super(`There is already an agent factory named ${name}. Rename one of them, or unregister the first.`);
  }
}

export class AgentFactoryUnknownError extends RuntimeError {
  readonly code = 'AGENT_FACTORY_UNKNOWN';

  constructor(name: string, known: readonly string[]) {
    super(
      `There is no agent factory named ${name}${suggestion(name, known)}. Known: ${known.join(', ') || 'none yet'}.`,
    );
  }
}

/** No agent with this name or with these capabilities can receive the task. */
export class DelegationTargetUnknownError extends RuntimeError {
  readonly code = 'DELEGATION_TARGET_UNKNOWN';
}

/** The rule that a delegation would break. */
type DelegationLimit = 'self' | 'cycle' | 'depth' | 'width' | 'runs' | 'deadline';

/** A delegation that was not started, because it would break a rule of the tree. The message states what to do instead. */
export class DelegationRefusedError extends RuntimeError {
  readonly code = 'DELEGATION_REFUSED';
  override readonly details: { limit: DelegationLimit };

  constructor(
    readonly limit: DelegationLimit,
    message: string,
  ) {
    super(message);
    this.details = { limit };
  }
}

/** The delegated agents ended without success. The message is the output for the model. */
export class DelegationFailedError extends RuntimeError {
  readonly code = 'DELEGATION_FAILED';
}
