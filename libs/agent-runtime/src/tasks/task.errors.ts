import { localIdOf } from '#rollcall/platform';
import { ProviderError } from '#rollcall/providers';
import { RuntimeError } from '../errors.js';

export class TaskNotFoundError extends RuntimeError {
  readonly code = 'TASK_NOT_FOUND';

  constructor(callId: string) {
    super(`There is no task ${show(callId)} of this agent. Stop working on it.`);
  }
}

/** The agent reported another result before. */
export class TaskFinishedError extends RuntimeError {
  readonly code = 'TASK_FINISHED';

  constructor(callId: string) {
    super(`The task ${show(callId)} already has another result, which cannot be changed. Take the next task.`);
  }
}

export class TaskCancelledError extends RuntimeError {
  readonly code = 'TASK_CANCELLED';

  constructor(callId: string) {
    super(`The task ${show(callId)} was cancelled. Stop working on it, and take the next task.`);
  }
}

export class TaskTooLateError extends RuntimeError {
  readonly code = 'TASK_TOO_LATE';

  constructor(callId: string) {
    super(`The deadline of the task ${show(callId)} has passed. Stop working on it, and take the next task.`);
  }
}

/** The registration that reports has not taken the task. */
export class TaskNotHeldError extends RuntimeError {
  readonly code = 'TASK_NOT_HELD';

  constructor(callId: string) {
    super(
      `This registration has not taken the task ${show(callId)}. The registration that took it has ended. Stop working on it, and take the next task.`,
    );
  }
}

export class AgentNotPullError extends RuntimeError {
  readonly code = 'AGENT_NOT_PULL';

  constructor(agentId: string) {
    super(`The agent ${show(localIdOf(agentId))} takes no tasks. Register it again with "work": "pull".`);
  }
}

/** The registration that took the task ended before it reported a result. It is unknown what the agent has done. */
export class TaskLostError extends ProviderError {
  constructor(agentId: string) {
    super('AGENT_CRASHED', `The registration of the agent ${agentId} ended while it executed the task.`);
  }
}

/** The call ends here without a charge: no agent has taken the task, or another replica continues to wait for its result. */
export class TaskUnchargedError extends ProviderError {
  constructor(agentId: string) {
    super('CALL_ABORTED', `The call to agent ${agentId} was cancelled by its caller.`);
  }
}

function show(id: string): string {
  return JSON.stringify(id.slice(0, 100));
}
