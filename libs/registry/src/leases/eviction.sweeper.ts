import { Injectable } from '@nestjs/common';
import { Database, Periodic, StopsIn } from '#rollcall/platform';
import { AgentEvents } from '../agents/agent.events.js';
import { AgentBudgets } from '../budgets/agent.budgets.js';
import type { Directory } from '../discovery/directory/directory.js';
import type { DirectoryFollower } from '../discovery/directory/directory.follower.js';
import type { RegistryClock } from '../discovery/directory/registry.clock.js';
import { ClockStore } from './clock.store.js';
import { type LeasePolicy, leaseTtlMs } from './lease.policy.js';
import { type Among, type FleetFacts, LeaseStore } from './lease.store.js';
import { normalProtection, type ProtectionPolicy, type ProtectionState, type SweepPolicy } from './protection.state.js';
import { ProtectionStore } from './protection.store.js';
import { decideProtection, type ProtectionDecision } from './self-preservation.js';

interface SweepResult {
  /** False if another replica is sweeping or has just swept. */
  swept: boolean;
  evicted: string[];
  suspected: string[];
  recovered: string[];
  /** How many expired agents were not evicted. */
  spared: number;
  /** Whether the next sweep should follow immediately. */
  more: boolean;
}

const NOT_SWEPT: SweepResult = { swept: false, evicted: [], suspected: [], recovered: [], spared: 0, more: false };
/** Limits the agents per sweep, so that its transaction stays short. */
const MAX_BATCH = 500;
export const SWEEP_EVERY_MS = 1_000;
/** How often a sweep reads all leases, in case the directory does not list an agent. */
const CHECK_ALL_EVERY_MS = 120_000;
/** With more agents than this to read by their ids, one scan of all leases is faster. */
const MAX_READ_BY_ID = 20_000;

/** What this replica knows of the fleet without Postgres. */
interface KnownFleet {
  directory: Directory;
  follower: DirectoryFollower;
  clock: RegistryClock;
}

/**
 * Marks agents that miss heartbeats as suspect, and evicts them if they miss more (see `LeasePolicy`). One replica sweeps at a time.
 * Each eviction is fenced by the agent's generation and checks the lease again under the agent's lock, so an agent is evicted once,
 * and never while its heartbeats arrive. A sweep first extends all leases by the time in which the registry could not receive
 * heartbeats. When too many agents are silent at the same time, self-preservation stops evictions. The sweep also detects and corrects a
 * database clock that was set back.
 *
 * A sweep does not read the whole fleet. The directory of this replica knows no heartbeat that is later than the last one in Postgres,
 * so every silent agent is also silent in the directory; the sweep reads only the leases of these agents. Every two minutes, and
 * while the directory is not current, it reads all leases.
 */
@Injectable()
export class EvictionSweeper {
  private stopping = false;

  constructor(
    private readonly db: Database,
    private readonly leases: LeaseStore,
    private readonly protection: ProtectionStore,
    private readonly clock: ClockStore,
    private readonly events: AgentEvents,
    private readonly budgets: AgentBudgets,
    private readonly known: KnownFleet,
    private readonly policies: { lease: LeasePolicy; protection: ProtectionPolicy },
  ) {}

  @Periodic('registry.sweep', SWEEP_EVERY_MS)
  async sweepAll(): Promise<void> {
    let { more } = await this.sweepIfDue();
    while (more && !this.stopping) ({ more } = await this.sweep(0, this.silentAgents()));
  }

  /** Ends `sweepAll` after the sweep in progress. */
  @StopsIn('background')
  async stop(): Promise<void> {
    this.stopping = true;
  }

  /** Skips the sweep if another replica has just swept, so that all replicas together sweep about once per interval. */
  async sweepIfDue(): Promise<SweepResult> {
    return await this.sweep(this.policies.protection.sweepEveryMs / 2, this.silentAgents());
  }

  /** `silent`: the only agents that may be silent; without it, all leases are read. */
  async sweep(notWithinMs = 0, silent?: Among): Promise<SweepResult> {
    return await this.db.transaction(async () => {
      const before = await this.protection.lock(notWithinMs);
      if (!before) return NOT_SWEPT;
      const among = this.mustCheckAll(before.state) ? undefined : silent;
      const fleet = await this.readFleet(among);
      const state = before.state ?? normalProtection(fleet.now);
      const facts = { ...fleet, override: before.override };
      const decision = decideProtection(state, facts, fleet.now, this.policy);
      const result = await this.act(decision, fleet, among);
      const checkedAllAt = among ? before.state?.checkedAllAt : fleet.now;
      await this.protection.save({ ...decision.state, checkedAllAt }, decision.explanation);
      await this.events.protectionChanged(state.mode, decision.explanation);
      return result;
    }, 'reserved');
  }

  /** The agents that are silent by the directory; undefined if it is not current, or too many are silent. */
  private silentAgents(): Among {
    const { directory, follower, clock } = this.known;
    const silent = directory.silentAt(clock.now());
    return follower.isFresh && silent.length <= MAX_READ_BY_ID ? silent : undefined;
  }

  private mustCheckAll(state: ProtectionState | null): boolean {
    const sinceMs = this.known.clock.now() - (state?.checkedAllAt ?? -Infinity);
    return sinceMs < 0 || sinceMs >= CHECK_ALL_EVERY_MS;
  }

  private async readFleet(among: Among): Promise<FleetFacts> {
    const facts = await this.leases.fleetFacts(this.policies.lease, among);
    return among ? { ...facts, fleet: this.known.directory.size } : facts;
  }

  private async stepBack(byMs: number, now: number): Promise<void> {
    await this.clock.stepBack(byMs, now);
    await this.events.clockSteppedBack(byMs);
  }

  private get policy(): SweepPolicy {
    return { ...this.policies.protection, leaseMs: leaseTtlMs(this.policies.lease) };
  }

  private async act(decision: ProtectionDecision, fleet: FleetFacts, among: Among): Promise<SweepResult> {
    const { lease } = this.policies;
    const { gap, mayEvict, clockBackMs } = decision;
    if (clockBackMs > 0) await this.stepBack(clockBackMs, fleet.now);
    if (gap) await this.leases.forgive(gap);
    const recovered = fleet.beatingAgain > 0 ? await this.leases.markRecovered(lease, MAX_BATCH, among) : [];
    const suspected = fleet.toSuspect > 0 ? await this.leases.markSuspects(lease, MAX_BATCH, among) : [];
    const evicted = mayEvict > 0 ? await this.leases.evictExpired(lease, Math.min(mayEvict, MAX_BATCH), among) : [];
    const evictedIds = new Set(evicted.map(idOf));
    await this.events.recovered(recovered);
    const remaining = suspected.filter(({ agentId }) => !evictedIds.has(agentId));
    await this.events.suspected(remaining, lease.missesUntilSuspect);
    await this.budgets.applyLastReports(evicted);
    await this.events.left(evicted, 'evicted');
    this.db.afterCommit(() => this.db.counts.add('evictions', evicted.length));
    return {
      swept: true,
      evicted: evicted.map(idOf),
      suspected: remaining.map(idOf),
      recovered: recovered.map(idOf),
      spared: fleet.expired - evicted.length,
      more: [recovered, suspected, evicted].some(({ length }) => length === MAX_BATCH),
    };
  }
}

const idOf = ({ agentId }: { agentId: string }): string => agentId;
