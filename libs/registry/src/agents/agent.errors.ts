import { RegistryError } from '../errors.js';
import type { LeaveReason } from './agent.record.js';

export class AgentNotFoundError extends RegistryError {
  readonly code = 'AGENT_NOT_FOUND';

  constructor(agentId: string) {
    super(`No agent "${show(agentId)}" is registered. GET /v1/agents lists those that are.`);
  }
}

/** The agent believes it is registered, and is not. It must register again; a beat never brings it back. */
export class RegisterAgainError extends RegistryError {
  readonly code = 'REGISTER_AGAIN';

  /** `reason` is why the last registration ended; null when none is known. */
  constructor(
    agentId: string,
    readonly reason: LeaveReason | null = null,
  ) {
    const why = reason ? `left the registry (${reason})` : 'is not registered';
    super(`The agent "${show(agentId)}" ${why}. Register again, and use what that answers.`);
  }
}

/** A stranger asks for an agentId that is alive. */
export class AgentAlreadyRegisteredError extends RegistryError {
  readonly code = 'AGENT_ALREADY_REGISTERED';

  constructor(agentId: string) {
    super(
      `The agent "${show(agentId)}" is alive and belongs to someone else. Send its lease token to register it again, ` +
        'choose another agentId, or have an operator evict it.',
    );
  }
}

/** An earlier life of the agent is still talking. */
export class StaleGenerationError extends RegistryError {
  readonly code = 'STALE_GENERATION';

  constructor(agentId: string, given: number, current: number) {
    super(
      `Generation ${given} of the agent "${show(agentId)}" was replaced; ${current} is current. ` +
        'If you are it, use the generation of your last registration; if not, stop.',
    );
  }
}

/** A life that never began is talking: the number is wrong, or the registry was set back to an earlier state. */
export class GenerationAheadError extends RegistryError {
  readonly code = 'GENERATION_AHEAD';

  constructor(agentId: string, given: number, current: number) {
    super(
      `The agent "${show(agentId)}" has no generation ${given} yet; ${current} is current. ` +
        'Use the generation its registration answered, or register again.',
    );
  }
}

/** What to say to a generation that is not the current one. */
export function wrongGeneration(agentId: string, given: number, current: number): RegistryError {
  return given > current
    ? new GenerationAheadError(agentId, given, current)
    : new StaleGenerationError(agentId, given, current);
}

/** The agent is not as the caller last saw it. */
export class AgentChangedError extends RegistryError {
  readonly code = 'AGENT_CHANGED';

  constructor(agentId: string) {
    super(`The agent "${show(agentId)}" has changed since you read it. Read it again, and decide again.`);
  }
}

export class TooManyLabelsError extends RegistryError {
  readonly code = 'TOO_MANY_LABELS';

  constructor(agentId: string, most: number) {
    super(`The agent "${show(agentId)}" would have more than ${most} labels. Take some away with null.`);
  }
}

export class LeaseTokenError extends RegistryError {
  readonly code = 'LEASE_TOKEN_REFUSED';

  constructor(agentId: string) {
    super(`This is not the lease token of the agent "${show(agentId)}". Use the one its registration answered.`);
  }
}

function show(agentId: string): string {
  return agentId.length > 80 ? `${agentId.slice(0, 80)}…` : agentId;
}
