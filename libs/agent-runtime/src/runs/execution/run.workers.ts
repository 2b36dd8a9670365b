import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, LeasedWork, StopsIn, type WorkEnd, type Worker } from '#rollcall/platform';
import { RunChannel } from '../observe/run.channel.js';
import type { Run } from '../run.js';
import { RUNS_OPTIONS, type RunsOptions } from '../runs.options.js';
import { type HeldRun, type RunClaim, RunClaimStore, type RunLease } from '../store/run-claim.store.js';
import type { NewRun } from '../store/run.store.js';
import { agentOf, countByAgent, Turns } from './fair.order.js';
import { type ExecutionEnd, RunExecution } from './run.execution.js';
import { RunScope } from './run.scope.js';

/** The time that calls in progress have to end when the replica stops. They are then aborted, and the run is handed over. */
const DRAIN_MS = 3_000;
const ABORT_MS = 1_500;

/** Executes one claimed run on this replica. */
class RunWorker implements Worker<RunClaim> {
  readonly scope: RunScope;
  private finished?: Promise<WorkEnd>;

  constructor(
    readonly claim: RunClaim,
    private readonly execute: (claim: RunClaim, scope: RunScope) => Promise<ExecutionEnd>,
    /** The same for calls that must not be repeated. */
    private readonly unsafeDrainMs: number,
  ) {
    this.scope = new RunScope({ rootId: claim.id, token: claim.token }, claim.run.attempts);
  }

  run(): Promise<WorkEnd> {
    this.finished ??= this.work();
    return this.finished;
  }

  /** Called when the replica stops. The run continues on another replica. */
  drain(): void {
    this.scope.drain();
  }

  /** Called when the run was cancelled. */
  cancel(): void {
    this.scope.cancel();
  }

  /**
   * Called when the lease is lost, and when the replica stops. A call that must not be repeated has more time to end than others. Work
   * that ignores its abort is abandoned: nothing of it is recorded.
   */
  async stop(): Promise<void> {
    if (this.scope.isDraining) await this.ended(DRAIN_MS);
    if (this.scope.isDraining && this.scope.isUnsafe) await this.ended(Math.max(0, this.unsafeDrainMs - DRAIN_MS));
    this.scope.close();
    await this.ended(ABORT_MS);
  }

  /** After an outage of the database, the run is claimed again by the next regular pass. */
  private async work(): Promise<WorkEnd> {
    const end = await this.execute(this.claim, this.scope);
    return end === 'ended' || this.scope.isClosed ? 'ended' : 'failed';
  }

  private async ended(limitMs: number): Promise<void> {
    const timer = new AbortController();
    const limit = delay(limitMs, undefined, { signal: timer.signal, ref: false }).catch(() => undefined);
    await Promise.race([this.finished?.catch(() => undefined), limit]);
    timer.abort();
  }
}

const MAX_RENEWAL_MS = 2_000;
const RENEWALS_PER_LEASE = 5;

/** How often a claim that got nothing is repeated at once, because other replicas claimed the same runs. */
const MAX_FRUITLESS = 3;

/** A run that is about to be stored. */
type StartingRun = HeldRun & Pick<NewRun, 'host' | 'plugins'>;

/** A slot of this replica for a run that is about to be stored. */
export interface StartSlot {
  readonly lease: RunLease;
  /** Executes the run. Must be called when the run is committed with this lease. */
  adopt(run: Run): void;
  /** Must be called if the run is not stored. */
  release(): void;
}

/**
 * Executes runs on this replica: they are leased work. A run that is started here is executed here at once if there is room and
 * nothing older waits; otherwise it is queued, and a message wakes the workers of all replicas. Another message ends the execution
 * of a cancelled run.
 */
@Injectable()
export class RunWorkers implements OnApplicationBootstrap {
  private readonly work: LeasedWork<RunClaim>;
  private readonly workers = new Map<string, RunWorker>();
  /** Runs that have a slot but no worker yet: they are being stored, or were just claimed. */
  private readonly starting = new Map<string, HeldRun>();
  /** The slots that a claim in progress may fill. */
  private claimable = 0;
  private isRunning = false;
  private isDraining = false;
  /** Whether the last claim left runs in the queue that could be executed here. Unknown before the first claim. */
  private hasBacklog = true;
  /** How many runs were queued by this replica since the last claim began. */
  private queued = 0;
  /** The agents whose runs may wait because the agent was at its limit. */
  private readonly fullAgents = new Set<string>();
  private fruitless = 0;
  private readonly turns = new Turns();

