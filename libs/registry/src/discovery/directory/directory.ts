import { DESIRED_STATES, type HealthState } from '../../agents/agent.record.js';
import { type Budget, DEFAULT_LOW_BUDGET, type LowBudgetPolicy } from '../../budgets/budget.js';
import type { CircuitPhase, CircuitState } from '../../circuit/circuit.breaker.js';
import { DEFAULT_LEASE_POLICY, suspectAfterMs } from '../../leases/lease.policy.js';
import { CapabilityAliases } from '../capabilities/capability.aliases.js';
import { CapabilityIndex } from '../capabilities/capability.index.js';
import { assess, type Assessment } from '../ranking/assessment.js';
import {
  beatOf,
  type CallHistory,
  type DirectoryEntry,
  historyIn,
  isNewer,
  isSameAsBefore,
  type Revision,
  type Vitals,
  vitalsIn,
  withBudgets,
  withHistory,
  withVitals,
} from './directory.entry.js';
import { Listing } from './listing.js';
import { SilenceWatch } from './silence.watch.js';
import { Timeline } from './timeline.js';

interface Tombstone extends Revision {
  since: number;
}

/**
 * Markers for removed agents, so that a late write does not list them again. A tombstone is kept as long as a write can be late;
 * then it is deleted.
 */
export class Tombstones {
  private readonly byAgent = new Map<string, Tombstone>();

  constructor(private readonly keepMs: number) {}

  get size(): number {
    return this.byAgent.size;
  }

  /** Keeps the newer revision if the agent has a tombstone already. */
  put(agentId: string, removal: Revision, now: number): void {
    const known = this.byAgent.get(agentId);
    const { generation, revision } = known && isNewer(known, removal) ? known : removal;
    this.byAgent.delete(agentId); // inserted again at the end, so that the oldest come first
    this.byAgent.set(agentId, { generation, revision, since: now });
    this.dropOld(now);
  }

  /** Whether this write is from before the removal. */
  covers(agentId: string, write: Revision): boolean {
    const tombstone = this.byAgent.get(agentId);
    return tombstone !== undefined && !isNewer(write, tombstone);
  }

  delete(agentId: string): void {
    this.byAgent.delete(agentId);
  }

  private dropOld(now: number): void {
    for (const [agentId, { since }] of this.byAgent) {
      if (since + this.keepMs > now) return;
      this.byAgent.delete(agentId);
    }
  }
}

const HEALTH: readonly HealthState[] = ['active', 'suspect'];
const PHASES: readonly CircuitPhase[] = ['closed', 'open', 'half_open'];

/** The number of live agents by status and health, and of their circuits by phase. Every combination has a number. */
class Census {
  readonly circuits = new Map<string, number>(PHASES.map((phase) => [phase, 0]));
  /** Agents with a budget that is low or exhausted. */
  lowBudget = 0;
  private readonly byState = new Map<string, number>();

  constructor() {
    for (const health of HEALTH)
      for (const desired of DESIRED_STATES)
        this.byState.set(stateOf(desired === 'active' ? health : desired, health), 0);
  }

  add({ record: { status, health }, lowBudget }: Assessment): void {
    if (lowBudget) this.lowBudget += 1;
    const state = stateOf(status, health.state ?? 'active');
    this.byState.set(state, (this.byState.get(state) ?? 0) + 1);
    const { circuitBreakerState } = health;
    this.circuits.set(circuitBreakerState, (this.circuits.get(circuitBreakerState) ?? 0) + 1);
  }

  agents(): { status: string; health: string; count: number }[] {
    return [...this.byState].map(([state, count]) => {
      const [status = '', health = ''] = state.split(' ');
      return { status, health, count };
    });
  }
}

function stateOf(status: string, health: string): string {
  return `${status} ${health}`;
}

