import { noteFlap, NEVER_FLAPPED, type FlapPolicy, type FlapState } from '../leases/flap.damping.js';
import { OwnerCounts } from '../owner.counts.js';
import type { Quota } from '#rollcall/platform';
import { AgentAlreadyRegisteredError } from './agent.errors.js';
import type { AgentRow } from './agent.row.js';
import type { Registration } from './registration.js';

/** A lease token and its hash. */
export interface IssuedLease {
  leaseToken: string;
  tokenHash: string;
}

/** A registration with its agentId, a new lease token and its capability keys, before it is decided. */
export interface Joining extends IssuedLease {
  agentId: string;
  /** False if the registry generated the agentId; it then has no earlier registration. */
  isProposed: boolean;
  /** The token that the agent sends as proof of its previous registration. If it is right, the agent keeps it. */
  previous?: IssuedLease;
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

/** `contended`: another transaction has locked this agentId. The registration must be decided again after that transaction. */
export type Decision =
  { state: 'accepted'; accepted: Accepted } | { state: 'rejected'; error: Error } | { state: 'contended' };

export interface AgentRules {
  flap: FlapPolicy;
  /** How many live agents one principal may have registered. */
  quota: Quota;
}

/** The state of the database that the decisions of a batch are based on. */
export interface BatchFacts {
  rows: readonly AgentRow[];
  locked: ReadonlySet<string>;
  /** The time of the database. */
  now: number;
  /** How many live agents each principal has, without the agentIds of this batch. Principals far from their quota are missing. */
  owned: Record<string, number>;
}

/** Decides the registrations of a batch in order, at most one per agentId. Pure: it uses neither the database nor a clock. */
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
    const { agentId, previous, registeredBy } = joining;
    const before = this.rows.get(agentId);
    if (before && !this.facts.locked.has(agentId)) return { state: 'contended' };
    const isLive = before?.leftAt === null;
    const full = this.owned.quotaError(registeredBy, isLive && before.registeredBy === registeredBy);
    if (full) return { state: 'rejected', error: full };
    const isSame = before !== undefined && before.tokenHash === previous?.tokenHash;
    if (isLive && !isSame) return { state: 'rejected', error: new AgentAlreadyRegisteredError(agentId) };
    if (isLive) this.owned.add(before.registeredBy, -1);
    this.owned.add(registeredBy, 1);
    const flap = before ? noteFlap(before.flap, this.facts.now, this.rules.flap) : NEVER_FLAPPED;
    return { state: 'accepted', accepted: { joining: isSame ? { ...joining, ...previous } : joining, before, flap } };
  }
}
