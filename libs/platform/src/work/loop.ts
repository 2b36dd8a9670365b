import { setTimeout as delay } from 'node:timers/promises';

interface LoopOptions {
  /** Runs one pass. `woken` is true after a call of `wake`, and false when the interval has elapsed. */
  pass(woken: boolean): Promise<unknown>;
  /** The maximum time between two passes. It is read before every wait. */
  everyMs(): number;
  /**
   * The minimum time between the starts of two passes, so that many calls of `wake` cause one pass. It is read after
   * every pass.
   */
  paceMs?(): number;
  onError(error: unknown): void;
}

const MIN_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 2_000;

/**
 * Runs a pass after each call of `wake`, and at the latest when the interval has elapsed. Passes never overlap. A call
 * of `wake` during a pass causes another pass. A pass that fails is reported and tried again with a growing delay.
 */
export class Loop {
  private readonly stopping = new AbortController();
  private running?: Promise<void>;
  private wakeRequested = false;
  private interrupt?: () => void;

  constructor(private readonly options: LoopOptions) {}

  start(): void {
    this.running ??= this.run();
  }

  wake(): void {
    this.wakeRequested = true;
    this.interrupt?.();
  }

  /** Resolves when the pass in progress has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.interrupt?.();
    await this.running;
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.stopping.signal.aborted) {
      const started = performance.now();
      failures = (await this.attempt()) ? 0 : failures + 1;
      const pauseMs = failures === 0 ? this.paceLeft(started) : backoff(failures);
      if (pauseMs > 0) await this.pause(pauseMs);
      if (failures === 0) await this.waitForWake();
    }
  }

  private async attempt(): Promise<boolean> {
    const woken = this.wakeRequested;
    this.wakeRequested = false;
    try {
      await this.options.pass(woken);
      return true;
    } catch (error) {
      this.wakeRequested = true; // the requested work is not done yet
      this.options.onError(error);
      return false;
    }
  }

  private paceLeft(started: number): number {
    return (this.options.paceMs?.() ?? 0) - (performance.now() - started);
  }

  private async pause(milliseconds: number): Promise<void> {
    const { signal } = this.stopping;
    await delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined); // rejected when the loop stops
  }

  private async waitForWake(): Promise<void> {
    if (this.wakeRequested || this.stopping.signal.aborted) return;
    const woken = Promise.withResolvers<void>();
    const timer = setTimeout(woken.resolve, this.options.everyMs()).unref();
    this.interrupt = woken.resolve;
    await woken.promise;
    this.interrupt = undefined;
    clearTimeout(timer);
  }
}

/**
 * The delay before the next attempt. It doubles with each failure up to a limit; the random part keeps replicas from
 * retrying at the same time.
 */
function backoff(failures: number): number {
  const maxDelayMs = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** (failures - 1));
  return maxDelayMs * (0.5 + Math.random() / 2);
}
