import { isUnusableCursor, type UnusableCursorError } from './event.errors.js';
import type { EventFilter } from './event.catalog.js';
import type { RegistryEvent } from './event.types.js';

export interface FeedConsumer {
  /**
   * Takes the next events. Whoever answers `false` has taken them too, but gets no more until `resume` is called.
   * Whoever throws gets the same events again.
   */
  take(events: readonly RegistryEvent[]): boolean | void;
  /** The cursor cannot be gone on from, and the subscription is over: take a snapshot and subscribe anew. */
  expired(error: UnusableCursorError): void;
  /** The feed has failed for several seconds. The subscription stays; the consumer may fare better on another replica. */
  interrupted?(error: unknown): void;
}

/** A piece of the log. */
export interface FeedSlice {
  events: readonly RegistryEvent[];
  /** How far it goes; events that do not match the filter may be left out. */
  upTo: number;
}

/** What a subscription needs of the feed. */
export interface FeedSource {
  readonly position: number | undefined;
  read(after: number, limit: number, filter?: EventFilter): FeedSlice | Promise<FeedSlice>;
}

interface Hooks {
  /** What the consumer wants of the log while it is behind. It filters what it gets by itself. */
  filter?: EventFilter;
  onError(error: unknown): void;
  onClose(): void;
}

/** How many a consumer gets at once. */
const BATCH = 100;

/** One consumer's way through the log. Catching up and being live are the same to it, so there is no seam between them. */
export class FeedSubscription {
  private closed = false;
  /** While a read or a delivery is under way, so that what these call cannot start a second. */
  private busy = false;
  private paused = false;

  constructor(
    private readonly source: FeedSource,
    private after: number,
    private readonly consumer: FeedConsumer,
    private readonly hooks: Hooks,
  ) {}

  /** The seq of the last event the consumer has taken. */
  get cursor(): number {
    return this.after;
  }

  /** The consumer can take more again. */
  resume(): void {
    this.paused = false;
    this.serve();
  }

  /** There is news, for those who can take it. */
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

  /** The cursor is of no use: the subscription is over. */
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

  /** False when it is better to come back later. */
  private deliver({ events, upTo }: FeedSlice): boolean {
    if (upTo <= this.after) return false;
    this.busy = true;
    try {
      if (events.length > 0) this.paused = this.consumer.take(events) === false;
    } catch (error) {
      this.hooks.onError(error);
      return false;
    } finally {
      this.busy = false;
    }
    this.after = upTo;
    return true;
  }

  /** A cursor that is of no use stays so; whatever else went wrong is tried again with the next news. */
  private fail(error: unknown): void {
    if (isUnusableCursor(error)) this.expire(error);
    else this.hooks.onError(error);
  }
}
