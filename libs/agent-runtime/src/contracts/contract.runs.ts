import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, DomainError, localIdOf, Loop, StopsIn } from '#rollcall/platform';
import { message } from '#rollcall/providers';
import { type Contract, ContractDispatcher, ContractOutcomes } from '#rollcall/registry';
import type { Run } from '../runs/run.js';
import { RunReader } from '../runs/run.reader.js';
import { isFinal } from '../runs/run.status.js';
import { RunsService } from '../runs/runs.service.js';

const NAME = 'contracts.runs';
const EVERY_MS = 1_000;
const BATCH = 100;
/** A run that cannot be started is tried again for this time, because another replica may not know the winner yet. */
const START_WITHIN_MS = 10_000;
const SYSTEM = { by: 'system', mayManage: true };

/**
 * Starts the runs of confirmed contracts that want one, and records their cost and time as the outcome. Any replica may do so: the
 * run is added in the transaction that locks the contract, so each contract has one run.
 */
@Injectable()
export class ContractRuns implements OnApplicationBootstrap {
  private readonly loop = new Loop({
    pass: async () => await this.pass(),
    everyMs: () => EVERY_MS,
    onError: (error) => this.faults.report(NAME, error),
  });

  constructor(
    private readonly outcomes: ContractOutcomes,
    private readonly runs: RunsService,
    private readonly reader: RunReader,
    private readonly faults: BackgroundFaults,
    dispatcher: ContractDispatcher,
  ) {
    dispatcher.onEnded(() => this.loop.wake());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  @StopsIn('background')
  async stop(): Promise<void> {
    await this.loop.stop();
  }

  async pass(): Promise<void> {
    for (const contract of await this.outcomes.awaitingRun(BATCH)) {
      await (contract.runId === null ? this.start(contract) : this.follow(contract, contract.runId));
    }
  }

  private async start(contract: Contract): Promise<void> {
    const { namespace, winner, task, by, reserve, limits } = contract;
    const target = { agent: localIdOf(winner ?? '') };
    const limit = { tokens: reserve.tokens || null, microUsd: reserve.microUsd ?? limits.price };
    try {
      await this.outcomes.startRun(contract, async () => {
        return (await this.runs.start({ namespace, target, input: message(task).parts, limit, by })).id;
      });
    } catch (error) {
      await this.onNotStarted(contract, error);
    }
  }

  /** The award fails if the run cannot be started for some time. */
  private async onNotStarted(contract: Contract, error: unknown): Promise<void> {
    this.faults.report(NAME, error);
    const now = await this.outcomes.now();
    if (!(error instanceof DomainError) || now - (contract.endedAt ?? now) < START_WITHIN_MS) return;
    await this.outcomes.record(contract, SYSTEM, { ok: false, microUsd: 0, tokens: 0, ms: null });
  }

  private async follow(contract: Contract, id: string): Promise<void> {
    const { namespace } = contract;
    const { run, subtree } = await this.reader.tree({ namespace, id });
    if (!isFinal(run.state)) return;
    const { tokens, microUsd } = subtree;
    await this.outcomes.record(contract, SYSTEM, { ok: run.state === 'completed', microUsd, tokens, ms: timeOf(run) });
  }
}

function timeOf({ startedAt, createdAt, finishedAt }: Run): number | null {
  return finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt ?? createdAt);
}
