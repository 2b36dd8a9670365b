import { Injectable } from '@nestjs/common';
import { NamespaceContents } from '#rollcall/platform';
import { LedgerStore } from './ledger.store.js';

/**
 * A namespace with calls in progress is not empty. Its budgets do not keep it from being deleted: they cannot be deleted, because
 * they are part of the history. The ledger holds the namespace of each new reservation and budget, so none is added during the
 * deletion.
 */
@Injectable()
export class HeldReservations {
  constructor(contents: NamespaceContents, store: LedgerStore) {
    contents.add({ kind: 'reservations', count: async (namespace) => await store.countHeldIn(namespace) });
  }
}
