import {
  DEFAULT_NAMESPACE,
  NamespaceFullError,
  NamespaceNotFoundError,
  namespaceOf,
  type Quota,
} from '#rollcall/platform';
import { type FlapPolicy, type FlapState, NEVER_FLAPPED, noteFlap } from '../../leases/flap.damping.js';
import { OwnerCounts } from '../../owner.quota.js';
import { AgentAlreadyRegisteredError, AgentIdReservedError, NotTheOwnerError } from '../agent.errors.js';
import type { AgentRow } from '../agent.store.js';
import type { Registration } from './registration.js';

/** A namespace that exists, and how many live agents it has, not counting the agents of the batch. */
export interface NamespaceCount {
  name: string;
  /** 0 means no limit. */
  limit: number;
  /** 0 if there is no limit. */
  agents: number;
}

/** Checks the namespaces of a batch of registrations: that they exist, and that they are not full. */
class NamespaceRoom {
  private readonly namespaces: Map<string, NamespaceCount>;

  /**
   * `counts` has each existing namespace of the batch. Only the default namespace may be missing: it always exists, so it is not
   * looked up if it has no limit.
   */
  constructor(counts: readonly NamespaceCount[]) {
    this.namespaces = new Map(counts.map((count) => [count.name, { ...count }]));
  }

  /** Returns an error if the namespace does not exist or is full. An agent that replaces a live one is always accepted. */
  error(name: string, replacing: boolean): Error | undefined {
    const namespace = this.namespaces.get(name);
    if (!namespace) return name === DEFAULT_NAMESPACE ? undefined : new NamespaceNotFoundError(name);
    const isFull = namespace.limit > 0 && !replacing && namespace.agents >= namespace.limit;
    return isFull ? new NamespaceFullError('live agents', namespace.limit) : undefined;
  }

  add(name: string, change: 1 | -1): void {
    const namespace = this.namespaces.get(name);
    if (namespace) namespace.agents += change;
  }
}

/** A lease token and its hash. */
export interface IssuedLease {
  leaseToken: string;
  tokenHash: string;
}

/** A registration with its agentId, a new lease token and its capability keys, before it is decided. */
export interface Joining extends IssuedLease {
  agentId: string;
  /** False if the registry generated the agentId, which then has no earlier registration. */
  isProposed: boolean;
  /** The token that proves the right to replace the previous registration. If it is valid, the agent keeps it. */
  previous?: IssuedLease;
  /** Replaces a live registration of the same owner without its token. The new registration gets a new token. */
  takeover: boolean;
  registeredBy: string;
  /** Whether the principal may register agents of other owners again. */
  asOperator: boolean;
  /** Whether the principal may register a reserved agentId. */
  mayUseReserved: boolean;
  /** The principal becomes the owner, even if the agentId belonged to another principal. */
  becomesOwner: boolean;
  facts: Registration;
  /** Every capability by which a query may find the agent. */
  capabilityKeys: readonly string[];
}

export interface Accepted {
  joining: Joining;
  /** The previous registration of this agentId, whose row is locked. */
  before: AgentRow | undefined;
  /** The principal that owns the agent after this registration. */
  owner: string;
  flap: FlapState;
}

/** `contended`: another transaction has locked this agentId. The registration must be decided again after that transaction. */
type Decision =
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
  /** The agentIds of the batch that are reserved. Registrations that may use them are not looked up. */
  reserved: ReadonlySet<string>;
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
    const before = this.rows.get(joining.agentId);
    if (before && !this.facts.locked.has(joining.agentId)) return { state: 'contended' };
    const owner = ownerAfter(joining, before);
    const isLive = before?.leftAt === null;
    const error =
      this.reservedError(joining) ??
      (before && replacementError(joining, before)) ??
      this.room.error(namespaceOf(joining.agentId), isLive) ??
      this.owned.quotaError(owner, isLive && before.registeredBy === owner);
    if (error) return { state: 'rejected', error };
    if (isLive) this.count(before, -1);
    this.count({ agentId: joining.agentId, registeredBy: owner }, 1);
    const flap = before ? noteFlap(before.flap, this.facts.now, this.rules.flap) : NEVER_FLAPPED;
    const keepsToken = before !== undefined && !joining.takeover && holdsToken(joining, before);
    const issued = keepsToken ? { ...joining, ...joining.previous } : joining;
    return { state: 'accepted', accepted: { joining: issued, before, owner, flap } };
  }

  private reservedError({ agentId, mayUseReserved }: Joining): Error | undefined {
    return !mayUseReserved && this.facts.reserved.has(agentId) ? new AgentIdReservedError(agentId) : undefined;
  }

  private count({ agentId, registeredBy }: Pick<AgentRow, 'agentId' | 'registeredBy'>, change: 1 | -1): void {
    this.owned.add(registeredBy, change);
    this.room.add(namespaceOf(agentId), change);
  }
}

/**
 * Returns the reason why the registration may not follow the previous one. The last lease token is always sufficient. The owner
 * and operators need no token after the agent has left; while it is live, they must request a takeover.
 */
function replacementError(joining: Joining, before: AgentRow): Error | undefined {
  const { agentId, registeredBy, asOperator, takeover } = joining;
  if (holdsToken(joining, before)) return undefined;
  const mayTakeOver = asOperator || before.registeredBy === registeredBy;
  if (before.leftAt !== null) return mayTakeOver ? undefined : NotTheOwnerError.ofAgentId(agentId);
  return mayTakeOver && takeover ? undefined : new AgentAlreadyRegisteredError(agentId, mayTakeOver);
}

/** An operator that registers the agent of another owner again does not become its owner, unless Rollcall runs the agent. */
function ownerAfter(joining: Joining, before: AgentRow | undefined): string {
  const { asOperator, becomesOwner, registeredBy } = joining;
  return before && asOperator && !becomesOwner && !holdsToken(joining, before) ? before.registeredBy : registeredBy;
}

function holdsToken({ previous }: Joining, before: AgentRow): boolean {
  return before.tokenHash === previous?.tokenHash;
}
