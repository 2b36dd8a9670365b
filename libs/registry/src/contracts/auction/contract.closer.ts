import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, Database, DatabaseUnavailableError, Loop, StopsIn } from '#rollcall/platform';
import { AgentEvents } from '../../agents/agent.events.js';
import { AttendanceStore } from '../store/attendance.store.js';
import { ContractStore, type LockedContract } from '../store/contract.store.js';
import { dueStep } from './auction.js';
import { ContractAwards } from './contract.awards.js';

const MAX_WAIT_MS = 1_000;
/** When the step of a contract fails, the step is tried again after this time, so that it does not delay other contracts. */
const POSTPONE_MS = 5_000;
const NAME = 'contracts.close';

/**
 * Closes each auction at its deadline, or when no present agent can answer any more. Takes back awards that are not confirmed in time
 * or whose agent is absent. Any number of replicas may run this loop: each step locks its contract and uses the time of the database,
 * so it happens exactly once.
 */
@Injectable()
export class ContractCloser implements OnApplicationBootstrap {
  private readonly loop: Loop;
  private waitMs = MAX_WAIT_MS;

  constructor(
    private readonly db: Database,
    private readonly contracts: ContractStore,
    private readonly attendance: AttendanceStore,
    private readonly awards: ContractAwards,
    private readonly faults: BackgroundFaults,
    agents: AgentEvents,
  ) {
    agents.onChange(() => this.wake()); // an agent may have left, or an operator may have withdrawn it; other replicas check once a second
    this.loop = new Loop({
      pass: async () => {
        await this.pass();
        this.waitMs = Math.min(MAX_WAIT_MS, Math.max(1, (await contracts.msUntilDue()) ?? MAX_WAIT_MS));
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

  /** Executes all steps that are due, and returns their number. */
  async pass(): Promise<number> {
    let steps = 0;
    await this.attendance.markDue();
    while (await this.step()) steps += 1;
    return steps;
  }

  private async step(): Promise<boolean> {
    let contractId: string | undefined;
    try {
      return await this.db.transaction(async () => {
        const locked = await this.contracts.lockDue();
        contractId = locked?.contract.id;
        return locked !== undefined && (await this.act(locked));
      });
    } catch (error) {
      if (contractId === undefined || error instanceof DatabaseUnavailableError) throw error;
      this.faults.report(NAME, error);
      await this.contracts.postpone(contractId, POSTPONE_MS);
      return true;
    }
  }

  private async act({ contract, now }: LockedContract): Promise<boolean> {
    const step = dueStep(contract, await this.attendance.of(contract), now);
    if (step === 'close') await this.awards.close(contract, now);
    else if (step === 'wait')
      await this.contracts.save(contract); // an absent agent is present again
    else await this.awards.passOn(contract, now, step);
    return true;
  }
}
