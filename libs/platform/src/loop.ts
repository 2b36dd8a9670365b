import { setTimeout as delay } from 'node:timers/promises';

export interface LoopOptions {
  /** One pass. `woken` tells whether someone called, or only the time was over. */
  pass(woken: boolean): Promise<unknown>;
  /** The longest rest between two passes. Asked anew before every rest. */
  everyMs(): number;
  /** The shortest time between the starts of two passes, so that many calls become one pass. Asked anew after each. */
  paceMs?(): number;
  onError(error: unknown): void;
}

const SHORTEST_BACK_OFF_MS = 50;
const LONGEST_BACK_OFF_MS = 2_000;

/**
 * Runs a pass when it is woken, and at the latest when its time is over. Passes never overlap, and a call that comes
 * while one is under way leads to another one. A pass that fails is told and tried again, ever less often.
 */
export class Loop {
  private readonly stopping = new AbortController();
  private running?: Promise<void>;
  private called = false;
  private interrupt?: () => void;

  constructor(private readonly options: LoopOptions) {}

  start(): void {
    this.running ??= this.run();
  }

  wake(): void {
    this.called = true;
    this.interrupt?.();
  }

  /** Returns when the pass under way has ended. */
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
      const least = failures === 0 ? this.paceLeft(started) : backOff(failures);
      if (least > 0) await this.pause(least);
      if (failures === 0) await this.rest();
    }
  }

  private async attempt(): Promise<boolean> {
    const woken = this.called;
    this.called = false;
    try {
      await this.options.pass(woken);
      return true;
    } catch (error) {
      this.called = true; // what it was called for is still to be done
      this.options.onError(error);
      return false;
    }
  }

  private paceLeft(started: number): number {
    return (this.options.paceMs?.() ?? 0) - (performance.now() - started);
  }

  private async pause(milliseconds: number): Promise<void> {
    const { signal } = this.stopping;
    await delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined); // stopped
  }

  private async rest(): Promise<void> {
    if (this.called || this.stopping.signal.aborted) return;
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, this.options.everyMs()).unref();
    this.interrupt = over.resolve;
    await over.promise;
    this.interrupt = undefined;
    clearTimeout(timer);
  }
}

/** Doubled each time, up to a limit, and never the same for two replicas. */
function backOff(failures: number): number {
  const full = Math.min(LONGEST_BACK_OFF_MS, SHORTEST_BACK_OFF_MS * 2 ** (failures - 1));
  return full * (0.5 + Math.random() / 2);
}
