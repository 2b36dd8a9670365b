import { noteFlap, NEVER_FLAPPED, type FlapPolicy, type FlapState } from '../leases/flap.damping.js';
import { OwnerCounts } from '../owner.counts.js';
import type { Quota } from '../quota.js';
import { AgentAlreadyRegisteredError } from './agent.errors.js';
import type { AgentRow } from './agent.row.js';
import type { Registration } from './registration.js';

/** A registration in its final form. */
export interface Joining {
  agentId: string;
  leaseToken: string;
  tokenHash: string;
  registeredBy: string;
  facts: Registration;
  /** Every capability by which a query may find the agent. */
  capabilityKeys: readonly string[];
}

export interface Accepted {
  joining: Joining;
  /** The previous registration of this agentId, whose row is locked. */
  before: AgentRow | undefined;
  flap: FlapState;
}

/** `contended`: another transaction works on this agentId; decide again after it has ended. */
export type Decision =
  { state: 'accepted'; accepted: Accepted } | { state: 'rejected'; error: Error } | { state: 'contended' };

export interface AgentRules {
  flap: FlapPolicy;
  /** How many live agents one principal may have registered. */
  quota: Quota;
}

/** What the database says about the agentIds of a batch. */
export interface BatchFacts {
  rows: readonly AgentRow[];
  locked: ReadonlySet<string>;
  /** By the database's clock. */
  now: number;
  /** The live agents of the principals to count, without the agentIds of this batch. */
  owned: Record<string, number>;
}

/** Decides registrations, at most one of each agentId, one after the other. Pure: it knows neither the database nor the clock. */
export class RegistrationBatch {
  private readonly rows: Map<string, AgentRow>;
  private readonly owned: OwnerCounts;

  constructor(
    private readonly facts: BatchFacts,
    private readonly rules: AgentRules,
  ) {
    this.rows = new Map(facts.rows.map((row) => [row.agentId, row]));
    this.owned = new OwnerCounts(facts.owned, rules.quota, 'live agents');
    for (const row of facts.rows) if (row.leftAt === null) this.owned.add(row.registeredBy, 1);
  }

  decide(joining: Joining): Decision {
    const { agentId, tokenHash, registeredBy } = joining;
    const before = this.rows.get(agentId);
    if (before && !this.facts.locked.has(agentId)) return { state: 'contended' };
    const isLive = before?.leftAt === null;
    const full = this.owned.refusalOf(registeredBy, isLive && before.registeredBy === registeredBy);
    if (full) return { state: 'rejected', error: full };
    if (isLive && before.tokenHash !== tokenHash)
      return { state: 'rejected', error: new AgentAlreadyRegisteredError(agentId) };
    if (isLive) this.owned.add(before.registeredBy, -1);
    this.owned.add(registeredBy, 1);
    const flap = before ? noteFlap(before.flap, this.facts.now, this.rules.flap) : NEVER_FLAPPED;
    return { state: 'accepted', accepted: { joining, before, flap } };
  }
}
