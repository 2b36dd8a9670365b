import { Injectable } from '@nestjs/common';
import { PlatformError } from '../errors.js';
import type { VisibleNamespaces } from '../namespaces/namespace.js';
import { DatabaseUnavailableError } from '../postgres/database.errors.js';
import { Semaphore } from '../work/semaphore.js';
import type { EventFilter } from './event.catalog.js';
import {
  type Cursor,
  CursorAheadError,
  CursorExpiredError,
  CursorForeignError,
  type LogPosition,
  parseCursor,
} from './event.cursor.js';
import { type EarlierPage, EventStore, type LogPage } from './event.store.js';
import { LogIdentity } from './log.identity.js';

/**
 * The number of consumer pages that one replica reads at the same time. Other pages wait, so that the event loop stays
 * free.
 */
const CONCURRENT_PAGES = 1;

/** The request would have to wait too long for the event pages that were requested before it. */
export class EventsBusyError extends PlatformError {
  readonly code = 'EVENTS_BUSY';
  override readonly retryAfterMs = 1_000;

  constructor() {
    super('This replica is busy with other event pages. Try again later, or follow the event stream instead.');
  }
}

/**
 * Lets consumer pages wait for one another: a page blocks the event loop for milliseconds, so hundreds of pages at the same time
 * would delay every other request by seconds. Pages that wait fail at once when the database is unavailable.
 */
export class PageTurns {
  private readonly pages = new Semaphore(CONCURRENT_PAGES);

  constructor(private readonly now = () => performance.now()) {}

  /** Rejects with `EventsBusyError` if the page has waited longer than `maxWaitMs`. The caller can then try another replica. */
  async run<T>(read: () => Promise<T>, maxWaitMs = Infinity): Promise<T> {
    const since = this.now();
    const release = await this.pages.acquire();
    try {
      if (this.now() - since > maxWaitMs) throw new EventsBusyError();
      return await read();
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) this.pages.rejectWaiting(error);
      throw error;
    } finally {
      if (this.pages.waiting > 0)
        setImmediate(release); // other pending work of the event loop runs first
      else release();
    }
  }
}

/**
 * Reads the event log. A page always starts directly after its cursor. The read fails if the next events were deleted, or if events
 * after the cursor have expired in a namespace of the filter.
 */
@Injectable()
export class EventLog {
  private readonly turns = new PageTurns();

  constructor(
    private readonly store: EventStore,
    private readonly identity: LogIdentity,
  ) {}

  async head(): Promise<number> {
    return (await this.end()).seq;
  }

  /** Returns the position of the newest event. */
  async end(): Promise<LogPosition> {
    await this.identity.confirm();
    return await this.store.end();
  }

  /** Returns the earliest seq that a consumer can continue from. */
  async oldest(): Promise<number> {
    return (await this.start()).seq;
  }

  /** Resolves `latest`, `oldest` or a cursor to a position. Throws if a consumer of these namespaces cannot continue from there. */
  async locate(text: string, visible: VisibleNamespaces = null): Promise<LogPosition> {
    if (text === 'latest') return await this.end();
    if (text === 'oldest') return await this.start(visible);
    const cursor = parseCursor(text);
    await this.identity.confirm();
    const { epoch } = checked(cursor, await this.store.search(cursor.seq, 1, filterOf(visible)));
    return { seq: cursor.seq, epoch };
  }

  /** Reads a page for the replica itself: without a filter, without waiting for consumer pages, and on the reserved pool. */
  async page(after: number, limit: number): Promise<LogPage> {
    await this.identity.confirm();
    return checked({ seq: after }, await this.store.search(after, limit, {}, 'reserved'));
  }

  /**
   * Reads a page for a consumer. With a filter it scans a bounded part of the log, so the page may be empty although
   * later events match: `upTo` is the last scanned position. Throws `EventsBusyError` if the page must wait longer than
   * `maxWaitMs`.
   */
  async search(cursor: Cursor, limit: number, filter: EventFilter, maxWaitMs?: number): Promise<LogPage> {
    return await this.turns.run(async () => {
      await this.identity.confirm();
      return checked(cursor, await this.store.search(cursor.seq, limit, filter));
    }, maxWaitMs);
  }

  /** Reads a page of the events before the cursor, the newest first. Deleted events are missing without an error. */
  async searchBack(
    before: Cursor | undefined,
    limit: number,
    filter: EventFilter,
    maxWaitMs: number,
  ): Promise<EarlierPage> {
    return await this.turns.run(async () => {
      await this.identity.confirm();
      const page = await this.store.searchBack(before?.seq ?? Number.MAX_SAFE_INTEGER, limit, filter);
      if (before?.epoch !== undefined && before.epoch !== page.epoch) throw new CursorForeignError(page.head);
      return page;
    }, maxWaitMs);
  }

  /** Assigns a new epoch, because the log has lost events. */
  async renew(epoch: string): Promise<void> {
    await this.identity.renew(epoch);
  }

  private async start(visible: VisibleNamespaces = null): Promise<LogPosition> {
    await this.identity.confirm();
    const page = await this.store.search(0, 1, filterOf(visible));
    return { seq: oldestOf(page), epoch: page.epoch };
  }
}

function checked({ seq, epoch }: Cursor, page: LogPage): LogPage {
  if (epoch !== undefined && epoch !== page.epoch) throw new CursorForeignError(page.head);
  if (seq > page.head) throw new CursorAheadError(seq, page.head);
  const oldest = oldestOf(page);
  if (seq < oldest) throw new CursorExpiredError(seq, oldest);
  return page;
}

/** The earliest position from which a consumer misses no event. */
function oldestOf({ first, head, expiredTo }: LogPage): number {
  return Math.max((first ?? head + 1) - 1, expiredTo);
}

function filterOf(visible: VisibleNamespaces): EventFilter {
  return visible === null ? {} : { namespaces: visible };
}
