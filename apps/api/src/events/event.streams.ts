import { Inject, Injectable } from '@nestjs/common';
import { EventFeed, EventLog, type LogPosition, type VisibleNamespaces } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { EventStream, type StreamSink } from './event.stream.js';
import type { SubscribeBody } from './events.dto.js';
import { EventsService, toFilter } from './events.service.js';

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

  /** Returns the start position and a function that opens the stream. Throws when the stream cannot start there. */
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
