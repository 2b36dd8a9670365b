import { Injectable } from '@nestjs/common';
import { ALL_NAMESPACES, DEFAULT_NAMESPACE, localIdOf, namespaceOf } from '../namespaces/namespace.js';
import { Database } from '../postgres/database.js';
import { EventCatalog } from './event.catalog.js';
import type { EventPayloads, EventType } from './event.js';
import { EventSequencer } from './event.sequencer.js';
import { EventStore, type StagedEvent } from './event.store.js';

interface EventContext {
  /** The capabilities of the agent that the event concerns, for consumers that filter by capability. */
  capabilities?: readonly string[];
  /**
   * The namespace of the subject; `default` if absent. This value is ignored if the type of the event determines the namespace:
   * the subject of an event about an agent is a qualified id, and an event about the registry concerns all namespaces.
   */
  namespace?: string;
}

/** An event that has no sequence number yet. Ids in its data are local ids. */
export type EventDraft = {
  [T in EventType]: EventContext & { type: T; subject: string; data: EventPayloads[T] };
}[EventType];

/**
 * Stages events in the transaction of the change that they describe, so either both are committed or neither is. The
 * commit wakes the sequencer of this process.
 *
 * Events of one subject keep their order if each writer locks the row of the subject before it appends. A writer that
 * changes the row has locked it. Appending never waits for other writers: it uses no counter, no lock and no NOTIFY. It
 * needs no round trip of its own, because the events are sent together with the COMMIT.
 */
@Injectable()
export class EventOutbox {
  constructor(
    private readonly db: Database,
    private readonly store: EventStore,
    private readonly sequencer: EventSequencer,
    private readonly catalog: EventCatalog,
  ) {}

  async append<T extends EventType>(
    type: T,
    subject: string,
    data: EventPayloads[T],
    context: EventContext = {},
  ): Promise<void> {
    this.stage([this.toStaged({ ...context, type, subject, data } as EventDraft)]);
  }

  /** Appends several events in the given order. */
  async appendAll(drafts: readonly EventDraft[]): Promise<void> {
    if (drafts.length > 0) this.stage(drafts.map((draft) => this.toStaged(draft)));
  }

  private toStaged({ type, subject, data, capabilities = [], namespace }: EventDraft): StagedEvent {
    const kind = this.catalog.subjects[type];
    if (kind === 'agent')
      return { type, namespace: namespaceOf(subject), subject: localIdOf(subject), capabilities, data };
    const owner = kind === 'registry' ? ALL_NAMESPACES : (namespace ?? DEFAULT_NAMESPACE);
    return { type, namespace: owner, subject, capabilities, data };
  }

  private stage(events: StagedEvent[]): void {
    if (!this.db.inTransaction) {
      throw new Error(
        `${events[0]?.type} must be appended in the transaction of its change: wrap both in database.transaction(…)`,
      );
    }
    this.store.stage(events);
    this.db.afterCommit(() => {
      for (const { type } of events) this.db.counts.add(`events.${type}`);
      this.sequencer.wake();
    });
  }
}
