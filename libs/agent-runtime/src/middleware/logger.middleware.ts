import type { LoggerService } from '@nestjs/common';
import type { ModelUsage } from '#rollcall/providers';
import type { LoopEvent, LoopStep } from '../loop/loop.step.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import type { RunCall, RunMiddleware, RunObserver } from './middleware.js';

type RunLog = Pick<LoggerService, 'log' | 'warn'>;

/** Logs the start and the end of each run as `name.started`, and `name.finished`, `name.aborted` or `name.failed`. */
export function logger(log: RunLog, name = 'run'): RunMiddleware {
  return { name: 'logger', observe: (call) => new RunReport(log, name, call) };
}

/** The numbers of one run. Tokens are those of the run itself; a count that a vendor did not report makes the sum unknown. */
class RunReport implements RunObserver {
  private readonly startedAt = performance.now();
  private turns = 0;
  private inputTokens: number | null = 0;
  private outputTokens: number | null = 0;

  constructor(
    private readonly log: RunLog,
    private readonly name: string,
    private readonly call: RunCall,
  ) {}

  onEvent(event: LoopEvent): undefined {
    const usage = event.type === 'step' ? usageOf(event.step) : undefined;
    if (!usage) return;
    const { inputTokens, outputTokens } = usage;
    this.turns += 1;
    this.inputTokens = plus(this.inputTokens, inputTokens);
    this.outputTokens = plus(this.outputTokens, outputTokens);
  }

  onStart(): void {
    this.log.log({ event: `${this.name}.started`, ...this.identity });
  }

  onOutcome(outcome: RunOutcome): void {
    const reason = outcome.type === 'stopped' ? { reason: outcome.reason } : {};
    this.log.log({
      event: `${this.name}.finished`,
      ...this.identity,
      outcome: outcome.type,
      ...reason,
      ...this.numbers,
    });
  }

  onError(error: unknown): unknown {
    this.failed(error);
    return error;
  }

  onAbandoned(): void {
    this.failed(undefined);
  }

  /** If there is no error, the caller has stopped reading. A run that was cancelled or handed over has not failed. */
  private failed(error: unknown): void {
    const { code = error === undefined ? 'CALL_ABORTED' : null } = (error ?? {}) as { code?: unknown };
    if (code === 'CALL_ABORTED')
      return this.log.log({ event: `${this.name}.aborted`, ...this.identity, ...this.numbers });
    this.log.warn({ event: `${this.name}.failed`, ...this.identity, code, err: error, ...this.numbers });
  }

  private get identity(): object {
    const { namespace, runId, rootRunId, agentName, depth } = this.call.context;
    return { namespace, runId, rootRunId, agentName, depth };
  }

  private get numbers(): object {
    const { turns, inputTokens, outputTokens } = this;
    return { turns, inputTokens, outputTokens, durationMs: Math.round(performance.now() - this.startedAt) };
  }
}

/** The usage of the model call, if the step records one. */
function usageOf(step: LoopStep): ModelUsage | undefined {
  if (step.type === 'model-replied') return step.reply.usage;
  return step.type === 'context-summarised' ? step.usage : undefined;
}

function plus(sum: number | null, count: number | undefined): number | null {
  return sum === null || count === undefined ? null : sum + count;
}
