import { Injectable } from '@nestjs/common';
import { DatabaseUnavailableError } from '../postgres/database.errors.js';
import { Gate } from '../work/gate.js';
import type { Cursor, LogPosition } from './event.cursor.js';
import { parseCursor } from './event.cursor.js';
import { CursorAheadError, CursorExpiredError, CursorForeignError, EventsBusyError } from './event.errors.js';
import type { EventFilter } from './event.catalog.js';
import { EventStore, type LogPage } from './event.store.js';
import { LogIdentity } from './log.identity.js';

/** How many consumers' pages one replica reads at the same time; the others wait, and the event loop stays free. */
const PAGES_AT_ONCE = 1;

/** Reads the log. A page starts right after its cursor or not at all: there is no gap it would pass over in silence. */
@Injectable()
export class EventLog {
  private readonly pages = new Gate({
    most: PAGES_AT_ONCE,
    busy: () => new EventsBusyError(),
    failsAll: (error) => error instanceof DatabaseUnavailableError,
  });

  constructor(
    private readonly store: EventStore,
    private readonly identity: LogIdentity,
  ) {}

  async head(): Promise<number> {
    return (await this.end()).seq;
  }

  /** The newest event. */
  async end(): Promise<LogPosition> {
    await this.identity.confirm();
    return await this.store.end();
  }

  /** The earliest cursor that can be gone on from. */
  async oldest(): Promise<number> {
    return (await this.start()).seq;
  }

  /** The position that a consumer's text stands for: `latest`, `oldest`, or a cursor that can be continued from. */
  async locate(text: string): Promise<LogPosition> {
    if (text === 'latest') return await this.end();
    if (text === 'oldest') return await this.start();
    const cursor = parseCursor(text);
    await this.identity.confirm();
    const { epoch } = checked(cursor, await this.store.search(cursor.seq, 1, {}));
    return { seq: cursor.seq, epoch };
  }

  /** For this replica's own use: not limited by a filter, not behind what consumers read, and on the reserved pool. */
  async page(after: number, limit: number): Promise<LogPage> {
    await this.identity.confirm();
    return checked({ seq: after }, await this.store.search(after, limit, {}, 'reserved'));
  }

  /**
   * A page for a consumer. With a filter it looks through a bounded piece of the log, so it may be empty although there is
   * more: `upTo` says how far it looked. Refused when its turn does not come within `patienceMs`.
   */
  async search(cursor: Cursor, limit: number, filter: EventFilter, patienceMs?: number): Promise<LogPage> {
    return await this.pages.run(async () => {
      await this.identity.confirm();
      return checked(cursor, await this.store.search(cursor.seq, limit, filter));
    }, patienceMs);
  }

  /** The log is behind what it was: it is another one from now on. */
  async renew(epoch: string): Promise<void> {
    await this.identity.renew(epoch);
  }

  private async start(): Promise<LogPosition> {
    await this.identity.confirm();
    const { head, epoch, first } = await this.store.search(0, 1, {});
    return { seq: (first ?? head + 1) - 1, epoch };
  }
}

function checked({ seq, epoch }: Cursor, page: LogPage): LogPage {
  if (epoch !== undefined && epoch !== page.epoch) throw new CursorForeignError(page.head);
  if (seq > page.head) throw new CursorAheadError(seq, page.head);
  const first = page.first ?? page.head + 1;
  if (first !== seq + 1) throw new CursorExpiredError(seq, first - 1);
  return page;
}
