import { Injectable } from '@nestjs/common';
import { NamespaceContents } from '#rollcall/platform';
import { AgentStore } from './agent.store.js';

/** Counts the live agents of a namespace. A namespace with live agents cannot be deleted. */
@Injectable()
export class AgentContents {
  constructor(contents: NamespaceContents, store: AgentStore) {
    contents.add({ kind: 'agents', count: async (namespace) => await store.countLive(namespace) });
  }
}
