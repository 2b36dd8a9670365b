import { type ModelProvider, type ModelReply, ProviderError, type ProviderErrorCode } from '#rollcall/providers';
import type { ModelCall, ModelMiddleware, ModelNext } from './middleware.js';
import { ModelCircuitOpenError } from './model-circuit.middleware.js';
import { Attempts, nextAttempt, recordAttempt } from './retry.middleware.js';

/** Errors that are not retryable, but that a model with another key or account can avoid. */
const OTHER_ACCOUNT_HELPS: ReadonlySet<ProviderErrorCode> = new Set([
  'MODEL_KEY_MISSING',
  'MODEL_KEY_REFUSED',
  'MODEL_QUOTA_EXHAUSTED',
]);

/**
 * Calls the next model if a model is unavailable, or if its key or quota does not allow the call. It does not change the model after
 * the reader has received a part of the answer.
 */
export function fallback(models: readonly ModelProvider[]): ModelMiddleware {
  return { name: 'fallback', call: (call, next) => withFallback(call, next, models) };
}

async function withFallback(call: ModelCall, next: ModelNext, models: readonly ModelProvider[]): Promise<ModelReply> {
  const attempts = new Attempts(call);
  let { model, attempt } = call;
  for (let index = 0; ; index += 1) {
    try {
      return await next(attempts.with(model, attempt));
    } catch (error) {
      const following = models[index];
      attempt = nextAttempt({ ...call, attempt }, error);
      if (!following || !attempts.mayContinue || !otherModelHelps(error)) {
        recordAttempt(error, attempt - 1);
        throw error;
      }
      model = following;
    }
  }
}

function otherModelHelps(error: unknown): boolean {
  if (error instanceof ModelCircuitOpenError) return true;
  return error instanceof ProviderError && (error.retryable || OTHER_ACCOUNT_HELPS.has(error.code));
}
