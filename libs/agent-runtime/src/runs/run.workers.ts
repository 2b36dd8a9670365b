import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, LeasedWork, StopsIn } from '#rollcall/platform';
import { RunChannel } from './run.channel.js';
import { countByAgent, type RunClaim, RunClaimStore } from './run-claim.store.js';
import { type ExecutionEnd, RunExecution } from './run.execution.js';
import type { RunScope } from './run.scope.js';
import { RunWorker } from './run.worker.js';
import { RUNS_OPTIONS, type RunsOptions } from './runs.options.js';

const MAX_RENEWAL_MS = 2_000;
const RENEWALS_PER_LEASE = 5;

/**
 * Executes runs on this replica: they are leased work. A message wakes the workers of all replicas when there is a new run, and
 * ends the execution of a cancelled run.
 */
@Injectable()
export class RunWorkers implements OnApplicationBootstrap {
  private readonly work: LeasedWork<RunClaim>;
  private readonly workers = new Map<string, RunWorker>();
  private isDraining = false;
  /** The last claim may have left runs for which there was no room. */
  private isFull = false;

  constructor(
    private readonly store: RunClaimStore,
    private readonly execution: RunExecution,
    private readonly channel: RunChannel,
    faults: BackgroundFaults,
    @Inject(RUNS_OPTIONS) private readonly options: RunsOptions,
  ) {
    const { leaseMs } = options;
    this.work = new LeasedWork({
      store: {
        claim: async (owner) => await this.claim(owner),
        renew: async (held, ms) => await store.renew(held, ms),
        release: async (held) => await store.release(held),
      },
      open: async (claim) => await Promise.resolve(this.open(claim)),
      onError: (error) => faults.report('runs.execution', error),
      leaseMs,
      everyMs: Math.min(MAX_RENEWAL_MS, leaseMs / RENEWALS_PER_LEASE),
      claimsOnWake: true,
      mayHaveMore: () => this.isFull,
    });
    channel.onMessage((message) => {
      if (message.type === 'work') this.work.wake();
      else if (message.type === 'cancelled') this.workers.get(message.rootId)?.cancel();
    });
    channel.onConnected(() => this.work.wake());
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  start(): void {
    this.work.start();
  }

  /** The ids of the runs that this replica executes. */
  get held(): string[] {
    return this.work.held;
  }

  /** One pass: renews the leases, and claims runs. */
  async pass(): Promise<void> {
    await this.work.pass();
  }

  /** Hands the runs over to other replicas within five seconds. */
  @StopsIn('background')
  async stop(): Promise<void> {
    this.isDraining = true;
    for (const worker of this.workers.values()) worker.drain();
    await this.work.stop();
    this.channel.send({ type: 'work' });
  }

  private async claim(owner: string): Promise<RunClaim[]> {
    const { leaseMs, maxRunning, maxRunningPerAgent: limitPerAgent } = this.options;
    const held = [...this.workers.values()].map(({ claim }) => claim);
    const limit = maxRunning - held.length;
    this.isFull = limit <= 0;
    if (limit <= 0 || this.isDraining) return [];
    const claims = await this.store.claim({ owner, held, leaseMs, limit, limitPerAgent });
    const isAgentFull = largestGroup([...held, ...claims]) >= limitPerAgent;
    this.isFull = claims.length === limit || isAgentFull;
    const hidesOthers = isAgentFull && claims.length > 0 && claims.length < limit;
    const hasRoomAgain = this.isFull && this.workers.size < held.length; // a run has ended in the meantime
    if (hidesOthers || hasRoomAgain) this.work.wake();
    return claims;
  }

  private open(claim: RunClaim): RunWorker {
    const worker = new RunWorker(claim, async ({ run }, scope) => await this.execute(run, scope));
    this.workers.set(claim.id, worker);
    if (this.isDraining) worker.drain();
    return worker;
  }

  private async execute(run: RunClaim['run'], scope: RunScope): Promise<ExecutionEnd> {
    try {
      return await this.execution.execute(run, scope);
    } finally {
      if (this.workers.get(run.id)?.scope === scope) this.workers.delete(run.id);
    }
  }
}

/** The number of runs of the agent with the most runs. */
function largestGroup(claims: readonly RunClaim[]): number {
  return Math.max(0, ...countByAgent(claims).values());
}
