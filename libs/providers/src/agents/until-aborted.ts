/** Yields the values of a source, but ends immediately when the signal is aborted, even if the source reacts slowly. */
export async function* untilAborted<Value>(values: AsyncIterable<Value>, signal: AbortSignal): AsyncGenerator<Value> {
  const ended = Promise.withResolvers<undefined>();
  const end = (): void => ended.resolve(undefined);
  signal.addEventListener('abort', end, { once: true });
  const iterator = values[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      const step = signal.aborted ? undefined : await Promise.race([next, ended.promise]);
      if (!step) return void next.catch(() => undefined); // this value is never read
      if (step.done) return;
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', end);
    void iterator.return?.().catch(() => undefined); // not awaited, because the source may be slow
  }
}
