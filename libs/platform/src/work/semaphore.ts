/** Returns the permits. Further calls have no effect. */
export type Release = () => void;

interface Waiter {
  count: number;
  enter(): void;
  fail(error: unknown): void;
}

/**
 * Limits how many callers hold a permit at the same time. Other callers wait in the order of arrival: the permits that a caller
 * returns go to the first waiting caller and never to a new one. All code in which callers wait for a permit uses this
 * class, so that the rules for fairness, cancellation and double release exist once; its users only decide what a missing permit means.
 */
export class Semaphore {
  private held = 0;
  private queue: Waiter[] = [];
  private whenIdle: (() => void)[] = [];

  /** Without a limit, the semaphore only counts. */
  constructor(readonly limit = Infinity) {}

  /** The number of permits in use. */
  get inUse(): number {
    return this.held;
  }

  /** The number of callers that wait for permits. */
  get waiting(): number {
    return this.queue.length;
  }

  /** Takes `count` permits, or returns undefined if they are not free now or if other callers wait. */
  tryAcquire(count = 1): Release | undefined {
    if (this.queue.length > 0 || this.held + count > this.limit) return undefined;
    this.held += count;
    return this.releaseOf(count);
  }

  /** Waits for `count` permits. If the signal is aborted first, rejects with its reason and takes no permit. */
  async acquire({ count = 1, signal }: { count?: number; signal?: AbortSignal } = {}): Promise<Release> {
    signal?.throwIfAborted();
    return this.tryAcquire(count) ?? (await this.wait(count, signal));
  }

  /** Does the work while it holds one permit. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const release = this.tryAcquire() ?? (await this.wait(1));
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Rejects all callers that wait. Permits in use are not affected, and later callers are accepted. */
  rejectWaiting(error: unknown): void {
    const { queue } = this;
    this.queue = [];
    for (const waiter of queue) waiter.fail(error);
  }

  /** Resolves when no permit is in use. */
  async idle(): Promise<void> {
    if (this.held > 0) await new Promise<void>((resolve) => this.whenIdle.push(resolve));
  }

  private async wait(count: number, signal?: AbortSignal): Promise<Release> {
    if (count > this.limit) throw new RangeError(`${count} permits were requested, but the limit is ${this.limit}`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { count, enter: resolve, fail: reject };
    const onAbort = (): void => {
      this.queue = this.queue.filter((one) => one !== waiter);
      reject(signal?.reason);
      this.admit(); // a smaller request behind this one may fit now
    };
    this.queue.push(waiter);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
      return this.releaseOf(count);
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  private releaseOf(count: number): Release {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.held -= count;
      this.admit();
    };
  }

  private admit(): void {
    for (let [first] = this.queue; first && this.held + first.count <= this.limit; [first] = this.queue) {
      this.queue.shift();
      this.held += first.count;
      first.enter();
    }
    if (this.held > 0) return;
    const { whenIdle } = this;
    this.whenIdle = [];
    for (const resolve of whenIdle) resolve();
  }
}
