import {
  type EventFeed,
  type EventFilter,
  type EventMatcher,
  formatCursor,
  type LogPosition,
  type RegistryEvent,
  type UnusableCursorError,
} from '#rollcall/platform';
import { EVENTS } from './event.catalog.js';
import { databaseUnavailable, slowConsumer, type StreamEnd, unusableCursor } from './stream.end.js';

/** Our end of a connection that events are written to. */
export interface StreamSink {
  /** Bytes that wait to be sent. */
  readonly buffered: number;
  /** Events of the log with this epoch. */
  send(events: readonly RegistryEvent[], epoch: string): void;
  /** Tells how far the log was read when nothing in it was for this consumer. */
  sendPosition(position: LogPosition): void;
  end(reason: StreamEnd): void;
}

export interface StreamOptions {
  after: LogPosition;
  filter: EventFilter;
  /** How many may be under way to a consumer that acknowledges. */
  window?: number;
  buffer: number;
  slowAfterMs: number;
}

/** Consumers of a replica that cannot read the log are sent away at random moments within this time, not all at once. */
const SEND_AWAY_WITHIN_MS = 2_000;

/**
 * The way of one consumer through the log, at the pace its connection allows. No more than the buffer ever waits for
 * it; a connection that leaves it full for too long is told where to resume, and given up.
 */
export class EventStream {
  private readonly way: ReturnType<EventFeed['subscribe']>;
  private readonly matches: EventMatcher;
  private readonly underWay: number[] = [];
  private told: number;
  private full?: NodeJS.Timeout;
  private disconnecting?: NodeJS.Timeout;

  constructor(
    feed: EventFeed,
    private readonly sink: StreamSink,
    private readonly options: StreamOptions,
  ) {
    const { after, filter } = options;
    this.told = after.seq;
    this.matches = EVENTS.matcherOf(filter);
    const consumer = {
      accept: (events: readonly RegistryEvent[]) => this.take(events),
      expired: (error: UnusableCursorError) => this.sink.end(unusableCursor(error)),
      interrupted: () => this.disconnectLater(),
    };
    this.way = feed.subscribe(after.seq, consumer, filter);
  }

  get cursor(): string {
    return formatCursor(this.position);
  }

  /** Some of what waited was sent. */
  drained(): void {
    if (this.full === undefined || this.sink.buffered > this.options.buffer / 2) return;
    this.stopWatch();
    this.goOn();
  }

  acknowledge(seq: number): void {
    while ((this.underWay[0] ?? Infinity) <= seq) this.underWay.shift();
    this.goOn();
  }

  /** Now and then, so that a consumer whose filter lets little pass has a cursor that does not grow old. */
  sendPosition(): void {
    const { position } = this;
    if (position.seq <= this.told) return;
    this.told = position.seq;
    this.sink.sendPosition(position);
  }

  close(): void {
    this.stopWatch();
    clearTimeout(this.disconnecting);
    this.way.close();
  }

  get position(): LogPosition {
    return { seq: this.way.cursor, epoch: this.options.after.epoch };
  }

  private take(events: readonly RegistryEvent[]): boolean {
    const wanted = events.filter(this.matches);
    const last = wanted.at(-1);
    if (last) {
      this.sink.send(wanted, this.options.after.epoch);
      this.told = last.seq;
      if (this.options.window !== undefined) this.underWay.push(...wanted.map(({ seq }) => seq));
    }
    if (this.sink.buffered > this.options.buffer) this.watchSlowness();
    return this.canTakeMore();
  }

  private canTakeMore(): boolean {
    return this.full === undefined && this.underWay.length < (this.options.window ?? Infinity);
  }

  private goOn(): void {
    if (this.canTakeMore()) this.way.resume();
  }

  private watchSlowness(): void {
    this.full ??= setTimeout(() => {
      this.close();
      this.sink.end(slowConsumer(this.cursor));
    }, this.options.slowAfterMs).unref();
  }

  private disconnectLater(): void {
    this.disconnecting ??= setTimeout(() => {
      this.close();
      this.sink.end(databaseUnavailable(this.cursor));
    }, Math.random() * SEND_AWAY_WITHIN_MS).unref();
  }

  private stopWatch(): void {
    clearTimeout(this.full);
    this.full = undefined;
  }
}
