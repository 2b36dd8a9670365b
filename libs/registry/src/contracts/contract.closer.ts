import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, Database, DatabaseUnavailableError, Loop, StopsIn } from '#rollcall/platform';
import { dueStep } from './auction.js';
import { ContractAwards } from './contract.awards.js';
import { ContractStore, type LockedContract } from './contract.store.js';

const MAX_WAIT_MS = 1_000;
/** When the step of a contract fails, the step is tried again after this time, so that it does not delay other contracts. */
const POSTPONE_MS = 5_000;
const NAME = 'contracts.close';

/**
 * Closes auctions at their deadline and lets awards lapse. Any number of replicas may do so: each step locks its contract and is
 * decided by the time of the database, so it happens once. The replica that is awake first does it.
 */
@Injectable()
export class ContractCloser implements OnApplicationBootstrap {
  private readonly loop: Loop;
  private waitMs = MAX_WAIT_MS;

  constructor(
    private readonly db: Database,
    private readonly store: ContractStore,
    private readonly awards: ContractAwards,
    private readonly faults: BackgroundFaults,
  ) {
    this.loop = new Loop({
      pass: async () => {
        await this.pass();
        this.waitMs = Math.min(MAX_WAIT_MS, Math.max(1, (await store.msUntilDue()) ?? MAX_WAIT_MS));
      },
      everyMs: () => this.waitMs,
      onError: (error) => faults.report(NAME, error),
    });
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  /** Starts a pass, because a contract is due or has a new deadline. */
  wake(): void {
    this.loop.wake();
  }

  @StopsIn('background')
  async stop(): Promise<void> {
    await this.loop.stop();
  }

  /** Makes all steps that are due. Returns how many it made. */
  async pass(): Promise<number> {
    let steps = 0;
    while (await this.step()) steps += 1;
    return steps;
  }

  private async step(): Promise<boolean> {
    let contractId: string | undefined;
    try {
      return await this.db.transaction(async () => {
        const locked = await this.store.lockDue();
        contractId = locked?.contract.id;
        return locked !== undefined && (await this.act(locked));
      });
    } catch (error) {
      if (contractId === undefined || error instanceof DatabaseUnavailableError) throw error;
      this.faults.report(NAME, error);
      await this.store.postpone(contractId, POSTPONE_MS);
      return true;
    }
  }

  private async act({ contract, now }: LockedContract): Promise<boolean> {
    const step = dueStep(contract, now);
    if (step === 'close') await this.awards.close(contract, now);
    if (step === 'lapse') await this.awards.passOn(contract, now, 'lapsed');
    return step !== 'wait';
  }
}
