import type { ModelProvider } from '#rollcall/providers';
import type { ModelCall } from './middleware.js';

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
