import { setTimeout as delay } from 'node:timers/promises';
import { aborted, type ModelProvider, type ModelReply, ProviderError } from '#rollcall/providers';
import type { ModelCall, ModelMiddleware, ModelNext } from './middleware.js';

export interface RetryOptions {
  /** The number of attempts for one model, including the first. */
  maxAttempts?: number;
  /** The upper limit of the first delay. It doubles with each attempt. */
  firstDelayMs?: number;
  /** The upper limit of all delays. A vendor that asks for a longer delay is not called again. */
  maxDelayMs?: number;
  /** Returns a number from 0 to 1, for the jitter. */
  random?: () => number;
  now?: () => number;
}

/**
 * Repeats a call that failed with a retryable ProviderError. It waits as long as the vendor requests, or else a random time below a
 * limit that doubles (full jitter). It does not repeat a call if the reader has received a part of its answer, or if the next attempt
 * would begin after the deadline. Each attempt passes through the rest of the chain, so each attempt is charged.
 */
export function retry(options: RetryOptions = {}): ModelMiddleware {
  const rules = {
    maxAttempts: 3,
    firstDelayMs: 500,
    maxDelayMs: 30_000,
    random: Math.random,
    now: Date.now,
    ...options,
  };
  return { name: 'retry', call: (call, next) => retried(call, next, rules) };
}

async function retried(call: ModelCall, next: ModelNext, rules: Required<RetryOptions>): Promise<ModelReply> {
  const attempts = new Attempts(call);
  let attempt = call.attempt;
  for (let failures = 1; ; failures += 1) {
    try {
      return await next(attempts.with(call.model, attempt));
    } catch (error) {
      const wait =
        failures < rules.maxAttempts && attempts.mayContinue ? delayAfter(error, failures, rules) : undefined;
      if (wait === undefined || !fits(wait, call, rules)) {
        recordAttempt(error, nextAttempt({ ...call, attempt }, error) - 1);
        throw error;
      }
      await pause(wait, call);
      attempt = nextAttempt({ ...call, attempt }, error);
    }
  }
}

/** Returns undefined if the call must not be repeated. */
export function delayAfter(
  error: unknown,
  failures: number,
  rules: Required<Pick<RetryOptions, 'firstDelayMs' | 'maxDelayMs' | 'random'>>,
): number | undefined {
  if (!(error instanceof ProviderError) || !error.retryable) return undefined;
  const { retryAfterMs } = error;
  if (retryAfterMs !== undefined) return retryAfterMs <= rules.maxDelayMs ? retryAfterMs : undefined;
  return rules.random() * Math.min(rules.maxDelayMs, rules.firstDelayMs * 2 ** (failures - 1));
}

function fits(wait: number, { context: { deadline } }: ModelCall, { now }: Required<RetryOptions>): boolean {
  return deadline === null || now() + wait < deadline;
}

async function pause(ms: number, { signal, model }: ModelCall): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch {
    throw aborted(`The call to ${model.vendor} ${model.model}`);
  }
}

const LAST_ATTEMPTS = new WeakMap<object, number>();

/** Records the number of the last attempt. A middleware that makes several attempts calls this before it throws the last error. */
export function recordAttempt(error: unknown, attempt: number): void {
  if (typeof error === 'object' && error !== null) LAST_ATTEMPTS.set(error, attempt);
}

/**
 * Returns the number of the attempt that follows this error. Attempts that an inner middleware made are counted, so no two
 * attempts of a turn have the same number.
 */
export function nextAttempt(call: ModelCall, error: unknown): number {
  const last = typeof error === 'object' && error !== null ? LAST_ATTEMPTS.get(error) : undefined;
  return Math.max(call.attempt, last ?? 0) + 1;
}

/** Creates the attempts of one call, and records whether the reader has received a part of the answer. */
export class Attempts {
  hasStreamed = false;
  private readonly onDelta: ModelCall['onDelta'];

  constructor(private readonly call: ModelCall) {
    const { onDelta } = call;
    this.onDelta =
      onDelta &&
      ((delta) => {
        this.hasStreamed = true;
        onDelta(delta);
      });
  }

  /** The call with this model and this attempt number. */
  with(model: ModelProvider, attempt: number): ModelCall {
    const { context, request, turn, isFinal, signal, writer } = this.call;
    const call = { context, model, request, turn, attempt, isFinal, signal, ...(writer && { writer }) };
    return this.onDelta ? { ...call, onDelta: this.onDelta } : call;
  }

  /** False after the first delta, because another attempt would repeat text that the reader already has. */
  get mayContinue(): boolean {
    return !this.hasStreamed && !this.call.signal.aborted;
  }
}
