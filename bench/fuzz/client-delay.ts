import { monitorEventLoopDelay } from 'node:perf_hooks';

const WINDOW_MS = 1_000;
const MS = 1e6;

/** Measures the event loop delay of this process, which must not count as a delay of the server. */
export class ClientDelay {
  private readonly histogram = monitorEventLoopDelay({ resolution: 10 });
  private previousMs = 0;
  private readonly timer: NodeJS.Timeout;

  constructor() {
    this.histogram.enable();
    this.timer = setInterval(() => {
      this.previousMs = this.histogram.max / MS;
      this.histogram.reset();
    }, WINDOW_MS);
  }

  /** The longest delay of this window and the previous one. */
  get ms(): number {
    return Math.max(this.previousMs, this.histogram.max / MS);
  }

  stop(): void {
    clearInterval(this.timer);
    this.histogram.disable();
  }
}