export interface DirectoryOptions {
  aliases?: CapabilityAliases;
  lowBudget?: LowBudgetPolicy;
  /** How late a write may arrive and still be recognised as older than the removal of its agent. */
  tombstoneMs?: number;
  /** How long after its last heartbeat an agent is silent. */
  silentAfterMs?: number;
}

/** `agentId` is the qualified id. `routable`: a query may return it. */
export type LabelledAgent = Pick<Assessment, 'agentId' | 'record' | 'routable'>;

const DEFAULT_TOMBSTONE_MS = 600_000;

/**
 * The live agents that one replica knows, in memory, with an index for queries. Writes may arrive twice, late and in any order:
 * the newest write of an agent wins, and a removal overrides all earlier writes. Some changes happen without a write: a
 * cool-down ends, or the exclusion of a flapping agent ends. `advance` applies them; it runs before every query.
 */
export class Directory {
  readonly aliases: CapabilityAliases;
  /** By namespace: a query never reads the agents of another namespace. */
  private readonly indexes = new Map<string, CapabilityIndex>();
  private readonly listings = new Map<string, Listing>();
  private readonly timeline = new Timeline<Listing>();
  private readonly tombstones: Tombstones;
  private readonly silence: SilenceWatch;
  private readonly lowBudget: LowBudgetPolicy;
  private changes = 0;
  private clock = -Infinity;

  constructor(options: DirectoryOptions = {}) {
    this.aliases = options.aliases ?? new CapabilityAliases();
    this.lowBudget = options.lowBudget ?? DEFAULT_LOW_BUDGET;
    this.tombstones = new Tombstones(options.tombstoneMs ?? DEFAULT_TOMBSTONE_MS);
    this.silence = new SilenceWatch(options.silentAfterMs ?? suspectAfterMs(DEFAULT_LEASE_POLICY));
  }

  get size(): number {
    return this.listings.size;
  }

  find(agentId: string): DirectoryEntry | undefined {
    return this.listings.get(agentId)?.current();
  }

  /** `agentId` is the qualified id. */
  listingOf(agentId: string): Listing | undefined {
    return this.listings.get(agentId);
  }

  /** The last known state of the agent's circuit; undefined if the agent is not listed. */
  circuitOf(agentId: string): CircuitState | undefined {
    return this.listings.get(agentId)?.entry.circuit;
  }

  /** The index of a namespace. It is empty if no agent of the namespace is listed. */
  indexOf(namespace: string): CapabilityIndex {
    return this.indexes.get(namespace) ?? new CapabilityIndex();
  }

  /** The agents with this label, by qualified id, as they are at this time. */
  labelled(key: string, value: string, now: number): LabelledAgent[] {
    this.advance(now);
    const found: LabelledAgent[] = [];
    for (const { agentId, assessment } of this.listings.values()) {
      const { record, routable } = assessment;
      if (record.labels[key] === value) found.push({ agentId, record, routable });
    }
    return found.toSorted((one, other) => (one.agentId < other.agentId ? -1 : 1));
  }

  /** Counts the listed agents of a namespace, or of all, by status, health and phase of their circuit. */
  census(now: number, namespace?: string): Census {
    this.advance(now);
    const census = new Census();
    for (const { assessment } of this.listings.values())
      if (namespace === undefined || assessment.record.namespace === namespace) census.add(assessment);
    return census;
  }

  /**
   * The agents that no known heartbeat has renewed for so long that they are silent, and those that Postgres has marked as suspect. Heartbeats
   * that other replicas committed may still be unknown here, so the result can contain agents that are not silent; it omits none that is.
   */
  silentAt(now: number): string[] {
    const silent = this.silence.silentAt(now, (listing) => this.listings.get(listing.agentId) === listing);
    return Array.from(silent, ({ agentId }) => agentId);
  }

  /** The last write that is applied; undefined if the agent is not listed. */
  revisionOf(agentId: string): Revision | undefined {
    const listing = this.listings.get(agentId);
    return listing && revisionOf(listing.entry);
  }

