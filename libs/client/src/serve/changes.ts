/** Lets loops wait for a condition. `notify` is called when something has changed that a condition depends on. */
export class Changes {
  private readonly listeners = new Set<() => void>();

  notify(): void {
    for (const listener of this.listeners) listener();
  }

  /** Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Resolves when the condition holds, and rejects when the signal is aborted. */
  async until(condition: () => boolean, signal?: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const check = (): void => {
        if (!signal?.aborted && !condition()) return;
        end();
        signal?.removeEventListener('abort', check);
        if (signal?.aborted) reject(signal.reason);
        else resolve();
      };
      const end = this.subscribe(check);
      signal?.addEventListener('abort', check, { once: true });
      check();
    });
  }
}
