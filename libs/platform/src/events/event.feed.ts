import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { StopsIn } from '../lifecycle/shutdown.js';
import { PgListener } from '../postgres/pg.listener.js';
import { Loop } from '../work/loop.js';
import type { EventFilter } from './event.catalog.js';
import { CursorAheadError, CursorExpiredError, CursorForeignError } from './event.cursor.js';
import { isExpired, type RegistryEvent } from './event.js';
import { EventLog } from './event.log.js';
import { EVENT_CHANNEL, type LogPage } from './event.store.js';
import { type FeedConsumer, type FeedSlice, FeedSubscription } from './feed.subscription.js';

/** Observes the passes of the feed over the log. Each pass calls `started`, and then either `done` or `failed`. */
interface FeedWatcher {
  started(): void;
  /**
   * The feed has read all events that were in the log when the pass started, and has sent them to the consumers that are
   * up to date.
   */
  done(): void;
  failed(): void;
}

/** The poll interval when no notification arrives. It is shorter while the listener is disconnected. */
const POLL_WHEN_CONNECTED_MS = 1_000;
const POLL_WHEN_DISCONNECTED_MS = 100;
const PAGE_SIZE = 1_000;
/** The number of events in memory. A consumer that is up to date is served from memory and needs no query. */
const CACHE_SIZE = 4_096;
/** The feed reports a failure to its consumers only when the failure lasts longer than this. */
const INTERRUPT_AFTER_MS = 3_000;

/**
 * Follows the log once for the whole process and distributes the events to any number of consumers, each at its own
 * pace. A consumer that is up to date is served from memory; a consumer that is behind is served from the log. Every
 * consumer receives every event after its cursor exactly once and in order.
 */
@Injectable()
export class EventFeed implements OnApplicationBootstrap {
  private readonly subscriptions = new Set<FeedSubscription>();
  private readonly watchers: FeedWatcher[] = [];
  private readonly loop: Loop;
  private recent: RegistryEvent[] = [];
  private newest?: number;
  /** The newest head that was passed to `wake` since the last pass ended; 0 if none. */
  private calledFor = 0;
  private epoch = '';
  private failingSince?: number;

