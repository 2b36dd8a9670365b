import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { StopsIn } from '../lifecycle/shutdown.order.js';
import { Loop } from '../loop.js';
import { PgListener } from '../postgres/pg.listener.js';
import { CursorAheadError, CursorExpiredError, CursorForeignError } from './event.errors.js';
import type { EventFilter } from './event.catalog.js';
import { EventLog } from './event.log.js';
import { EVENT_CHANNEL, type LogPage } from './event.store.js';
import type { RegistryEvent } from './event.types.js';
import { FeedSubscription, type FeedConsumer, type FeedSlice } from './feed.subscription.js';

/** Is called around every look at the log. A look ends in `done` or in `failed`. */
export interface FeedWatcher {
  started(): void;
  /** Every event that was in the log at the start is known, and consumers who are up to date have it. */
  done(): void;
  failed(): void;
}

/** The pause between two looks at the log without a notification; shorter while none can arrive. */
const POLL_WHEN_CONNECTED_MS = 1_000;
const POLL_WHEN_DISCONNECTED_MS = 100;
const PAGE = 1_000;
/** How many events are kept at hand, so that consumers who are up to date cost no query. */
const AT_HAND = 4_096;
/** The feed fails for this long before it reports that to its consumers. */
const PATIENCE_MS = 3_000;

/**
 * Follows the log, once for the whole process, and lets any number of consumers follow it in turn, each at its own
 * pace: whoever is up to date is served from memory, whoever is behind reads the log itself. Every consumer sees every
 * event after its cursor once and in order.
 */
@Injectable()
export class EventFeed implements OnApplicationBootstrap {
  private readonly subscriptions = new Set<FeedSubscription>();
  private readonly watchers: FeedWatcher[] = [];
  private readonly loop: Loop;
  private atHand: RegistryEvent[] = [];
  private newest?: number;
  private epoch = '';
  private failingSince?: number;

  constructor(
    private readonly log: EventLog,
    listener: PgListener,
    private readonly faults: BackgroundFaults,
  ) {
    this.loop = new Loop({
      pass: async () => await this.follow(),
      everyMs: () => (listener.connected ? POLL_WHEN_CONNECTED_MS : POLL_WHEN_DISCONNECTED_MS),
      onError: (error) => this.fail(error),
    });
    listener.on(EVENT_CHANNEL, (head) => this.wake(Number(head)));
    listener.onConnected(() => this.wake());
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  /** The newest event this process has seen; undefined until it has looked for the first time. */
  get position(): number | undefined {
    return this.newest;
  }

  start(): void {
    this.loop.start();
  }

  @StopsIn('feed')
  async stop(): Promise<void> {
    for (const subscription of this.subscriptions) subscription.close();
    await this.loop.stop();
  }

  /** There may be news, as far as `head` if that is known. */
  wake(head?: number): void {
    if (head === undefined || this.newest === undefined || head > this.newest) this.loop.wake();
  }

  watch(watcher: FeedWatcher): void {
    this.watchers.push(watcher);
  }

  /**
   * `after` is the seq of the last event the consumer has; 0 for all that are kept. With a filter, also an empty one, a
   * consumer that is behind reads the log in pages of bounded cost, in turn with others; it filters what it gets by itself.
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

  /** Events after `after`: at once if they are at hand, else from the log. */
  read(after: number, limit: number, filter?: EventFilter): FeedSlice | Promise<FeedSlice> {
    const [oldest] = this.atHand;
    if (oldest === undefined || after + 1 < oldest.seq) return this.readLog(after, limit, filter);
    const start = after + 1 - oldest.seq;
    const events = this.atHand.slice(start, start + limit);
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
      full = events.length === PAGE;
      this.keep(events);
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
    if (performance.now() - this.failingSince < PATIENCE_MS) return;
    for (const subscription of this.subscriptions) subscription.interrupt(error);
  }

  private async next(after: number): Promise<readonly RegistryEvent[]> {
    try {
      const { epoch, head, events } = await this.log.page(after, PAGE);
      if (epoch === this.epoch) return events;
      this.switchTo(epoch, head);
    } catch (error) {
      if (error instanceof CursorExpiredError) this.restartAt(error.oldest);
      else if (error instanceof CursorAheadError) await this.leaveLostLog();
      else throw error;
    }
    return [];
  }

  /** The log has fewer events than this process has seen: those are lost, and their numbers will be given again. */
  private async leaveLostLog(): Promise<void> {
    await this.log.renew(this.epoch);
    const { seq, epoch } = await this.log.end();
    this.switchTo(epoch, seq);
  }

  /** It is another log now. No position in the one before means anything in it. */
  private switchTo(epoch: string, head: number): void {
    this.epoch = epoch;
    this.restartAt(head);
    const open = Array.from(this.subscriptions); // consumers may subscribe anew while they are ended
    for (const subscription of open) subscription.expire(new CursorForeignError(head));
  }

  /** Consumers that cannot go on from where they are find out when they read. */
  private restartAt(position: number): void {
    this.newest = position;
    this.atHand = [];
    this.loop.wake();
  }

  private keep(events: readonly RegistryEvent[]): void {
    const last = events.at(-1);
    if (!last) return;
    this.atHand.push(...events);
    if (this.atHand.length > 2 * AT_HAND) this.atHand = this.atHand.slice(-AT_HAND);
    this.newest = last.seq;
  }
}