  /** Returns whether the directory changed. */
  upsert(entry: DirectoryEntry, now: number): boolean {
    const { agentId } = entry;
    const write = revisionOf(entry);
    const listing = this.listings.get(agentId);
    if (listing ? !isNewer(write, revisionOf(listing.entry)) : this.tombstones.covers(agentId, write)) return false;
    const at = this.advance(now);
    if (listing) {
      listing.isMarkedSuspect = isSuspect(entry);
      this.update(listing, withLaterChanges(entry, listing.current()), at);
    } else this.list(entry, at);
    return true;
  }

  /**
   * Applies an agent as read from Postgres. Heartbeats, calls and the ledger do not change its revision, so they are applied
   * even if the record is not newer.
   */
  apply(entry: DirectoryEntry, now: number): boolean {
    if (this.upsert(entry, now)) return true;
    const hasBeaten = this.beat(entry.agentId, vitalsIn(entry), now);
    const wasCalled = this.recordCalls(entry.agentId, historyIn(entry), now);
    return this.charge(entry.agentId, entry.budgets ?? [], now) || hasBeaten || wasCalled;
  }

  /** Applies a heartbeat. It never lists an agent; a heartbeat of another generation or older than the last is ignored. */
  beat(agentId: string, vitals: Vitals, now: number): boolean {
    const listing = this.listings.get(agentId);
    if (!listing || listing.entry.record.generation !== vitals.generation) return false;
    if (vitals.beatAt <= listing.beatAt) return false;
    const at = this.advance(now);
    if (isSameAsBefore(listing.entry, vitals)) this.recordBeat(listing, vitals.beatAt);
    else this.update(listing, withVitals(listing.entry, vitals), at);
    return true;
  }

  /** Applies the ledger's state of an agent's budgets. It never lists an agent; stale budget versions are ignored. */
  charge(agentId: string, budgets: readonly Budget[], now: number): boolean {
    const listing = this.listings.get(agentId);
    const known = listing?.current();
    const entry = known && withBudgets(known, budgets);
    if (!listing || !entry || entry === known) return false;
    this.update(listing, entry, this.advance(now));
    return true;
  }

  /** Applies the circuit of an agent and the statistics of its calls. It never lists an agent; an outdated history is ignored. */
  recordCalls(agentId: string, history: CallHistory, now: number): boolean {
    const listing = this.listings.get(agentId);
    const known = listing?.current();
    const entry = known && withHistory(known, history);
    if (!listing || !entry || entry === known) return false;
    this.update(listing, entry, this.advance(now));
    return true;
  }

  /** Returns whether an agent was removed. A removal older than the agent's last write is ignored. */
  remove(agentId: string, write: Revision, now: number): boolean {
    const listing = this.listings.get(agentId);
    if (listing && isNewer(revisionOf(listing.entry), write)) return false;
    this.tombstones.put(agentId, write, this.advance(now));
    if (!listing) return false;
    this.unlist(listing);
    return true;
  }

  /** The current value of the change counter. Read it before a snapshot, so that `replaceAll` can keep newer writes. */
  mark(): number {
    return this.changes;
  }

  /** Applies a whole snapshot. Removes agents that are not in it, unless they were written here after the mark. */
  replaceAll(entries: Iterable<DirectoryEntry>, mark: number, now: number): void {
    const present = new Set<string>();
    for (const entry of entries) {
      present.add(entry.agentId);
      this.apply(entry, now);
    }
    for (const [agentId, listing] of this.listings) {
      if (present.has(agentId) || listing.changedAt > mark) continue;
      this.tombstones.put(agentId, revisionOf(listing.entry), now);
      this.unlist(listing);
    }
  }

  /** Advances the time of the directory to `now`, reassesses agents whose assessment has expired, and returns the time. */
  advance(now: number): number {
    if (now > this.clock) this.clock = now;
    if (this.timeline.nextAt <= this.clock) this.catchUp();
    return this.clock;
  }

