/** Waits for an agent: without a time limit before the signal is aborted, and for at most `graceMs` afterwards. */
export class GracePeriod {
  private readonly over = Promise.withResolvers<undefined>();
  private timer?: NodeJS.Timeout;
  private isOver = false;

  constructor(
    private readonly signal: AbortSignal,
    private readonly graceMs: number,
  ) {
    if (signal.aborted) this.start();
    else signal.addEventListener('abort', this.start, { once: true });
  }

  /** Resolves with undefined if the grace period ends first. */
  async wait<Value>(work: Promise<Value>): Promise<Value | undefined> {
    if (this.isOver) void work.catch(() => undefined); // the result is not read any more
    return this.isOver ? undefined : await Promise.race([work, this.over.promise]);
  }

  end(): void {
    clearTimeout(this.timer);
    this.signal.removeEventListener('abort', this.start);
  }

  private readonly start = (): void => {
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.over.resolve(undefined);
    }, this.graceMs);
  };
}
