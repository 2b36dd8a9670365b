import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, DomainError, localIdOf, Loop, StopsIn } from '#rollcall/platform';
import { message } from '#rollcall/providers';
import {
  type AgentRecord,
  type Contract,
  ContractDispatcher,
  ContractInviters,
  ContractOutcomes,
} from '#rollcall/registry';
import { NamedAgents } from '../definitions/named.agents.js';
import { RunReader } from '../runs/observe/run.reader.js';
import type { RunFacts, RunSummary } from '../runs/run.js';
import { RunsService } from '../runs/runs.service.js';
import { RunTargets } from '../runs/start/run.targets.js';
import { reportedUsage, tokensOf } from './run.cost.js';
import { isTemporary } from './temporary.errors.js';

const NAME = 'contracts.runs';
const EVERY_MS = 1_000;
/** While no contract needs a run. An event wakes the loop, so this is only for an event that was missed. */
const IDLE_MS = 30_000;
const BATCH = 100;
/** A run that cannot be started is tried again for this time, because another replica may not know the winner yet. */
const START_WITHIN_MS = 10_000;

/**
 * Starts a run for each confirmed contract that requests one, and records the cost and time of the run as the outcome. Any replica may
 * start it: the run is added in the transaction that locks the contract, so each contract has exactly one run.
 */
@Injectable()
export class ContractRuns implements OnApplicationBootstrap {
  private readonly loop = new Loop({
    pass: async () => await this.pass(),
    everyMs: () => (this.isIdle ? IDLE_MS : EVERY_MS),
    onError: (error) => this.faults.report(NAME, error),
  });

  /** Whether the last pass found no contract. */
  private isIdle = false;
  /** Where the next pass continues. Each pass checks one batch of the running contracts. */
  private position = 0;

  constructor(
    private readonly outcomes: ContractOutcomes,
    private readonly runs: RunsService,
    private readonly reader: RunReader,
    private readonly faults: BackgroundFaults,
    private readonly targets: RunTargets,
    names: NamedAgents,
    dispatcher: ContractDispatcher,
    inviters: ContractInviters,
  ) {
    dispatcher.onEnded(() => this.loop.wake());
    inviters.eligible = async (agents, mustRun) => {
      const meant = await names.meant(agents);
      return mustRun ? await this.executable(meant) : meant;
    };
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  @StopsIn('background')
  async stop(): Promise<void> {
    await this.loop.stop();
  }

  async pass(): Promise<void> {
    const starting = await this.outcomes.awaitingStart(BATCH);
    for (const contract of starting) await this.attempt(async () => await this.start(contract));
    const running = await this.outcomes.awaitingOutcome(this.position, BATCH);
    const finished = await this.reader.finishedAmong(running.map(({ runId }) => runId ?? ''));
    for (const contract of running)
      if (contract.runId && finished.has(contract.runId)) await this.attempt(async () => await this.follow(contract));
    this.isIdle = starting.length === 0 && running.length === 0 && this.position === 0;
    this.position = running.length < BATCH ? 0 : (running.at(-1)?.seq ?? 0);
  }

  /** A contract that starts a run invites only agents that can execute one: agents with an endpoint, and agents that Rollcall executes. */
  private async executable(agents: readonly AgentRecord[]): Promise<AgentRecord[]> {
    const canRun = await Promise.all(agents.map(async (agent) => await this.targets.canExecute(agent)));
    return agents.filter((_, index) => canRun[index]);
  }

  /** A contract that fails does not delay the others. The next pass tries it again. */
  private async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.faults.report(NAME, error);
    }
  }

  private async start(contract: Contract): Promise<void> {
    const { namespace, winner, task, by, reserve } = contract;
    try {
      const price = await this.outcomes.priceOf(contract);
      const microUsd = Math.max(1, reserve.microUsd ?? price); // a run needs a budget above 0
      const target = { agent: localIdOf(winner ?? ''), priceMicroUsd: Math.min(price, microUsd) };
      const limit = { tokens: reserve.tokens || null, microUsd };
      await this.outcomes.startRun(contract, async () => {
        return (await this.runs.start({ namespace, target, input: message(task).parts, limit, by })).id;
      });
    } catch (error) {
      await this.onNotStarted(contract, error);
    }
  }

  /** The award fails if the run cannot be started for some time. The outcome contains the reason. */
  private async onNotStarted(contract: Contract, error: unknown): Promise<void> {
    if (!(error instanceof DomainError) || isTemporary(error)) throw error;
    const now = await this.outcomes.now();
    if (now - (contract.endedAt ?? now) < START_WITHIN_MS) return;
    const reason = `The run could not be started: ${error.message}`;
    await this.outcomes.recordRun(contract, { ok: false, reason, microUsd: 0, tokens: 0, ms: null });
  }

  /** Records the outcome of a run that has finished. */
  private async follow(contract: Contract): Promise<void> {
    const { namespace, runId } = contract;
    const tree = await this.reader.tree({ namespace, id: runId ?? '' });
    const { run } = tree;
    const usage = reportedUsage(tree);
    const cost = { microUsd: usage.costMicroUsd ?? null, tokens: tokensOf(usage), ms: timeOf(run) };
    const isOk = run.state === 'completed';
    await this.outcomes.recordRun(contract, { ok: isOk, ...(!isOk && { reason: reasonOf(run) }), ...cost });
  }
}

function reasonOf({ state, resultPreview }: RunSummary): string {
  const { error, detail, reason } = resultPreview ?? {};
  return `The run is ${state}: ${error?.message ?? detail ?? reason ?? 'it has no result'}`;
}

function timeOf({ startedAt, createdAt, finishedAt }: RunFacts): number | null {
  return finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt ?? createdAt);
}
