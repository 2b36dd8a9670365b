import type { Database } from '../postgres/database.js';
import type { EventStore, StagedEvent } from './event.store.js';
import type { EventPayloads, EventType } from './event.types.js';

export interface EventContext {
  /** What the agent concerned can do, so that consumers can choose by it. */
  capabilities?: readonly string[];
}

/** An event that is to be told, once what it tells of is committed. */
export type EventDraft = {
  [T in EventType]: { type: T; subject: string; data: EventPayloads[T]; capabilities?: readonly string[] };
}[EventType];

/**
 * Takes events in, in the transaction that makes them true: both are committed, or neither is.
 *
 * Events of one subject keep their order if each writer locks the subject's row before it appends, as any writer that
 * changes the row does. Nothing here waits for other writers: no counter, no lock, no NOTIFY, and no round trip, for the
 * events go to the database together with the COMMIT.
 */
export class EventOutbox {
  private readonly listeners: (() => void)[] = [];

  constructor(
    private readonly db: Database,
    private readonly store: EventStore,
  ) {}

  async append<T extends EventType>(
    type: T,
    subject: string,
    data: EventPayloads[T],
    { capabilities = [] }: EventContext = {},
  ): Promise<void> {
    this.stage([{ type, subject, data, capabilities }]);
  }

  /** Several at once, in this order. */
  async appendAll(drafts: readonly EventDraft[]): Promise<void> {
    if (drafts.length > 0) this.stage(drafts.map((draft) => ({ capabilities: [], ...draft })));
  }

  /** Called after events of this process were committed. */
  onCommitted(listener: () => void): void {
    this.listeners.push(listener);
  }

  private stage(events: StagedEvent[]): void {
    if (!this.db.inTransaction) {
      throw new Error(
        `${events[0]?.type} must be appended in the transaction that makes it true: wrap both in database.transaction(…)`,
      );
    }
    this.store.stage(events);
    this.db.afterCommit(() => this.listeners.forEach((listener) => listener()));
  }
}
