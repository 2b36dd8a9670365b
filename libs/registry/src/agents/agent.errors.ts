import { localIdOf } from '#rollcall/platform';
import { RegistryError } from '../errors.js';
import type { LeaveReason } from './agent.record.js';

export class AgentNotFoundError extends RegistryError {
  readonly code = 'AGENT_NOT_FOUND';

  constructor(agentId: string, message?: string) {
    super(message ?? `No agent "${show(agentId)}" is registered. GET /v1/agents lists the registered agents.`);
  }
}

/** An agent that is not registered any more sends a request. It must register again; a heartbeat never revives an agent. */
export class RegisterAgainError extends RegistryError {
  readonly code = 'REGISTER_AGAIN';

  /** `reason` is the reason why the last registration ended; null when it is unknown. */
  constructor(
    agentId: string,
    readonly reason: LeaveReason | null = null,
  ) {
    const why = reason ? `left the registry (${reason})` : 'is not registered';
    super(
      `The agent "${show(agentId)}" ${why}. Register again, and use the generation and lease token of the response.`,
    );
  }
}

/** The agentId belongs to a live agent, and the request does not have the agent's lease token. */
export class AgentAlreadyRegisteredError extends RegistryError {
  readonly code = 'AGENT_ALREADY_REGISTERED';

  /** `mayTakeOver`: the request would have been accepted with `takeover`. */
  constructor(agentId: string, mayTakeOver = false) {
    const remedy = mayTakeOver
      ? 'Send "takeover": true to replace that registration, for example after a crash, or send its lease token.'
      : 'Send its lease token to register it again, choose another agentId, or ask an operator to evict it.';
    super(`The agent "${show(agentId)}" is already registered. ${remedy}`);
  }
}

/** The agentId is reserved, because a definition has this name: one name would then mean two agents (S-1). */
export class AgentIdReservedError extends RegistryError {
  readonly code = 'AGENT_NAME_RESERVED';

  constructor(agentId: string) {
    super(
      `"${show(agentId)}" is the name of a definition, so no other agent can register under it. Choose another agentId, or ask an ` +
        'operator to spawn the definition.',
    );
  }
}

/** The agent, or the run whose budget a call uses, belongs to another principal. */
export class NotTheOwnerError extends RegistryError {
  readonly code = 'NOT_THE_OWNER';

  static ofAgent(agentId: string): NotTheOwnerError {
    const remedy = 'Use the lease token of the agent, or the key that registered it.';
    return new NotTheOwnerError(`The agent "${show(agentId)}" belongs to another owner. ${remedy}`);
  }

  /** For a reservation: a lease token cannot reserve. */
  static ofSpending(agentId: string): NotTheOwnerError {
    const remedy = 'Reserve with the key that registered it, or with a key that has the permission budgets:spend-any.';
    return new NotTheOwnerError(`The agent "${show(agentId)}" belongs to another owner. ${remedy}`);
  }

  static ofAgentId(agentId: string): NotTheOwnerError {
    const remedy = 'Choose another agentId, send the last lease token of this one, or use the key that registered it.';
    return new NotTheOwnerError(`The agentId "${show(agentId)}" belongs to another owner. ${remedy}`);
  }

  static ofRun(runId: string): NotTheOwnerError {
    const remedy = 'Use the key that opened it, or a key with the permission budgets:spend-any.';
    return new NotTheOwnerError(`The run "${show(runId)}" belongs to another owner. ${remedy}`);
  }
}

/** The request belongs to a registration that a newer one has replaced. */
export class StaleGenerationError extends RegistryError {
  readonly code = 'STALE_GENERATION';

  constructor(agentId: string, given: number, current: number) {
    super(
      `Generation ${given} of the agent "${show(agentId)}" was replaced; the current generation is ${current}. ` +
        'If you sent the current registration, use its generation; otherwise stop.',
    );
  }
}

/** The generation does not exist yet: the number is wrong, or the database was restored from a backup. */
class GenerationAheadError extends RegistryError {
  readonly code = 'GENERATION_AHEAD';

  constructor(agentId: string, given: number, current: number) {
    super(
      `The agent "${show(agentId)}" has no generation ${given} yet; the current one is ${current}. ` +
        'Use the generation that its registration returned, or register again.',
    );
  }
}

/** Returns the error for a generation that is not the current one. */
export function wrongGeneration(agentId: string, given: number, current: number): RegistryError {
  return given > current
    ? new GenerationAheadError(agentId, given, current)
    : new StaleGenerationError(agentId, given, current);
}

/** The agent has changed since the version (ETag) that the request names. */
export class AgentChangedError extends RegistryError {
  readonly code = 'AGENT_CHANGED';

  constructor(agentId: string) {
    super(
      `The agent "${show(agentId)}" has changed since you read it. Read it again, then repeat the update with its new ETag in If-Match.`,
    );
  }
}

export class TooManyLabelsError extends RegistryError {
  readonly code = 'TOO_MANY_LABELS';

  constructor(agentId: string, most: number) {
    super(`The agent "${show(agentId)}" would have more than ${most} labels. Set a label to null to remove it.`);
  }
}

export class LeaseTokenError extends RegistryError {
  readonly code = 'LEASE_TOKEN_REFUSED';

  constructor(agentId: string) {
    super(`This is not the lease token of the agent "${show(agentId)}". Use the token that its registration returned.`);
  }
}

function show(agentId: string): string {
  const id = localIdOf(agentId);
  return id.length > 80 ? `${id.slice(0, 80)}…` : id;
}