  /** Handles a database clock that was set back: reassesses all agents, and accepts heartbeats with the earlier time. */
  stepBack(now: number): void {
    this.clock = now;
    for (const listing of this.listings.values()) {
      listing.recordBeat(Math.min(listing.beatAt, now));
      listing.dueAt = Infinity;
      this.reassess(listing, now);
      this.schedule(listing);
    }
    this.silence.reset(this.listings.values());
  }

  private catchUp(): void {
    const due = [...this.timeline.takeAll(this.clock)].filter(
      (listing) => this.listings.get(listing.agentId) === listing,
    );
    for (const listing of due) {
      listing.dueAt = Infinity;
      if (listing.assessment.validUntil <= this.clock) this.reassess(listing, this.clock);
      this.schedule(listing);
    }
  }

  private list(entry: DirectoryEntry, now: number, isMarkedSuspect = isSuspect(entry)): void {
    const { agentId, record } = entry;
    const assessment = assess(entry, now, this.lowBudget);
    const listing = new Listing(entry, this.aliases.resolveAll(record.capabilities), assessment, (this.changes += 1));
    this.listings.set(agentId, listing);
    this.tombstones.delete(agentId);
    listing.isMarkedSuspect = isMarkedSuspect;
    this.silence.add(listing);
    const { namespace } = record;
    const index = this.indexOf(namespace);
    this.indexes.set(namespace, index);
    index.add(listing);
    this.schedule(listing);
  }

  private unlist(listing: Listing): void {
    this.changes += 1;
    const { namespace } = listing.entry.record;
    const index = this.indexOf(namespace);
    index.remove(listing);
    if (index.isEmpty) this.indexes.delete(namespace);
    this.listings.delete(listing.agentId);
  }

  private update(listing: Listing, entry: DirectoryEntry, now: number): void {
    const isSame = listing.entry.record.capabilities === entry.record.capabilities;
    const capabilities = isSame ? listing.capabilities : this.aliases.resolveAll(entry.record.capabilities);
    if (capabilities !== listing.capabilities && capabilities.join() !== listing.capabilities.join()) {
      this.unlist(listing);
      this.list(entry, now, listing.isMarkedSuspect);
      return;
    }
    listing.rewrite(entry);
    listing.changedAt = this.changes += 1;
    this.silence.add(listing);
    this.reassess(listing, now);
    this.schedule(listing);
  }

  /** The fast path for a heartbeat that does not affect the ranking. Thousands of these arrive per second. */
  private recordBeat(listing: Listing, beatAt: number): void {
    listing.recordBeat(beatAt);
    listing.changedAt = this.changes += 1;
  }

  private reassess(listing: Listing, now: number): void {
    this.indexOf(listing.entry.record.namespace).reassess(listing, assess(listing.entry, now, this.lowBudget));
  }

  /** Schedules the next reassessment, unless an earlier one is scheduled. The earlier one then schedules the next. */
  private schedule(listing: Listing): void {
    const at = listing.assessment.validUntil;
    if (at >= listing.dueAt) return;
    listing.dueAt = at;
    this.timeline.add(at, listing);
  }
}

function isSuspect({ record }: DirectoryEntry): boolean {
  return record.health.state === 'suspect';
}

function revisionOf({ record, revision }: DirectoryEntry): Revision {
  return { generation: record.generation, revision };
}

/** Keeps the later heartbeat, calls and budgets, because the record may have been read before they were applied. */
function withLaterChanges(entry: DirectoryEntry, known: DirectoryEntry): DirectoryEntry {
  return withBudgets(withHistory(withLaterBeat(entry, known), historyIn(known)), known.budgets ?? []);
}

function withLaterBeat(entry: DirectoryEntry, known: DirectoryEntry): DirectoryEntry {
  if (entry.record.generation !== known.record.generation || beatOf(entry) >= beatOf(known)) return entry;
  return withVitals(entry, vitalsIn(known));
}
