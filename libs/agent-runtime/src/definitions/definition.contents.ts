import { Injectable } from '@nestjs/common';
import { NamespaceContents } from '#rollcall/platform';
import { DefinitionStore } from './definition.store.js';

/** Counts the definitions of a namespace. A namespace with definitions cannot be deleted. */
@Injectable()
export class DefinitionContents {
  constructor(contents: NamespaceContents, store: DefinitionStore) {
    contents.add({ kind: 'definitions', count: async (namespace) => await store.countIn(namespace) });
  }
}
