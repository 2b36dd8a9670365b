import { RuntimeError } from '../errors.js';

/** The run failed because of a bug in Rollcall, a tool or a middleware. The log contains the cause. */
export class AgentFailedInternallyError extends RuntimeError {
  readonly code = 'AGENT_FAILED_INTERNALLY';

  constructor(agentName: string, runId: string, cause: unknown) {
    super(
      `The agent "${agentName}" failed because of an internal error. The log contains the cause under the run id ${runId}.`,
      { cause },
    );
  }
}

/** The model failed repeatedly, so it is not called for a limited time. */
export class ModelCircuitOpenError extends RuntimeError {
  readonly code = 'MODEL_CIRCUIT_OPEN';

  constructor(
    label: string,
    override readonly retryAfterMs: number,
  ) {
    const seconds = Math.ceil(retryAfterMs / 1_000);
    super(`The circuit of the model ${label} is open. Use another model, or call this one again in ${seconds} s.`);
  }
}
