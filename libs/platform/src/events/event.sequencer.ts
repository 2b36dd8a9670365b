import type { Database } from '../postgres/database.js';
import { Loop } from '../loop.js';
import { EventSnapshot } from './event.snapshot.js';
import type { EventStore } from './event.store.js';

export interface SequencerOptions {
  onError(error: unknown): void;
  /** How often to look for what a writer left that died before it could call. */
  pollMs?: number;
}

const BATCH = 1_000;
/** Fewer passes leave more to the writers, and delay events under load by this much. After a rest there is no wait. */
const PACE_MS = 20;
/** When a pass finds this many, the writers need the time more than the readers. */
const BUSY = 50;
const BUSY_PACE_MS = 50;
const POLL_MS = 500;

/**
 * Gives committed events their place in the log. One sequencer works at a time, however many replicas there are: the
 * others wait for its transaction. A pass is one transaction, so whatever kills it, its events are either in the log or
 * still staged, and the next pass takes them.
 */
export class EventSequencer {
  private readonly listeners: ((head: number) => void)[] = [];
  private readonly loop: Loop;
  private started = false;
  private lastMoved = 0;

  constructor(
    private readonly db: Database,
    private readonly store: EventStore,
    private readonly options: SequencerOptions,
  ) {
    const { onError, pollMs = POLL_MS } = options;
    const paceMs = (): number => (this.lastMoved >= BUSY ? BUSY_PACE_MS : PACE_MS);
    this.loop = new Loop({ pass: async (woken) => await this.pass(woken), everyMs: () => pollMs, paceMs, onError });
  }

  /** Called with the new head after events were moved by this process. */
  onMoved(listener: (head: number) => void): void {
    this.listeners.push(listener);
  }

  start(): void {
    this.started = true;
    this.loop.start();
  }

  wake(): void {
    this.loop.wake();
  }

  /** With a last pass, so that what this process committed need not wait for another one. */
  async stop(): Promise<void> {
    await this.loop.stop();
    if (!this.started) return;
    this.started = false;
    await this.pass(false).catch(this.options.onError);
  }

  /** One transaction. */
  async runOnce(): Promise<{ moved: number }> {
    const result = await this.db.transaction(async () => {
      await this.store.lockSequencer();
      return await this.store.move(BATCH);
    });
    if (result) this.listeners.forEach((listener) => listener(result.head));
    this.lastMoved = result?.moved ?? 0;
    return { moved: this.lastMoved };
  }

  /**
   * The database as of one seq: all changes up to it are in it, none after, so what is read from it and the events after
   * that seq have neither a hole nor an overlap. The sequencer is held up for a moment, however much is read later.
   */
  async snapshot(): Promise<EventSnapshot> {
    const snapshot = await EventSnapshot.prepare(this.db);
    try {
      await this.db.transaction(async () => {
        await this.store.lockSequencer();
        const { position, exported } = await this.store.moveAllAndExport();
        await snapshot.begin(position, exported);
      });
    } catch (error) {
      await snapshot.close();
      throw error;
    }
    this.listeners.forEach((listener) => listener(snapshot.seq));
    return snapshot;
  }

  private async pass(woken: boolean): Promise<void> {
    if (!woken && !(await this.store.hasStaged())) return;
    while ((await this.runOnce()).moved === BATCH);
  }
}
