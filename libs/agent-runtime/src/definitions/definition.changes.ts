import { Injectable } from '@nestjs/common';
import { Database, type EventDraft, EventOutbox } from '#rollcall/platform';
import type { DefinitionSource } from './definition.js';
import { type DefinedParts, DefinitionFacts } from './definition.facts.js';

export type ChangeType = 'definition.registered' | 'definition.replaced' | 'definition.unregistered';
export type ChangeListener = (namespace: string, name: string) => void;

/** A change of a definition, as its event reports it. */
export interface DefinitionChange {
  readonly type: ChangeType;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  readonly content: DefinedParts;
  readonly source: DefinitionSource;
  readonly by: string;
}

/** Reports changes of definitions: appends events in the transaction of the change, and calls the listeners of this replica after it. */
@Injectable()
export class DefinitionChanges {
  private readonly listeners: ChangeListener[] = [];

  constructor(
    private readonly db: Database,
    private readonly outbox: EventOutbox,
    private readonly facts: DefinitionFacts,
  ) {}

  /** Calls the listener after each commit on this replica that replaces or removes a definition. */
  onChanged(listener: ChangeListener): void {
    this.listeners.push(listener);
  }

  async append(...changes: readonly DefinitionChange[]): Promise<void> {
    await this.outbox.appendAll(changes.map((change) => this.toEvent(change)));
    const changed = changes.filter(({ type }) => type !== 'definition.registered');
    this.db.afterCommit(() => {
      for (const { namespace, name } of changed) this.listeners.forEach((listener) => listener(namespace, name));
    });
  }

  private toEvent({ type, namespace, name, revision, content, source, by }: DefinitionChange): EventDraft {
    const data = { revision, source, by };
    return { type, subject: name, data, namespace, capabilities: this.facts.capabilitiesOf(namespace, content) };
  }
}
