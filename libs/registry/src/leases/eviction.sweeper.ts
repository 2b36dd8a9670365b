import { Injectable } from '@nestjs/common';
import { Database, Periodic, StopsIn } from '#rollcall/platform';
import { AgentEvents } from '../agents/agent.events.js';
import { AgentBudgets } from '../budgets/agent.budgets.js';
import type { ClockStore } from './clock.store.js';
import type { FleetFacts, LeaseStore } from './lease.store.js';
import { leaseTtlMs, type LeasePolicy } from './lease.policy.js';
import type { ProtectionDecision } from './protection.explanation.js';
import { normalProtection, type ProtectionPolicy, type SweepPolicy } from './protection.state.js';
import type { ProtectionStore } from './protection.store.js';
import { decideProtection } from './self-preservation.js';

export interface SweepResult {
  /** False when another replica was sweeping, or has just done so. */
  swept: boolean;
  evicted: string[];
  suspected: string[];
  recovered: string[];
  /** Expired, and spared all the same. */
  spared: number;
  /** There is more to do at once. */
  more: boolean;
}

const NOTHING: SweepResult = { swept: false, evicted: [], suspected: [], recovered: [], spared: 0, more: false };
/** More wait for the next sweep: one transaction stays short. */
const MOST_AT_ONCE = 500;
const SWEEP_EVERY_MS = 1_000;

/**
 * Looks who has fallen silent: active → suspect → evicted after K missed beats. One replica sweeps at a time; what it does
 * to an agent is fenced by the agent's generation and checked again under its lock, so an agent is evicted once, and never
 * while its beats arrive. Before anything it gives back the time in which we could not have heard anyone, and when too many
 * are silent at once it suspects itself instead of them. A database clock that went back is noticed here, and corrected.
 */
@Injectable()
export class EvictionSweeper {
  private stopping = false;

  constructor(
    private readonly db: Database,
    private readonly stores: { leases: LeaseStore; protection: ProtectionStore; clock: ClockStore },
    private readonly events: AgentEvents,
    private readonly budgets: AgentBudgets,
    private readonly policies: { lease: LeasePolicy; protection: ProtectionPolicy },
  ) {}

  @Periodic('registry.sweep', SWEEP_EVERY_MS)
  async sweepAll(): Promise<void> {
    let { more } = await this.sweepIfDue();
    while (more && !this.stopping) ({ more } = await this.sweep());
  }

  /** The sweep in progress is the last one of `sweepAll`. */
  @StopsIn('background')
  async stop(): Promise<void> {
    this.stopping = true;
  }

  /** Unless another replica has just swept: however many there are, the fleet is looked at about once an interval. */
  async sweepIfDue(): Promise<SweepResult> {
    return await this.sweep(this.policies.protection.sweepEveryMs / 2);
  }

  async sweep(notWithinMs = 0): Promise<SweepResult> {
    return await this.db.transaction(async () => {
      const before = await this.stores.protection.take(notWithinMs);
      if (!before) return NOTHING;
      const fleet = await this.stores.leases.fleetFacts(this.policies.lease);
      const state = before.state ?? normalProtection(fleet.now);
      const facts = { ...fleet, override: before.override };
      const decision = decideProtection(state, facts, fleet.now, this.policy);
      const result = await this.act(decision, fleet);
      await this.stores.protection.save(decision.state, decision.explanation);
      await this.events.protectionChanged(state.mode, decision.explanation);
      return result;
    }, 'reserved');
  }

  private async stepBack(byMs: number, now: number): Promise<void> {
    await this.stores.clock.stepBack(byMs, now);
    await this.events.clockSteppedBack(byMs);
  }

  private get policy(): SweepPolicy {
    return { ...this.policies.protection, leaseMs: leaseTtlMs(this.policies.lease) };
  }

  private async act(decision: ProtectionDecision, fleet: FleetFacts): Promise<SweepResult> {
    const { lease } = this.policies;
    const { gap, mayEvict, clockBackMs } = decision;
    if (clockBackMs > 0) await this.stepBack(clockBackMs, fleet.now);
    if (gap) await this.stores.leases.forgive(gap);
    const recovered = fleet.beatingAgain > 0 ? await this.stores.leases.markRecovered(lease, MOST_AT_ONCE) : [];
    const suspected = fleet.toSuspect > 0 ? await this.stores.leases.markSuspects(lease, MOST_AT_ONCE) : [];
    const evicted = mayEvict > 0 ? await this.stores.leases.evictExpired(lease, Math.min(mayEvict, MOST_AT_ONCE)) : [];
    const gone = new Set(evicted.map(idOf));
    await this.events.recovered(recovered);
    const stillHere = suspected.filter(({ agentId }) => !gone.has(agentId));
    await this.events.suspected(stillHere, lease.missesUntilSuspect);
    await this.budgets.applyLastReports(evicted);
    await this.events.left(evicted, 'evicted');
    return {
      swept: true,
      evicted: evicted.map(idOf),
      suspected: stillHere.map(idOf),
      recovered: recovered.map(idOf),
      spared: fleet.expired - evicted.length,
      more: [recovered, suspected, evicted].some(({ length }) => length === MOST_AT_ONCE),
    };
  }
}

const idOf = ({ agentId }: { agentId: string }): string => agentId;
