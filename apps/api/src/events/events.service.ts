import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type EventMatcher, matcherOf, RegistryEvents, type RegistryEvent } from '#rollcall/registry';
import type { EventFilterQuery, EventsQuery } from './events.dto.js';

export interface FoundEvents {
  items: RegistryEvent[];
  /** How far the log was looked through. */
  next: number;
  head: number;
}

/** How many events one request looks through at the most when its filter lets few pass. */
const LONGEST_SEARCH = 10_000;
const STEP = 1_000;

/** Pages of the log, and waiting for the next one. */
@Injectable()
export class EventsService implements OnModuleDestroy {
  private readonly waits = new Set<() => void>();

  constructor(private readonly events: RegistryEvents) {}

  /** The seq that `after` stands for, made sure to be one that can be gone on from. */
  async cursorOf(after: string): Promise<number> {
    if (after === 'latest') return await this.events.log.head();
    if (after === 'oldest') return await this.events.log.oldest();
    await this.events.log.page(Number(after), 1);
    return Number(after);
  }

  async page(query: EventsQuery, gone: AbortSignal): Promise<FoundEvents> {
    const matches = matcherOf(toFilter(query));
    const found = await this.search(await this.cursorOf(query.after), query.limit, matches);
    if (found.items.length > 0 || found.next < found.head || query.waitMs === 0) return found;
    return await this.wait(found, query, matches, gone);
  }

  onModuleDestroy(): void {
    for (const end of this.waits) end();
  }

  private async search(after: number, limit: number, matches: EventMatcher): Promise<FoundEvents> {
    const found: FoundEvents = { items: [], next: after, head: after };
    do {
      const { events, head } = await this.events.log.page(found.next, STEP);
      found.head = head;
      collect(found, events, limit, matches);
    } while (found.items.length < limit && found.next < found.head && found.next - after < LONGEST_SEARCH);
    return found;
  }

  private async wait(
    found: FoundEvents,
    { limit, waitMs }: EventsQuery,
    matches: EventMatcher,
    gone: AbortSignal,
  ): Promise<FoundEvents> {
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, waitMs);
    const way = this.events.feed.subscribe(found.next, {
      take: (events) => {
        if (found.items.length > 0) return false;
        collect(found, events, limit, matches);
        if (found.items.length > 0) over.resolve();
      },
      expired: over.reject,
      interrupted: over.reject,
    });
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
    return { ...found, head: Math.max(found.next, this.events.feed.position ?? 0) };
  }
}

export function toFilter({ types, agentIds, capabilities }: EventFilterQuery): EventFilterQuery {
  return { types, agentIds, capabilities };
}

function collect(found: FoundEvents, events: readonly RegistryEvent[], limit: number, matches: EventMatcher): void {
  for (const event of events) {
    if (found.items.length === limit) return;
    if (matches(event)) found.items.push(event);
    found.next = event.seq;
  }
}
