import { Injectable } from '@nestjs/common';
import { isFinalContract } from './auction/auction.js';
import { DEFAULT_WEIGHTS } from './auction/scoring.js';
import { ContractClosedError, ContractNotFoundError } from './contract.errors.js';
import type { Announcement, Contract } from './contract.js';
import { ContractOutcomes } from './contract.outcomes.js';
import { type ContractReading, ContractsService } from './contracts.service.js';
import { ContractDispatcher } from './invitations/contract.dispatcher.js';
import type { InvitationRules } from './invitations/contract.invitees.js';
import { type ContractKey, ContractStore } from './store/contract.store.js';

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

export const DEFAULT_SELECTION_MS = 3_000;
/** The share of the time in which agents may bid. The rest is for the confirmation. */
const BID_SHARE = 0.6;
const MIN_PART_MS = 100;

/** A selection of one agent by an auction within a time limit. */
interface SelectionRequest extends Pick<Announcement, 'namespace' | 'capabilities' | 'task' | 'by' | 'payer'> {
  readonly waitMs: number;
  readonly rules?: InvitationRules;
  readonly runId?: string;
}

/** Selects an agent by an auction, for callers that want one agent now: the query and the delegation. */
@Injectable()
export class ContractSelection {
  constructor(
    private readonly contracts: ContractsService,
    private readonly waits: ContractWaits,
    private readonly outcomes: ContractOutcomes,
  ) {}

  /** Returns the contract when it has ended. When the time is over, the contract is cancelled, so that no unused award remains. */
  async select(request: SelectionRequest, signal?: AbortSignal): Promise<ContractReading> {
    const { waitMs, rules, runId = null, ...terms } = request;
    const bidWithinMs = Math.max(MIN_PART_MS, Math.floor(waitMs * BID_SHARE));
    const announcement: Announcement = {
      ...terms,
      bidWithinMs,
      confirmWithinMs: Math.max(MIN_PART_MS, waitMs - bidWithinMs),
      limits: { price: null, etaMs: null },
      reserve: { tokens: 0, microUsd: null, runId },
      scoring: 'weighted',
      weights: DEFAULT_WEIGHTS,
      run: false,
    };
    const { id, namespace } = await this.contracts.announce(announcement, rules);
    const { state } = await this.waits.ended({ namespace, id }, waitMs, signal);
    if (!isFinalContract(state)) await this.cancel({ namespace, id }, request.by);
    return await this.contracts.get({ namespace, id });
  }

  /** Releases the reservation of the award, because the caller pays for the work in another way. */
  async release({ namespace, id }: Contract): Promise<void> {
    await this.outcomes.release({ namespace, id });
  }

  private async cancel(key: ContractKey, by: string): Promise<void> {
    try {
      await this.contracts.cancel(key, { by, mayManage: false });
    } catch (error) {
      if (!(error instanceof ContractClosedError)) throw error; // the contract has ended in the meantime
    }
  }
}
