import type { Quota } from '#rollcall/platform';
import { RuntimeError } from '../errors.js';
import { suggestion } from '../tools/closest.name.js';
import type { Run } from './run.js';
import type { RunStatus, WaitingFor } from './run.status.js';

const WAITS_FOR: Record<WaitingFor, string> = {
  input: 'a message',
  approval: 'an approval',
  needs_review: 'a review of its interrupted calls',
  authorization: 'an authorization at its remote agent',
};
/** When a run accepts a message or a decision. */
const ACCEPTED_WHEN = {
  message: 'It accepts a message only while it waits for a message or an approval.',
  decision: 'It accepts a decision only while it waits for an approval or a review.',
};

/** How long a caller whose runs fill the queue should wait before it tries again. */
const QUEUE_RETRY_MS = 5_000;

export class RunNotFoundError extends RuntimeError {
  readonly code = 'RUN_NOT_FOUND';

  constructor(id: string) {
    super(`There is no run ${JSON.stringify(id.slice(0, 100))} in this namespace.`);
  }
}

export class RunFinishedError extends RuntimeError {
  readonly code = 'RUN_FINISHED';
  override readonly details: { state: RunStatus };

  constructor(state: RunStatus) {
    super(`The run is finished (${state}), so it cannot be changed. Start a new run, or retry this one.`);
    this.details = { state };
  }
}

export class RunNotFinishedError extends RuntimeError {
  readonly code = 'RUN_NOT_FINISHED';
  override readonly details: { state: RunStatus };

  constructor(state: RunStatus) {
    super(`The run is ${state}. Only a finished run can be retried: wait until it ends, or cancel it.`);
    this.details = { state };
  }
}

export class RunRedactedError extends RuntimeError {
  readonly code = 'RUN_REDACTED';

  constructor() {
    super('The contents of the run were removed, so it cannot be retried. Start a new run with the input.');
  }
}

export class RunNotWaitingError extends RuntimeError {
  readonly code = 'RUN_NOT_WAITING';
  override readonly details: Pick<Run, 'state' | 'waitingFor'>;

  constructor({ state, waitingFor }: Pick<Run, 'state' | 'waitingFor'>, sent: 'message' | 'decision') {
    const status = waitingFor === null ? `is ${state}` : `waits for ${WAITS_FOR[waitingFor]}`;
    super(`The run ${status}. ${ACCEPTED_WHEN[sent]}`);
    this.details = { state, waitingFor };
  }
}

/** A delegated run is executed and cancelled together with its root. */
export class RunDelegatedError extends RuntimeError {
  readonly code = 'RUN_DELEGATED';
  override readonly details: { rootId: string };

  constructor(rootId: string) {
    super(`The run was delegated, so it belongs to the run ${rootId}. Send the request for that run.`);
    this.details = { rootId };
  }
}

export class RunForeignError extends RuntimeError {
  readonly code = 'RUN_FOREIGN';

  constructor() {
    super('Another principal started this run. You need the permission runs:manage to change it.');
  }
}

export class RunTargetMissingError extends RuntimeError {
  readonly code = 'RUN_TARGET_MISSING';

  constructor() {
    super('There is no default agent. Name an agent, a definition or capabilities.');
  }
}

/** `details` explain which agents were considered. */
export class RunTargetUnavailableError extends RuntimeError {
  readonly code = 'RUN_TARGET_UNAVAILABLE';
  override readonly details: Record<string, unknown>;
  override readonly retryAfterMs?: number;

  constructor(message: string, details: Record<string, unknown> = {}, retryAfterMs?: number) {
    super(message);
    this.details = details;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

export class RunCrashedError extends RuntimeError {
  readonly code = 'RUN_CRASHED';

  constructor(crashes: number) {
    super(
      `${crashes} replicas crashed or lost their lease while they executed this run, so it is not executed again. Look for the cause in their logs, then retry the run.`,
    );
  }
}

export class RunQueueFullError extends RuntimeError {
  readonly code = 'RUN_QUEUE_FULL';
  override readonly details: Record<string, unknown>;
  override readonly retryAfterMs = QUEUE_RETRY_MS;

  constructor(owner: 'namespace' | 'credential', { limit, setting }: Quota) {
    super(
      `This ${owner} already has ${limit} queued runs, which is its quota. Wait until some of them have started, or ask the operator to raise ${setting}.`,
    );
    this.details = { limit, setting };
  }
}

export class RunDeadlinePassedError extends RuntimeError {
  readonly code = 'RUN_DEADLINE_PASSED';

  constructor() {
    super('The deadline is in the past. Set a later deadline, or none.');
  }
}

/** The caller of a run may not decide about its own call: the tool demands an operator. */
export class ApprovalForbiddenError extends RuntimeError {
  readonly code = 'APPROVAL_FORBIDDEN';
  override readonly details: { tool: string };

  constructor(tool: string) {
    super(
      `The tool ${tool.slice(0, 100)} demands the approval of an operator. Ask somebody with the permission runs:manage to decide. Operators can let callers decide with approve: caller of the tool or the MCP server.`,
    );
    this.details = { tool };
  }
}

export class RunDecisionMismatchError extends RuntimeError {
  readonly code = 'RUN_DECISION_MISMATCH';

  static ofCall(): RunDecisionMismatchError {
    return new RunDecisionMismatchError(
      'No call with this id and this input waits for a decision. Read the run again: result.approvals lists the waiting calls.',
    );
  }

  static ofDecided(): RunDecisionMismatchError {
    return new RunDecisionMismatchError(
      'Another decision about this call is already recorded, and it cannot be changed.',
    );
  }

  static ofOutput(): RunDecisionMismatchError {
    return new RunDecisionMismatchError(
      'The call has not been executed, so it has no output. Send the decision without output; output is for a run that waits for needs_review.',
    );
  }
}

export class RunTargetUnknownError extends RuntimeError {
  readonly code = 'RUN_TARGET_UNKNOWN';

  /** `known` are names that may have been meant. */
  constructor(agentId: string, known: readonly string[] = []) {
    const name = JSON.stringify(agentId.slice(0, 100));
    super(
      `No agent ${name} is registered, and there is no definition of this name${suggestion(agentId, known)}. GET /v1/agents and GET /v1/definitions list them.`,
    );
  }
}
