import { Loop } from '../loop.js';
import { CursorAheadError, CursorExpiredError } from './event.errors.js';
import type { EventLog } from './event.log.js';
import type { RegistryEvent } from './event.types.js';
import { FeedSubscription, type FeedConsumer } from './feed.subscription.js';

export interface FeedOptions {
  onError(error: unknown): void;
  /** How long to rest without a call. Shorter while no calls can come. */
  pollMs(): number;
}

/** Is called around every look at the log. A look that fails is started again, and not done. */
export interface FeedWatcher {
  started(): void;
  /** Every event that was in the log at the start is known, and consumers who are up to date have it. */
  done(): void;
}

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
export class EventFeed {
  private readonly subscriptions = new Set<FeedSubscription>();
  private readonly watchers: FeedWatcher[] = [];
  private readonly loop: Loop;
  private atHand: RegistryEvent[] = [];
  private newest?: number;
  private failingSince?: number;

  constructor(
    private readonly log: EventLog,
    private readonly options: FeedOptions,
  ) {
    this.loop = new Loop({
      pass: async () => await this.follow(),
      everyMs: options.pollMs,
      onError: (error) => this.fail(error),
    });
  }

  /** The newest event this process has seen; undefined until it has looked for the first time. */
  get position(): number | undefined {
    return this.newest;
  }

  start(): void {
    this.loop.start();
  }

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

  /** `after` is the seq of the last event the consumer has; 0 for all that are kept. */
  subscribe(after: number, consumer: FeedConsumer): FeedSubscription {
    const subscription = new FeedSubscription(this, after, consumer, {
      onError: (error) => this.options.onError(error),
      onClose: () => this.subscriptions.delete(subscription),
    });
    this.subscriptions.add(subscription);
    subscription.serve();
    return subscription;
  }

  /** Events after `after`: at once if they are at hand, else from the log. */
  read(after: number, limit: number): RegistryEvent[] | Promise<RegistryEvent[]> {
    const [oldest] = this.atHand;
    if (oldest === undefined || after + 1 < oldest.seq) return this.readLog(after, limit);
    const start = after + 1 - oldest.seq;
    return this.atHand.slice(start, start + limit);
  }

  private async readLog(after: number, limit: number): Promise<RegistryEvent[]> {
    return (await this.log.page(after, limit)).events;
  }

  private async follow(): Promise<void> {
    for (const watcher of this.watchers) watcher.started();
    this.newest ??= await this.log.head();
    for (let full = true; full;) {
      const events = await this.next(this.newest);
      full = events.length === PAGE;
      this.keep(events);
      this.failingSince = undefined;
      for (const subscription of this.subscriptions) subscription.serve();
    }
    for (const watcher of this.watchers) watcher.done();
  }

  private fail(error: unknown): void {
    this.options.onError(error);
    this.failingSince ??= performance.now();
    if (performance.now() - this.failingSince < PATIENCE_MS) return;
    for (const subscription of this.subscriptions) subscription.interrupt(error);
  }

  private async next(after: number): Promise<RegistryEvent[]> {
    try {
      return (await this.log.page(after, PAGE, 'reserved')).events;
    } catch (error) {
      if (error instanceof CursorExpiredError) this.restartAt(error.oldest);
      else if (error instanceof CursorAheadError) this.restartAt(error.head, error);
      else throw error;
      return [];
    }
  }

  /** The log went on without us, or was set back. Consumers that cannot go on from where they are will be told so. */
  private restartAt(position: number, error?: CursorAheadError): void {
    this.newest = position;
    this.atHand = [];
    for (const subscription of this.subscriptions)
      if (error && subscription.cursor > position) subscription.expire(error);
    this.loop.wake();
  }

  private keep(events: RegistryEvent[]): void {
    const last = events.at(-1);
    if (!last) return;
    this.atHand.push(...events);
    if (this.atHand.length > 2 * AT_HAND) this.atHand = this.atHand.slice(-AT_HAND);
    this.newest = last.seq;
  }
}
