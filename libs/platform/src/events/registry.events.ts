import type { Database } from '../postgres/database.js';
import { PgListener } from '../postgres/pg.listener.js';
import type { EventCatalog } from './event.catalog.js';
import { EventFeed } from './event.feed.js';
import { EventLog } from './event.log.js';
import { EventOutbox } from './event.outbox.js';
import { EventPruner } from './event.pruner.js';
import { EventSequencer } from './event.sequencer.js';
import { EVENT_CHANNEL, EventStore } from './event.store.js';
import { LogIdentity } from './log.identity.js';

export interface RegistryEventsOptions {
  catalog: EventCatalog;
  keepMs: number;
  keepCount: number;
  onError(part: EventPart, error: unknown): void;
}

export type EventPart = 'sequencer' | 'listener' | 'feed' | 'pruner';

const POLL_WHEN_HEARING_MS = 1_000;
const POLL_WHEN_DEAF_MS = 100;

/**
 * The parts of the event feed on one database, and who wakes whom: a commit wakes this process's sequencer, what it
 * moved wakes this process's feed at once and, by NOTIFY, those of the other replicas.
 */
export class RegistryEvents {
  readonly outbox: EventOutbox;
  readonly sequencer: EventSequencer;
  readonly log: EventLog;
  readonly feed: EventFeed;
  readonly pruner: EventPruner;
  readonly listener: PgListener;

  constructor(db: Database, { catalog, keepMs, keepCount, onError }: RegistryEventsOptions) {
    const store = new EventStore(db, catalog);
    const told = (part: EventPart) => (error: unknown) => onError(part, error);
    this.outbox = new EventOutbox(db, store);
    this.sequencer = new EventSequencer(db, store, { onError: told('sequencer') });
    const identity = new LogIdentity(db);
    this.log = new EventLog(store, identity);
    this.listener = new PgListener(db, told('listener'));
    this.feed = new EventFeed(this.log, {
      onError: told('feed'),
      pollMs: () => (this.listener.connected ? POLL_WHEN_HEARING_MS : POLL_WHEN_DEAF_MS),
    });
    this.pruner = new EventPruner(store, { keepMs, keepCount, onError: told('pruner') });
    this.outbox.onCommitted(() => this.sequencer.wake());
    this.sequencer.onMoved((head) => this.feed.wake(head));
    this.listener.on(EVENT_CHANNEL, (head) => this.feed.wake(Number(head)));
    this.listener.onConnected(() => {
      identity.doubt();
      this.feed.wake();
    });
  }

  start(): void {
    for (const part of this.loops()) part.start();
  }

  async stop(): Promise<void> {
    for (const part of this.loops()) await part.stop();
  }

  private loops(): { start(): void; stop(): Promise<void> }[] {
    return [this.sequencer, this.listener, this.feed, this.pruner];
  }
}
