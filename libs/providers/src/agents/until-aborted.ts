/** The same values, but not a moment longer than the signal lasts: not every library hurries when it is aborted. */
export async function* untilAborted<Value>(values: AsyncIterable<Value>, signal: AbortSignal): AsyncGenerator<Value> {
  const ended = Promise.withResolvers<undefined>();
  const end = (): void => ended.resolve(undefined);
  signal.addEventListener('abort', end, { once: true });
  const iterator = values[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      const step = signal.aborted ? undefined : await Promise.race([next, ended.promise]);
      if (!step) return void next.catch(() => undefined); // nobody waits for it any more
      if (step.done) return;
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', end);
    void iterator.return?.().catch(() => undefined); // told, and not waited for
  }
}
