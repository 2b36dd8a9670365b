import type { PoolName } from '../db/database.js';
import { CursorAheadError, CursorExpiredError } from './event.errors.js';
import type { EventStore, LogPage } from './event.store.js';

/** Reads the log. A page starts right after its cursor or not at all: there is no gap it would pass over in silence. */
export class EventLog {
  constructor(private readonly store: EventStore) {}

  async head(): Promise<number> {
    return await this.store.head();
  }

  /** The earliest cursor that can be gone on from. */
  async oldest(): Promise<number> {
    const { head, events } = await this.store.page(0, 1);
    return (events[0]?.seq ?? head + 1) - 1;
  }

  async page(after: number, limit: number, pool?: PoolName): Promise<LogPage> {
    const page = await this.store.page(after, limit, pool);
    if (after > page.head) throw new CursorAheadError(after, page.head);
    const first = page.events[0]?.seq ?? page.head + 1;
    if (first !== after + 1) throw new CursorExpiredError(after, first - 1);
    return page;
  }
}
