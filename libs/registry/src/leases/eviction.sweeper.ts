import { Injectable } from '@nestjs/common';
import { Database, Periodic, StopsIn } from '#rollcall/platform';
import { AgentEvents } from '../agents/agent.events.js';
import { AgentBudgets } from '../budgets/agent.budgets.js';
import { ClockStore } from './clock.store.js';
import { type LeasePolicy, leaseTtlMs } from './lease.policy.js';
import { type FleetFacts, LeaseStore } from './lease.store.js';
import { normalProtection, type ProtectionPolicy, type SweepPolicy } from './protection.state.js';
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

/**
 * Marks agents that miss heartbeats as suspect, and evicts them if they miss more (see `LeasePolicy`). One replica sweeps at a time.
 * Each eviction is fenced by the agent's generation and checks the lease again under the agent's lock, so an agent is evicted once,
 * and never while its heartbeats arrive. A sweep first extends all leases by the time in which the registry could not receive
 * heartbeats. When too many agents are silent at the same time, self-preservation stops evictions. The sweep also detects and corrects a
 * database clock that was set back.
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
    private readonly policies: { lease: LeasePolicy; protection: ProtectionPolicy },
  ) {}

  @Periodic('registry.sweep', SWEEP_EVERY_MS)
  async sweepAll(): Promise<void> {
    let { more } = await this.sweepIfDue();
    while (more && !this.stopping) ({ more } = await this.sweep());
  }

  /** Ends `sweepAll` after the sweep in progress. */
  @StopsIn('background')
  async stop(): Promise<void> {
    this.stopping = true;
  }

  /** Skips the sweep if another replica has just swept, so that all replicas together sweep about once per interval. */
  async sweepIfDue(): Promise<SweepResult> {
    return await this.sweep(this.policies.protection.sweepEveryMs / 2);
  }

  async sweep(notWithinMs = 0): Promise<SweepResult> {
    return await this.db.transaction(async () => {
      const before = await this.protection.lock(notWithinMs);
      if (!before) return NOT_SWEPT;
      const fleet = await this.leases.fleetFacts(this.policies.lease);
      const state = before.state ?? normalProtection(fleet.now);
      const facts = { ...fleet, override: before.override };
      const decision = decideProtection(state, facts, fleet.now, this.policy);
      const result = await this.act(decision, fleet);
      await this.protection.save(decision.state, decision.explanation);
      await this.events.protectionChanged(state.mode, decision.explanation);
      return result;
    }, 'reserved');
  }

  private async stepBack(byMs: number, now: number): Promise<void> {
    await this.clock.stepBack(byMs, now);
    await this.events.clockSteppedBack(byMs);
  }

  private get policy(): SweepPolicy {
    return { ...this.policies.protection, leaseMs: leaseTtlMs(this.policies.lease) };
  }

  private async act(decision: ProtectionDecision, fleet: FleetFacts): Promise<SweepResult> {
    const { lease } = this.policies;
    const { gap, mayEvict, clockBackMs } = decision;
    if (clockBackMs > 0) await this.stepBack(clockBackMs, fleet.now);
    if (gap) await this.leases.forgive(gap);
    const recovered = fleet.beatingAgain > 0 ? await this.leases.markRecovered(lease, MAX_BATCH) : [];
    const suspected = fleet.toSuspect > 0 ? await this.leases.markSuspects(lease, MAX_BATCH) : [];
    const evicted = mayEvict > 0 ? await this.leases.evictExpired(lease, Math.min(mayEvict, MAX_BATCH)) : [];
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