  constructor(
    private readonly store: RunClaimStore,
    private readonly execution: RunExecution,
    channel: RunChannel,
    faults: BackgroundFaults,
    @Inject(RUNS_OPTIONS) private readonly options: RunsOptions,
  ) {
    const { leaseMs } = options;
    this.work = new LeasedWork({
      store: {
        claim: async (owner) => await this.claim(owner),
        renew: async (held, ms) => await store.renew(held, ms),
        release: async (held) => {
          await store.release(held);
          channel.send({ type: 'work' }); // another replica continues these runs while this one still ends others
        },
      },
      open: async (claim) => await Promise.resolve(this.open(claim)),
      onError: (error) => faults.report('runs.execution', error),
      leaseMs,
      everyMs: Math.min(MAX_RENEWAL_MS, leaseMs / RENEWALS_PER_LEASE),
      claimsOnWake: true,
      mayHaveMore: () => this.hasBacklog || this.queued > 0 || this.fullAgents.size > 0,
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
    this.isRunning = true;
    this.work.start();
  }

  /**
   * Takes a slot for a run that is about to be stored. Returns undefined if the run must be queued: there is no room, an older run
   * may wait for the same room, another replica hosts the agent, this replica lacks a plugin, or this replica is stopping.
   */
  takeSlot({ id, namespace, createdBy, agentId, host, plugins }: StartingRun): StartSlot | undefined {
    const run = { id, namespace, createdBy, agentId };
    if (!this.isRunning || this.isDraining || !this.store.mayExecute(host, plugins)) return undefined;
    if (this.isAgentFull(agentOf(run))) {
      this.fullAgents.add(agentOf(run));
      return undefined;
    }
    if (this.hasBacklog || this.free <= this.queued) {
      this.queued += 1;
      return undefined;
    }
    const token = randomUUID();
    this.occupy(run);
    return {
      lease: { owner: this.work.owner, token, ms: this.options.leaseMs },
      adopt: (stored) => void this.work.adopt({ id, token, run: stored }),
      release: () => this.release(id),
    };
  }

  /** The ids of the runs that this replica executes. */
  get held(): string[] {
    return this.work.held;
  }

  /** One pass: renews the leases, and claims runs. */
  async pass(): Promise<void> {
    await this.work.pass();
  }

  /** Hands the runs over to other replicas: within five seconds, or after `unsafeDrainMs` if a call must not be repeated. */
  @StopsIn('background')
  async stop(): Promise<void> {
    this.isDraining = true;
    for (const worker of this.workers.values()) worker.drain();
    await this.work.stop();
  }

  private get free(): number {
    return this.options.maxRunning - this.workers.size - this.starting.size - this.claimable;
  }

  private get occupants(): HeldRun[] {
    return [...Array.from(this.workers.values(), ({ claim }) => claim.run), ...this.starting.values()];
  }

  private isAgentFull(agent: string): boolean {
    if (this.fullAgents.has(agent)) return true;
    return this.occupants.filter((run) => agentOf(run) === agent).length >= this.options.maxRunningPerAgent;
  }

  private occupy(run: HeldRun): void {
    this.starting.set(run.id, run);
    this.turns.taken(run);
  }

  /** A run that waited because of this slot can be claimed now. */
  private release(id: string): void {
    this.starting.delete(id);
    if (this.hasBacklog || this.queued > 0 || this.fullAgents.size > 0) this.work.wake();
  }

  /** Only the slots of runs that were found are reserved during a claim, so runs can start while there is nothing to claim. */
  private async claim(owner: string): Promise<RunClaim[]> {
    const { free: limit, queued } = this;
    if (limit <= 0) this.hasBacklog = true;
    if (limit <= 0 || this.isDraining) return [];
    let reserved = 0;
    const reserve = (runs: number): number => {
      reserved = Math.max(0, Math.min(runs, this.free));
      this.claimable += reserved;
      return reserved;
    };
    const held = (): HeldRun[] => this.occupants;
    const { leaseMs, maxRunningPerAgent: limitPerAgent } = this.options;
    try {
      const request = { owner, held, turns: this.turns, reserve, leaseMs, limit, limitPerAgent };
      const { claims, hasMore } = await this.store.claim(request);
      for (const { run } of claims) this.occupy(run);
      this.queued -= queued;
      this.noteBacklog(hasMore, claims.length);
      return claims;
    } finally {
      this.claimable -= reserved;
    }
  }

  /** Called after each claim. If there is room for the runs that are left, claims again at once. */
  private noteBacklog(hasMore: boolean, claimed: number): void {
    const { maxRunning, maxRunningPerAgent } = this.options;
    this.hasBacklog = hasMore;
    this.fruitless = hasMore && claimed === 0 ? this.fruitless + 1 : 0;
    this.fullAgents.clear();
    for (const [agent, runs] of countByAgent(this.occupants))
      if (runs >= maxRunningPerAgent) this.fullAgents.add(agent);
    if (hasMore && this.occupants.length < maxRunning && this.fruitless < MAX_FRUITLESS) this.work.wake();
  }

  private open(claim: RunClaim): RunWorker {
    const worker = new RunWorker(
      claim,
      async ({ run }, scope) => await this.execute(run, scope),
      this.options.unsafeDrainMs,
    );
    this.workers.set(claim.id, worker);
    this.starting.delete(claim.id);
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
