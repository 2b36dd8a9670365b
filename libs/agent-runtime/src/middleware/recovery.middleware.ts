import { Logger, type LoggerService } from '@nestjs/common';
import { DomainError } from '#rollcall/platform';
import { ProviderError } from '#rollcall/providers';
import { RuntimeError } from '../errors.js';
import type { RunCall, RunMiddleware } from './middleware.js';

/** The run failed because of a bug in Rollcall, a tool or a middleware. The log contains the cause. */
class AgentFailedInternallyError extends RuntimeError {
  readonly code = 'AGENT_FAILED_INTERNALLY';

  constructor(agentName: string, runId: string, cause: unknown) {
    super(
      `The agent "${agentName}" failed because of an internal error. The log contains the cause under the run id ${runId}.`,
      { cause },
    );
  }
}

/**
 * Converts an unknown error, such as a bug in a tool or a middleware, to AGENT_FAILED_INTERNALLY, and logs it in full. Errors with
 * a stable code pass unchanged.
 */
export function recovery(log: Pick<LoggerService, 'error'> = new Logger('runs')): RunMiddleware {
  return { name: 'recovery', observe: (call) => ({ onError: (error) => recovered(error, call, log) }) };
}

function recovered(error: unknown, { context }: RunCall, log: Pick<LoggerService, 'error'>): unknown {
  if (error instanceof ProviderError || error instanceof DomainError) return error;
  const { runId, rootRunId, agentName } = context;
  log.error({ event: 'run.internal_error', runId, rootRunId, agentName, err: error });
  return new AgentFailedInternallyError(agentName, runId, error);
}
