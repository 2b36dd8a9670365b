import { Injectable } from '@nestjs/common';
import { NamespaceContents } from '#rollcall/platform';
import { LedgerStore } from './ledger.store.js';

/**
 * Counts the held reservations of a namespace. A namespace with held reservations, which are calls in progress, cannot be deleted.
 * Budgets do not prevent the deletion: they remain as history. The ledger locks the namespace of each new reservation and budget,
 * so none is added during the deletion.
 */
@Injectable()
export class HeldReservations {
  constructor(contents: NamespaceContents, store: LedgerStore) {
    contents.add({ kind: 'reservations', count: async (namespace) => await store.countHeldIn(namespace) });
  }
}
