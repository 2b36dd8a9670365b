import { Injectable } from '@nestjs/common';
import { NamespaceContents } from '#rollcall/platform';
import { ContractStore } from './contract.store.js';

/** Counts the open contracts of a namespace. A namespace in which an auction has not ended cannot be deleted. */
@Injectable()
export class ContractContents {
  constructor(contents: NamespaceContents, store: ContractStore) {
    contents.add({ kind: 'contracts', count: async (namespace) => await store.countOpen(namespace) });
  }
}
