import { Injectable } from '@nestjs/common';
import { NamespaceContents } from '../namespaces/namespace.contents.js';
import { EventRetentionStore } from './event-retention.store.js';

/** Counts the events of a namespace. Events remain after the deletion of their namespace, so they do not prevent the deletion. */
@Injectable()
export class KeptEvents {
  constructor(contents: NamespaceContents, store: EventRetentionStore) {
    contents.add({ kind: 'eventsKept', remains: true, count: async (namespace) => await store.countKept(namespace) });
  }
}
