import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { ContractReservations } from './auction/contract.reservations.js';
import { ContractClosedError, OutcomeOfRunError, OutcomeRecordedError } from './contract.errors.js';
import { ContractEvents } from './contract.events.js';
import type { Contract, ContractOutcome, ListedContract } from './contract.js';
import { type ContractActor, requireActor } from './contracts.service.js';
import { BidStore } from './store/bid.store.js';
import { type ContractKey, ContractStore, type LockedContract } from './store/contract.store.js';
import { TranscriptStore } from './store/transcript.store.js';

/** Records the actual cost and time of the work of the winner. They affect the scores of the next bids of this agent. */
@Injectable()
export class ContractOutcomes {
  constructor(
    private readonly db: Database,
    private readonly contracts: ContractStore,
    private readonly bids: BidStore,
    private readonly transcript: TranscriptStore,
    private readonly events: ContractEvents,
    private readonly reservations: ContractReservations,
  ) {}

  /**
   * Settles the reservation of the award. An outcome without a time gets the time since the confirmation. The first outcome is final: a
   * repetition has no effect, and a different outcome is rejected. A contract with `run` is rejected, because its run reports the outcome.
   */
  async record(key: ContractKey, actor: ContractActor, outcome: ContractOutcome): Promise<Contract> {
    return await this.db.transaction(async () => {
      const locked = await this.contracts.lock(key);
      requireActor(locked.contract, actor);
      if (locked.contract.run) throw new OutcomeOfRunError(key.id);
      return await this.complete(locked, outcome);
    });
  }

  /** Records the outcome of a contract with `run`. */
  async recordRun(key: ContractKey, outcome: ContractOutcome): Promise<Contract> {
    return await this.db.transaction(async () => await this.complete(await this.contracts.lock(key), outcome));
  }

  /** Releases the reservation of a confirmed award. A later outcome charges nothing. */
  async release(key: ContractKey): Promise<void> {
    await this.db.transaction(async () => {
      const { contract } = await this.contracts.lock(key);
      if (contract.state === 'confirmed' && !contract.outcome) await this.reservations.release(contract);
    });
  }

  /** The price of the winning bid. */
  async priceOf({ id, winner }: Contract): Promise<number> {
    return (await this.bids.find(id, winner ?? ''))?.offer?.price ?? 0;
  }

  /** The time of the database. */
  async now(): Promise<number> {
    return await this.contracts.now();
  }

  /** The confirmed contracts that need a run. */
  async awaitingStart(limit: number): Promise<Contract[]> {
    return await this.contracts.awaitingRun({ hasRun: false, after: 0, limit });
  }

  /** The contracts after this position that have a run and no outcome yet. */
  async awaitingOutcome(after: number, limit: number): Promise<ListedContract[]> {
    return await this.contracts.awaitingRun({ hasRun: true, after, limit });
  }

  /**
   * If the contract has no run, calls `start`, which adds the run in the same transaction. The run has its own reservations, so the
   * reservation of the award is released.
   */
  async startRun(key: ContractKey, start: () => Promise<string>): Promise<string | undefined> {
    return await this.db.transaction(async () => {
      const { contract } = await this.contracts.lock(key);
      if (contract.state !== 'confirmed' || contract.runId !== null || contract.outcome) return undefined;
      await this.reservations.release(contract); // before the start, which needs the same budgets
      const runId = await start();
      await this.contracts.save({ ...contract, runId });
      await this.transcript.append(contract.id, 'run_started', { runId });
      return runId;
    });
  }

  private async complete({ contract, now }: LockedContract, outcome: ContractOutcome): Promise<Contract> {
    const { id, state, winner, endedAt } = contract;
    if (contract.outcome && !isRepetition(outcome, contract.outcome)) throw new OutcomeRecordedError(id);
    if (contract.outcome) return contract;
    if (state !== 'confirmed' || winner === null) throw new ContractClosedError(id, state, 'completed');
    const actual = { ...outcome, ms: outcome.ms ?? now - (endedAt ?? now) };
    if (contract.runId === null) await this.reservations.settle(contract, actual);
    await this.bids.end(id, winner, actual.ok ? 'completed' : 'failed', actual);
    const completed = { ...contract, outcome: actual };
    await this.contracts.save(completed);
    await this.events.completed(completed, winner, actual);
    return completed;
  }
}

function isRepetition({ ok, microUsd, tokens, ms }: ContractOutcome, recorded: ContractOutcome): boolean {
  const isSameCost = recorded.microUsd === microUsd && recorded.tokens === tokens;
  return recorded.ok === ok && isSameCost && (ms === null || recorded.ms === ms);
}
