import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { StopsIn } from '../lifecycle/shutdown.js';
import { Database } from '../postgres/database.js';
import { Loop } from '../work/loop.js';
import { EventFeed } from './event.feed.js';
import { EventSnapshot } from './event.snapshot.js';
import { EventStore } from './event.store.js';

const BATCH = 1_000;
/** The minimum time between two passes. It leaves database time to the writers, and delays events by this much under load. */
const PACE_MS = 20;
/** A pass that moves this many events is a sign of load, so the next pass starts later. */
const BUSY = 50;
const BUSY_PACE_MS = 50;
/** How often the sequencer looks for events whose writer crashed after its commit. */
const POLL_MS = 500;

/**
 * Moves committed events from the outbox to the log, numbers them, and wakes the feed of this process. Only one
 * sequencer of all replicas works at a time; the others wait for its transaction. A batch is one transaction, so after
 * a crash its events are either in the log, or still staged for the next pass.
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

  /** Runs a last pass, so that the events of this process do not wait for another replica. */
  @StopsIn('sequencer')
  async stop(): Promise<void> {
    await this.loop.stop();
    if (!this.started) return;
    this.started = false;
    await this.pass(false).catch((error: unknown) => this.report(error));
  }

  /** Moves one batch in one transaction. */
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
   * Opens a snapshot of the database at one seq. It contains exactly the changes up to that seq, so the snapshot and
   * the events after the seq have neither a gap nor an overlap. The sequencer waits only until the snapshot is open,
   * not until it is read.
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
