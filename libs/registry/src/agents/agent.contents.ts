import { Injectable } from '@nestjs/common';
import { NamespaceContents } from '#rollcall/platform';
import { AgentStore } from './agent.store.js';

/** Live agents count as the use of their namespace, and keep it from being deleted. */
@Injectable()
export class AgentContents {
  constructor(contents: NamespaceContents, store: AgentStore) {
    contents.add({ kind: 'agents', count: async (namespace) => await store.countLive(namespace) });
  }
}
