const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 10_000;

/**
 * How long to wait before the attempt with this number (1, 2, 3 …). `Retry-After` is the minimum; without it, the pauses double. They are
 * random, so that many clients do not return at the same time.
 */
export function pauseBefore(attempt: number, retryAfterMs?: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs * (1 + Math.random() / 4);
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
}

/** Rejects at once with the reason of the signal when it is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = deferred();
  const timer = setTimeout(resolve, ms);
  const onAbort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** `Promise.withResolvers` is missing in Node 20. */
function deferred(): { promise: Promise<void>; resolve: () => void; reject: (reason: unknown) => void } {
  let resolve = (): void => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<void>((onDone, onFailure) => ([resolve, reject] = [onDone, onFailure]));
  return { promise, resolve, reject };
}
