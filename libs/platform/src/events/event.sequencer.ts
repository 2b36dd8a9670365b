import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { StopsIn } from '../lifecycle/shutdown.order.js';
import { Loop } from '../loop.js';
import { Database } from '../postgres/database.js';
import { EventFeed } from './event.feed.js';
import { EventSnapshot } from './event.snapshot.js';
import { EventStore } from './event.store.js';

const BATCH = 1_000;
/** Fewer passes leave more to the writers, and delay events under load by this much. After a rest there is no wait. */
const PACE_MS = 20;
/** When a pass finds this many, the writers need the time more than the readers. */
const BUSY = 50;
const BUSY_PACE_MS = 50;
/** Finds events of writers that died after their commit. */
const POLL_MS = 500;

/**
 * Gives committed events their place in the log and wakes the feed of this process. One sequencer works at a time among all
 * replicas: the others wait for its transaction. A pass is one transaction, so when it is killed, its events are either in the
 * log or still staged, and the next pass moves them.
 */
@Injectable()
export class EventSequencer implements OnApplicationBootstrap {
  private readonly loop: Loop;
  private started = false;
  private lastMoved = 0;

  constructor(
    private readonly db: Database,
    private readonly store: EventStore,
    private readonly feed: EventFeed,
    private readonly faults: BackgroundFaults,
  ) {
    this.loop = new Loop({
      pass: async (woken) => await this.pass(woken),
      everyMs: () => POLL_MS,
      paceMs: () => (this.lastMoved >= BUSY ? BUSY_PACE_MS : PACE_MS),
      onError: (error) => this.report(error),
    });
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  start(): void {
    this.started = true;
    this.loop.start();
  }

  wake(): void {
    this.loop.wake();
  }

  /** Ends with a pass, so that the events of this process do not wait for another replica. */
  @StopsIn('sequencer')
  async stop(): Promise<void> {
    await this.loop.stop();
    if (!this.started) return;
    this.started = false;
    await this.pass(false).catch((error: unknown) => this.report(error));
  }

  /** One transaction. */
  async runOnce(): Promise<{ moved: number }> {
    const result = await this.db.transaction(async () => {
      await this.store.lockSequencer();
      return await this.store.move(BATCH);
    });
    if (result) this.feed.wake(result.head);
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
    this.feed.wake(snapshot.seq);
    return snapshot;
  }

  private report(error: unknown): void {
    this.faults.report('events.sequencer', error);
  }

  private async pass(woken: boolean): Promise<void> {
    if (!woken && !(await this.store.hasStaged())) return;
    while ((await this.runOnce()).moved === BATCH);
  }
}
