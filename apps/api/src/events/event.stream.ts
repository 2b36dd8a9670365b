import { Inject, Injectable } from '@nestjs/common';
import {
  EventFeed,
  type EventFilter,
  EventLog,
  type EventMatcher,
  formatCursor,
  type LogPosition,
  type RegistryEvent,
  type UnusableCursorError,
  type VisibleNamespaces,
} from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { databaseUnavailable, slowConsumer, type StreamEnd, unusableCursor } from '../streams/stream.end.js';
import { EVENTS } from './event.catalog.js';
import type { SubscribeBody } from './events.dto.js';
import { EventsService, toFilter } from './events.service.js';

/** A connection that events are written to. */
export interface StreamSink {
  /** The number of bytes in the send buffer. */
  readonly buffered: number;
  /** Sends events of the log with this epoch. */
  send(events: readonly RegistryEvent[], epoch: string): void;
  /** Sends the position in the log when no event matched the filter of this consumer. */
  sendPosition(position: LogPosition): void;
  end(reason: StreamEnd): void;
}

interface StreamOptions {
  after: LogPosition;
  filter: EventFilter;
  /** Maximum number of unacknowledged events, for a consumer that acknowledges. */
  window?: number;
  buffer: number;
  slowAfterMs: number;
}

/** If the log cannot be read, consumers are disconnected at random times within this period, not all at the same time. */
const DISCONNECT_WITHIN_MS = 2_000;

/**
 * Sends the log to one consumer at the pace of its connection. The send buffer is limited: a connection whose buffer stays full
 * for too long is closed, with the cursor to resume from.
 */
export class EventStream {
  private readonly subscription: ReturnType<EventFeed['subscribe']>;
  private readonly matches: EventMatcher;
  private readonly unacknowledged: number[] = [];
  /** The last position that the consumer knows. */
  private sentSeq: number;
  /** Runs while the buffer is full. */
  private slowTimer?: NodeJS.Timeout;
  private disconnectTimer?: NodeJS.Timeout;

  constructor(
    feed: EventFeed,
    private readonly sink: StreamSink,
    private readonly options: StreamOptions,
  ) {
    const { after, filter } = options;
    this.sentSeq = after.seq;
    this.matches = EVENTS.matcherOf(filter);
    const consumer = {
      accept: (events: readonly RegistryEvent[]) => this.onEvents(events),
      expired: (error: UnusableCursorError) => this.sink.end(unusableCursor(error)),
      interrupted: () => this.disconnectLater(),
    };
    this.subscription = feed.subscribe(after.seq, consumer, filter);
  }

  get cursor(): string {
    return formatCursor(this.position);
  }

  /** Call this when buffered data was sent. */
  onDrain(): void {
    if (this.slowTimer === undefined || this.sink.buffered > this.options.buffer / 2) return;
    this.clearSlowTimer();
    this.resume();
  }

  acknowledge(seq: number): void {
    while ((this.unacknowledged[0] ?? Infinity) <= seq) this.unacknowledged.shift();
    this.resume();
  }

  /** Call this regularly, so that the cursor of a consumer whose filter matches few events does not expire. */
  sendPosition(): void {
    const { position } = this;
    if (position.seq <= this.sentSeq) return;
    this.sentSeq = position.seq;
    this.sink.sendPosition(position);
  }

  close(): void {
    this.clearSlowTimer();
    clearTimeout(this.disconnectTimer);
    this.subscription.close();
  }

  get position(): LogPosition {
    return { seq: this.subscription.cursor, epoch: this.options.after.epoch };
  }

  private onEvents(events: readonly RegistryEvent[]): boolean {
    const matching = events.filter(this.matches);
    const last = matching.at(-1);
    if (last) {
      this.sink.send(matching, this.options.after.epoch);
      this.sentSeq = last.seq;
      if (this.options.window !== undefined) this.unacknowledged.push(...matching.map(({ seq }) => seq));
    }
    if (this.sink.buffered > this.options.buffer) this.startSlowTimer();
    return this.canSend();
  }

  private canSend(): boolean {
    return this.slowTimer === undefined && this.unacknowledged.length < (this.options.window ?? Infinity);
  }

  private resume(): void {
    if (this.canSend()) this.subscription.resume();
  }

  private startSlowTimer(): void {
    this.slowTimer ??= setTimeout(() => {
      this.close();
      this.sink.end(slowConsumer('Resume with `after`', this.cursor));
    }, this.options.slowAfterMs).unref();
  }

  private disconnectLater(): void {
    this.disconnectTimer ??= setTimeout(() => {
      this.close();
      this.sink.end(databaseUnavailable(this.cursor));
    }, Math.random() * DISCONNECT_WITHIN_MS).unref();
  }

  private clearSlowTimer(): void {
    clearTimeout(this.slowTimer);
    this.slowTimer = undefined;
  }
}

/** Opens event streams for SSE and WebSocket connections. */
@Injectable()
export class EventStreams {
  constructor(
    private readonly log: EventLog,
    private readonly feed: EventFeed,
    private readonly events: EventsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Throws when the log cannot be read. */
  async check(): Promise<void> {
    await this.log.head();
  }

  /** Returns the start position and a function that opens the stream. Throws when the stream cannot start at that position. */
  async prepare(
    query: SubscribeBody,
    visible: VisibleNamespaces,
  ): Promise<{ after: LogPosition; open(sink: StreamSink): EventStream }> {
    const after = await this.events.locate(query.after, visible);
    const { buffer, slowAfter: slowAfterMs } = this.config.events;
    const options = { after, filter: toFilter(query, visible), window: query.window, buffer, slowAfterMs };
    return { after, open: (sink) => new EventStream(this.feed, sink, options) };
  }
}
