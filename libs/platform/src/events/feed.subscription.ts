import type { EventFilter } from './event.catalog.js';
import { isUnusableCursor, type UnusableCursorError } from './event.cursor.js';
import type { RegistryEvent } from './event.js';

export interface FeedConsumer {
  /**
   * Receives the next events. If the consumer returns `false`, it has accepted the events but receives no more until
   * `resume` is called. If it throws, it receives the same events again.
   */
  accept(events: readonly RegistryEvent[]): boolean | void;
  /** The consumer cannot continue from its cursor, and the subscription has ended: read a snapshot and subscribe again. */
  expired(error: UnusableCursorError): void;
  /**
   * The feed has failed for several seconds. The subscription stays open; the consumer may connect to another replica
   * instead.
   */
  interrupted?(error: unknown): void;
}

/** A part of the log. */
export interface FeedSlice {
  events: readonly RegistryEvent[];
  /** The last position of this part. Events up to this position may be missing if they do not match the filter. */
  upTo: number;
}

/** The part of the feed that a subscription uses. */
interface FeedSource {
  readonly position: number | undefined;
  read(after: number, limit: number, filter?: EventFilter): FeedSlice | Promise<FeedSlice>;
}

interface Hooks {
  /**
   * The filter for reads from the log while the consumer is behind. The consumer itself must drop events that do not
   * match.
   */
  filter?: EventFilter;
  onError(error: unknown): void;
  onClose(): void;
}

/** The maximum number of events in one call of a consumer. */
const BATCH = 100;

/** Delivers the log to one consumer. Old and new events take the same path, so no event is lost or repeated between them. */
export class FeedSubscription {
  private closed = false;
  /** True during a read or a delivery, so that a callback cannot start another. */
  private busy = false;
  private paused = false;

  constructor(
    private readonly source: FeedSource,
    private after: number,
    private readonly consumer: FeedConsumer,
    private readonly hooks: Hooks,
  ) {}

  /** The seq of the last event that the consumer has accepted. */
  get cursor(): number {
    return this.after;
  }

  /** Continues the delivery after the consumer has returned `false`. */
  resume(): void {
    this.paused = false;
    this.serve();
  }

  /** Delivers events until the consumer is up to date or paused. */
  serve(): void {
    while (this.isDue()) {
      const slice = this.source.read(this.after, BATCH, this.hooks.filter);
      if (slice instanceof Promise) return void this.serveLater(slice);
      if (!this.deliver(slice)) return;
    }
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.hooks.onClose();
  }

  /** Ends the subscription, because the consumer cannot continue from its cursor. */
  expire(error: UnusableCursorError): void {
    this.close();
    this.consumer.expired(error);
  }

  interrupt(error: unknown): void {
    this.consumer.interrupted?.(error);
  }

  private isDue(): boolean {
    return !this.busy && !this.closed && !this.paused && this.after < (this.source.position ?? 0);
  }

  private async serveLater(reading: Promise<FeedSlice>): Promise<void> {
    this.busy = true;
    try {
      const slice = await reading;
      this.busy = false;
      if (!this.closed && this.deliver(slice)) this.serve();
    } catch (error) {
      this.busy = false;
      this.fail(error);
    }
  }

  /** Returns false if the delivery cannot continue now. */
  private deliver({ events, upTo }: FeedSlice): boolean {
    if (upTo <= this.after) return false;
    this.busy = true;
    try {
      if (events.length > 0) this.paused = this.consumer.accept(events) === false;
    } catch (error) {
      this.hooks.onError(error);
      return false;
    } finally {
      this.busy = false;
    }
    this.after = upTo;
    return true;
  }

  /** An unusable cursor ends the subscription. After any other error, the next pass of the feed tries again. */
  private fail(error: unknown): void {
    if (isUnusableCursor(error)) this.expire(error);
    else this.hooks.onError(error);
  }
}
