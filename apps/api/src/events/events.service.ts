import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import {
  CURSOR_PATTERN,
  EventFeed,
  type EventFilter,
  EventLog,
  type EventMatcher,
  type LogPosition,
  parseCursor,
  type RegistryEvent,
} from '#rollcall/platform';
import { EVENTS } from './event.catalog.js';
import type { EventFilterQuery, EventsQuery } from './events.dto.js';

export interface EventsFound {
  items: RegistryEvent[];
  /** How far the log was looked through. */
  next: number;
  head: number;
  /** Which log it is. */
  epoch: string;
}

/** A page that would wait longer is rejected with `EVENTS_BUSY`. */
const LONGEST_WAIT_MS = 3_000;

/** Pages of the log, and waiting for the next one. */
@Injectable()
export class EventsService implements OnModuleDestroy {
  private readonly waits = new Set<() => void>();

  constructor(
    private readonly log: EventLog,
    private readonly feed: EventFeed,
  ) {}

  /** The position that `after` stands for, made sure to be one that can be continued from. */
  async locate(after: string): Promise<LogPosition> {
    return await this.log.locate(after);
  }

  /** One page costs one bounded look into the log, however little matches: `next` advances also when it is empty. */
  async page(query: EventsQuery, gone: AbortSignal): Promise<EventsFound> {
    const found = await this.search(query);
    if (found.items.length > 0 || found.next < found.head || query.waitMs === 0) return found;
    return await this.wait(found, query, gone);
  }

  onModuleDestroy(): void {
    for (const end of this.waits) end();
  }

  private async search(query: EventsQuery): Promise<EventsFound> {
    const { log } = this;
    const cursor = CURSOR_PATTERN.test(query.after) ? parseCursor(query.after) : await log.locate(query.after);
    const { events, upTo, head, epoch } = await log.search(cursor, query.limit, toFilter(query), LONGEST_WAIT_MS);
    return { items: [...events], next: upTo, head, epoch };
  }

  private async wait(found: EventsFound, query: EventsQuery, gone: AbortSignal): Promise<EventsFound> {
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, query.waitMs);
    const filter = toFilter(query);
    const matches = EVENTS.matcherOf(filter);
    const accept = (events: readonly RegistryEvent[]): boolean => {
      if (found.items.length > 0) return false;
      collect(found, events, query.limit, matches);
      if (found.items.length > 0) over.resolve();
      return true;
    };
    const consumer = { accept, expired: over.reject, interrupted: over.reject };
    const way = this.feed.subscribe(found.next, consumer, filter);
    gone.addEventListener('abort', () => over.resolve());
    if (gone.aborted) over.resolve();
    this.waits.add(over.resolve);
    try {
      await over.promise;
    } finally {
      way.close();
      clearTimeout(timer);
      this.waits.delete(over.resolve);
    }
    return { ...found, head: Math.max(found.next, this.feed.position ?? 0) };
  }
}

export function toFilter({ types, agentIds, capabilities }: EventFilterQuery): EventFilter {
  return { types, agentIds, capabilities };
}

function collect(found: EventsFound, events: readonly RegistryEvent[], limit: number, matches: EventMatcher): void {
  for (const event of events) {
    if (found.items.length === limit) return;
    if (matches(event)) found.items.push(event);
    found.next = event.seq;
  }
}
