import { Loop } from '../loop.js';
import type { EventStore } from './event.store.js';

export interface PrunerOptions {
  /** Events older than this go … */
  keepMs: number;
  /** … and so do those beyond this number. */
  keepCount: number;
  onError(error: unknown): void;
}

const EVERY_MS = 60_000;
const STEP = 1_000;

/** Keeps the log within its limits, in short steps that no writer and no reader waits for. */
export class EventPruner {
  private readonly loop: Loop;

  constructor(
    private readonly store: EventStore,
    private readonly options: PrunerOptions,
  ) {
    const { onError } = options;
    this.loop = new Loop({ pass: async () => await this.prune(), everyMs: () => EVERY_MS, onError });
  }

  async prune(): Promise<{ pruned: number }> {
    const { keepMs, keepCount } = this.options;
    let pruned = 0;
    for (let step = STEP; step === STEP; pruned += step) step = await this.store.prune(keepMs, keepCount, STEP);
    return { pruned };
  }

  start(): void {
    this.loop.start();
  }

  async stop(): Promise<void> {
    await this.loop.stop();
  }
}