  constructor(
    private readonly log: EventLog,
    listener: PgListener,
    private readonly faults: BackgroundFaults,
  ) {
    this.loop = new Loop({
      pass: async () => await this.follow().finally(() => (this.calledFor = 0)),
      everyMs: () => (listener.connected ? POLL_WHEN_CONNECTED_MS : POLL_WHEN_DISCONNECTED_MS),
      onError: (error) => this.fail(error),
    });
    listener.on(EVENT_CHANNEL, (head) => this.wake(Number(head)));
    listener.onConnected(() => this.wake());
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  /** The seq of the newest event that this process has read; undefined before the first pass. */
  get position(): number | undefined {
    return this.newest;
  }

  /** How many consumers follow the feed in this process, and how many events the slowest of them is behind. */
  get consumers(): { count: number; behind: number } {
    const position = this.newest ?? 0;
    let behind = 0;
    for (const { cursor } of this.subscriptions) behind = Math.max(behind, position - cursor);
    return { count: this.subscriptions.size, behind };
  }

  start(): void {
    this.loop.start();
  }

  @StopsIn('feed')
  async stop(): Promise<void> {
    for (const subscription of this.subscriptions) subscription.close();
    await this.loop.stop();
  }

  /**
   * Starts a pass, because there may be new events. If the feed has read up to `head`, or `wake` was called with this `head`
   * before, no pass starts: the sequencer of this process and its NOTIFY both report each head.
   */
  wake(head?: number): void {
    if (head !== undefined && this.newest !== undefined && head <= Math.max(this.newest, this.calledFor)) return;
    this.calledFor = Math.max(this.calledFor, head ?? 0);
    this.loop.wake();
  }

  watch(watcher: FeedWatcher): void {
    this.watchers.push(watcher);
  }

  /**
   * `after` is the seq of the last event that the consumer has; with 0 it receives all events in the log. If a filter
   * is given, even an empty one, a consumer that is behind reads the log in pages of bounded cost, which wait for the
   * pages of other consumers. The filter is only a hint: the consumer itself must drop events that do not match.
   */
  subscribe(after: number, consumer: FeedConsumer, filter?: EventFilter): FeedSubscription {
    const subscription = new FeedSubscription(this, after, consumer, {
      filter,
      onError: (error) => this.report(error),
      onClose: () => this.subscriptions.delete(subscription),
    });
    this.subscriptions.add(subscription);
    subscription.serve();
    return subscription;
  }

  /** Returns events after `after`: synchronously from memory if possible, otherwise from the log. */
  read(after: number, limit: number, filter?: EventFilter): FeedSlice | Promise<FeedSlice> {
    const [oldest] = this.recent;
    if (oldest === undefined || after + 1 < oldest.seq) return this.readLog(after, limit, filter);
    const start = after + 1 - oldest.seq;
    const events = this.recent.slice(start, start + limit);
    return { events, upTo: events.at(-1)?.seq ?? after };
  }

  private async readLog(after: number, limit: number, filter?: EventFilter): Promise<LogPage> {
    const { log, epoch } = this;
    if (!filter) return await log.page(after, limit);
    return await log.search({ seq: after, ...(epoch !== '' && { epoch }) }, limit, filter);
  }

  private async follow(): Promise<void> {
    for (const watcher of this.watchers) watcher.started();
    if (this.newest === undefined) ({ seq: this.newest, epoch: this.epoch } = await this.log.end());
    for (let full = true; full;) {
      const events = await this.next(this.newest);
      full = events.length === PAGE_SIZE;
      this.cache(events);
      this.failingSince = undefined;
      for (const subscription of this.subscriptions) subscription.serve();
    }
    for (const watcher of this.watchers) watcher.done();
  }

  private report(error: unknown): void {
    this.faults.report('events.feed', error);
  }

  private fail(error: unknown): void {
    this.report(error);
    this.failingSince ??= performance.now();
    for (const watcher of this.watchers) watcher.failed();
    if (performance.now() - this.failingSince < INTERRUPT_AFTER_MS) return;
    for (const subscription of this.subscriptions) subscription.interrupt(error);
  }

  private async next(after: number): Promise<readonly RegistryEvent[]> {
    try {
      const { epoch, head, events } = await this.log.page(after, PAGE_SIZE);
      if (epoch === this.epoch) return events;
      this.switchTo(epoch, head);
    } catch (error) {
      if (error instanceof CursorExpiredError) this.restartAt(error.oldest);
      else if (error instanceof CursorAheadError) await this.startNewEpoch();
      else throw error;
    }
    return [];
  }

  /**
   * The log has fewer events than this process has read. The missing events are lost, and their numbers will be
   * assigned again.
   */
  private async startNewEpoch(): Promise<void> {
    await this.log.renew(this.epoch);
    const { seq, epoch } = await this.log.end();
    this.switchTo(epoch, seq);
  }

  /** Positions in the previous log are meaningless in the new one, so all subscriptions end. */
  private switchTo(epoch: string, head: number): void {
    this.epoch = epoch;
    this.restartAt(head);
    const open = Array.from(this.subscriptions); // a consumer may subscribe again when its subscription ends
    for (const subscription of open) subscription.expire(new CursorForeignError(head));
  }

  /** A consumer whose cursor is no longer valid gets an error at its next read. */
  private restartAt(position: number): void {
    this.newest = position;
    this.recent = [];
    this.loop.wake();
  }

  /**
   * Expired events are not cached. If events expired before this process read them, consumers read the log instead, and the log
   * rejects the cursors of consumers of that namespace.
   */
  private cache(events: readonly RegistryEvent[]): void {
    const last = events.at(-1);
    if (!last) return;
    const complete = events.slice(events.findLastIndex(isExpired) + 1);
    if (complete.length < events.length) this.recent = [];
    this.recent.push(...complete);
    if (this.recent.length > 2 * CACHE_SIZE) this.recent = this.recent.slice(-CACHE_SIZE);
    this.newest = last.seq;
  }
}
