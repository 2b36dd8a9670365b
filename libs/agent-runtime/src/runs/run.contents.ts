import { Injectable } from '@nestjs/common';
import { NamespaceContents } from '#rollcall/platform';
import { RunStore } from './store/run.store.js';

/** Counts the unfinished runs of a namespace. A namespace in which a run could still continue cannot be deleted. */
@Injectable()
export class RunContents {
  constructor(contents: NamespaceContents, store: RunStore) {
    contents.add({ kind: 'runs', count: async (namespace) => await store.countUnfinished(namespace) });
  }
}
