import { monitorEventLoopDelay } from 'node:perf_hooks';

const WINDOW_MS = 1_000;
const MS = 1e6;

/** How late this process itself was lately: time that must not be blamed on the server. */
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

  /** The longest delay of this and the last window. */
  get ms(): number {
    return Math.max(this.previousMs, this.histogram.max / MS);
  }

  stop(): void {
    clearInterval(this.timer);
    this.histogram.disable();
  }
}
