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
  type VisibleNamespaces,
} from '#rollcall/platform';
import { EVENTS } from './event.catalog.js';
import type { EventFilterQuery, EventsQuery } from './events.dto.js';

export interface SearchResult {
  items: RegistryEvent[];
  /** The position up to which the log was searched. */
  next: number;
  head: number;
  /** The identity of the log. */
  epoch: string;
}

/** A page that would wait longer than this for earlier pages is rejected with `EVENTS_BUSY`. */
const MAX_WAIT_MS = 3_000;

/** Reads pages of the event log, and waits for new events. */
@Injectable()
export class EventsService implements OnModuleDestroy {
  private readonly waits = new Set<() => void>();

  constructor(
    private readonly log: EventLog,
    private readonly feed: EventFeed,
  ) {}

  /** Returns the position of `after`. Throws when the log cannot be continued from there. */
  async locate(after: string, visible: VisibleNamespaces): Promise<LogPosition> {
    return await this.log.locate(after, visible);
  }

  /** Searches a limited part of the log, so the cost does not depend on the filter. `next` advances even if the page is empty. */
  async page(query: EventsQuery, visible: VisibleNamespaces, closed: AbortSignal): Promise<SearchResult> {
    const filter = toFilter(query, visible);
    const result = await this.search(query, filter);
    if (result.items.length > 0 || result.next < result.head || query.waitMs === 0) return result;
    return await this.wait(result, query, filter, closed);
  }

  /** Searches a limited part of the log backwards. `next` is 0 at the beginning of the log. */
  async pageBack(query: EventsQuery, visible: VisibleNamespaces): Promise<SearchResult> {
    const before = query.before === undefined || query.before === 'latest' ? undefined : parseCursor(query.before);
    const filter = toFilter(query, visible);
    const { events, first, downTo, head, epoch } = await this.log.searchBack(before, query.limit, filter, MAX_WAIT_MS);
    return { items: events, next: first === undefined || downTo <= first ? 0 : downTo, head, epoch };
  }

  onModuleDestroy(): void {
    for (const end of this.waits) end();
  }

  private async search(query: EventsQuery, filter: EventFilter): Promise<SearchResult> {
    const { log } = this;
    const isCursor = CURSOR_PATTERN.test(query.after);
    const cursor = isCursor ? parseCursor(query.after) : await log.locate(query.after, filter.namespaces ?? null);
    const { events, upTo, head, epoch } = await log.search(cursor, query.limit, filter, MAX_WAIT_MS);
    return { items: [...events], next: upTo, head, epoch };
  }

  private async wait(
    result: SearchResult,
    query: EventsQuery,
    filter: EventFilter,
    closed: AbortSignal,
  ): Promise<SearchResult> {
    const done = Promise.withResolvers<void>();
    const timer = setTimeout(done.resolve, query.waitMs);
    const matches = EVENTS.matcherOf(filter);
    const accept = (events: readonly RegistryEvent[]): boolean => {
      if (result.items.length > 0) return false;
      collect(result, events, query.limit, matches);
      if (result.items.length > 0) done.resolve();
      return true;
    };
    const consumer = { accept, expired: done.reject, interrupted: done.reject };
    const subscription = this.feed.subscribe(result.next, consumer, filter);
    closed.addEventListener('abort', () => done.resolve());
    if (closed.aborted) done.resolve();
    this.waits.add(done.resolve);
    try {
      await done.promise;
    } finally {
      subscription.close();
      clearTimeout(timer);
      this.waits.delete(done.resolve);
    }
    if (result.items.length === 0) result.next = subscription.cursor;
    return { ...result, head: Math.max(result.next, this.feed.position ?? 0) };
  }
}

/** Selects the events that match the query and that the caller may see. */
export function toFilter({ types, agentIds, capabilities }: EventFilterQuery, visible: VisibleNamespaces): EventFilter {
  return { types, agentIds, capabilities, namespaces: visible ?? undefined };
}

function collect(result: SearchResult, events: readonly RegistryEvent[], limit: number, matches: EventMatcher): void {
  for (const event of events) {
    if (result.items.length === limit) return;
    if (matches(event)) result.items.push(event);
    result.next = event.seq;
  }
}
