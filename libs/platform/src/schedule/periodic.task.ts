import type { BackgroundFaults } from '../lifecycle/background.faults.js';

/** Runs one periodic method, one pass at a time. */
export class PeriodicTask {
  private running?: Promise<void>;
  private stopped = false;
  failures = 0;
  passes = 0;

  constructor(
    readonly name: string,
    private readonly pass: () => Promise<unknown>,
    private readonly faults: BackgroundFaults,
  ) {}

  /** Starts a pass, unless one is running or the task was stopped. Never rejects. */
  async run(): Promise<void> {
    if (this.stopped) return;
    this.running ??= this.attempt().finally(() => (this.running = undefined));
    await this.running;
  }

  /** Prevents new passes, and resolves when the pass in progress has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async attempt(): Promise<void> {
    this.passes += 1;
    try {
      await this.pass();
    } catch (error) {
      this.failures += 1;
      this.faults.report(this.name, error);
    }
  }
}
