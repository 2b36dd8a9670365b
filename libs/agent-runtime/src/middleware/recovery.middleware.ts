import { Logger, type LoggerService } from '@nestjs/common';
import { DomainError } from '#rollcall/platform';
import { ProviderError } from '#rollcall/providers';
import { AgentFailedInternallyError } from './middleware.errors.js';
import type { RunCall, RunEvents, RunMiddleware, RunNext } from './middleware.js';

/**
 * Converts an unknown error, such as a bug in a tool or a middleware, to AGENT_FAILED_INTERNALLY, and logs it in full. Errors with
 * a stable code pass unchanged.
 */
export function recovery(log: Pick<LoggerService, 'error'> = new Logger('runs')): RunMiddleware {
  return { name: 'recovery', run: (call, next) => recovered(call, next, log) };
}

async function* recovered(call: RunCall, next: RunNext, log: Pick<LoggerService, 'error'>): RunEvents {
  try {
    return yield* next(call);
  } catch (error) {
    if (error instanceof ProviderError || error instanceof DomainError) throw error;
    const { runId, rootRunId, agentName } = call.context;
    log.error({ event: 'run.internal_error', runId, rootRunId, agentName, err: error });
    throw new AgentFailedInternallyError(agentName, runId, error);
  }
}
