import { noteFlap, NEVER_FLAPPED, type FlapPolicy, type FlapState } from '../leases/flap.damping.js';
import { OwnerCounts } from '../owner.counts.js';
import { namespaceOf, type Quota } from '#rollcall/platform';
import { AgentAlreadyRegisteredError } from './agent.errors.js';
import type { AgentRow } from './agent.row.js';
import { type NamespaceCount, NamespaceRoom } from './namespace.room.js';
import type { Registration } from './registration.js';

/** A registration with its agentId, lease token and capability keys, before it is decided. */
export interface Joining {
  agentId: string;
  /** False if the registry generated the agentId; it then has no earlier registration. */
  isProposed: boolean;
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
  /** The namespaces of the batch that were looked up and exist. */
  namespaces: readonly NamespaceCount[];
}

/** Decides the registrations of a batch in order, at most one per agentId. Pure: it uses neither the database nor a clock. */
export class RegistrationBatch {
  private readonly rows: Map<string, AgentRow>;
  private readonly owned: OwnerCounts;
  private readonly room: NamespaceRoom;

  constructor(
    private readonly facts: BatchFacts,
    private readonly rules: AgentRules,
  ) {
    this.rows = new Map(facts.rows.map((row) => [row.agentId, row]));
    this.owned = new OwnerCounts(facts.owned, rules.quota, 'live agents');
    this.room = new NamespaceRoom(facts.namespaces);
    for (const row of facts.rows) if (row.leftAt === null) this.count(row, 1);
  }

  decide(joining: Joining): Decision {
    const { agentId, tokenHash, registeredBy } = joining;
    const before = this.rows.get(agentId);
    if (before && !this.facts.locked.has(agentId)) return { state: 'contended' };
    const isLive = before?.leftAt === null;
    const namespace = namespaceOf(agentId);
    const full =
      this.room.error(namespace, isLive) ??
      this.owned.quotaError(registeredBy, isLive && before.registeredBy === registeredBy);
    if (full) return { state: 'rejected', error: full };
    if (isLive && before.tokenHash !== tokenHash)
      return { state: 'rejected', error: new AgentAlreadyRegisteredError(agentId) };
    if (isLive) this.count(before, -1);
    this.count({ agentId, registeredBy }, 1);
    const flap = before ? noteFlap(before.flap, this.facts.now, this.rules.flap) : NEVER_FLAPPED;
    return { state: 'accepted', accepted: { joining, before, flap } };
  }

  private count({ agentId, registeredBy }: Pick<AgentRow, 'agentId' | 'registeredBy'>, change: 1 | -1): void {
    this.owned.add(registeredBy, change);
    this.room.add(namespaceOf(agentId), change);
  }
}
