import { Injectable } from '@nestjs/common';
import { isFinalContract } from './auction.js';
import { ContractDispatcher } from './contract.dispatcher.js';
import { ContractNotFoundError } from './contract.errors.js';
import type { Contract } from './contract.js';
import { type ContractKey, ContractStore } from './contract.store.js';

/** Waits for the end of contracts, on any replica. */
@Injectable()
export class ContractWaits {
  constructor(
    private readonly store: ContractStore,
    private readonly dispatcher: ContractDispatcher,
  ) {}

  /** Resolves when the contract is confirmed, expired or cancelled, or with its current state when the time is over. */
  async ended(key: ContractKey, waitMs: number, signal?: AbortSignal): Promise<Contract> {
    const end = Promise.withResolvers<void>();
    const stop = this.dispatcher.onEnded(({ id }) => {
      if (id === key.id) end.resolve();
    });
    const timer = setTimeout(end.resolve, waitMs).unref();
    const onAbort = (): void => end.resolve();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const contract = await this.read(key); // after the listener was added, so that no event is missed
      if (isFinalContract(contract.state) || signal?.aborted) return contract;
      await end.promise;
      return await this.read(key);
    } finally {
      stop();
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  private async read(key: ContractKey): Promise<Contract> {
    const contract = await this.store.find(key);
    if (!contract) throw new ContractNotFoundError(key.id);
    return contract;
  }
}
