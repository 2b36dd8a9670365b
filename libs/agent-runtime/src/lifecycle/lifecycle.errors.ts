import { AgentNotFoundError } from '#rollcall/registry';
import { quoted } from '../definitions/definition.js';
import { RuntimeError } from '../errors.js';
import type { AgentShutdown } from './shutdown/shutdown.report.js';

/** The agent has as many calls in progress as its definition allows. */
export class AgentBusyError extends RuntimeError {
  readonly code = 'AGENT_BUSY';
  override readonly retryAfterMs = 1_000;

  constructor(name: string, limit: number, cause?: unknown) {
    const reason =
      cause === undefined
        ? `has as many calls as its maxConcurrency allows (${limit})`
        : 'receives too many new runs at the same time';
    super(`The agent ${quoted(name)} ${reason}. Try again later.`, { cause });
  }
}

/** A live agent has the name. It may be hosted by any replica, or be external (S1.2). */
export class AgentExistsError extends RuntimeError {
  readonly code = 'AGENT_ALREADY_EXISTS';

  constructor(name: string) {
    super(`A live agent has the name ${quoted(name)}. Shut it down first, or choose another name.`);
  }
}

/** The name belongs to a definition that the agent is not built from, so it would name two different agents. */
export class AgentNameReservedError extends RuntimeError {
  readonly code = 'AGENT_NAME_RESERVED';

  constructor(name: string) {
    super(`${quoted(name)} is the name of a definition. Spawn that definition, or choose another name for this agent.`);
  }
}

/** The agent has no definition, so only the replica that hosts it can call it. */
export class AgentHostedElsewhereError extends RuntimeError {
  readonly code = 'AGENT_HOSTED_ELSEWHERE';

  constructor(
    name: string,
    readonly replicaId: string,
  ) {
    super(
      `The agent ${quoted(name)} is hosted by another replica, and has no definition. Send the call to that replica.`,
    );
  }
}

/** No replica hosts a live agent of this name. An external agent may have the name. */
export class AgentNotHostedError extends AgentNotFoundError {
  constructor(name: string) {
    super(
      name,
      `No replica hosts an agent ${quoted(name)}. GET /v1/runtime/agents lists the hosted agents; GET /v1/agents also lists external agents.`,
    );
  }
}

/** The agent was removed, but failed to release its resources (S1.5). */
export class AgentShutdownFailedError extends RuntimeError {
  readonly code = 'AGENT_SHUTDOWN_FAILED';
  override readonly details: Record<string, unknown>;

  constructor(name: string, report: AgentShutdown) {
    super(`The agent ${quoted(name)} was removed, but its shutdown failed: ${report.error}`);
    this.details = { ...report };
  }
}

export class SpawnInvalidError extends RuntimeError {
  readonly code = 'SPAWN_INVALID';
}

/** The replica stops, or all agents of the namespace are being shut down. */
export class AgentsStoppingError extends RuntimeError {
  readonly code = 'AGENTS_STOPPING';

  constructor() {
    super('All agents are being shut down. Try again when the shutdown has ended.');
  }
}
