import type { Budget } from '../budgets/budget.js';
import { assess } from './assessment.js';
import { CapabilityAliases } from './capability.aliases.js';
import { CapabilityIndex } from './capability.index.js';
import {
  beatOf,
  isNewer,
  isSameAsBefore,
  vitalsIn,
  withBudgets,
  withVitals,
  type DirectoryEntry,
  type Revision,
  type Vitals,
} from './directory.entry.js';
import { Fences } from './fences.js';
import { Listing } from './listing.js';
import { USUAL_LOW_BUDGET, type LowBudgetPolicy } from './routability.js';
import { Timeline } from './timeline.js';

export interface DirectoryOptions {
  aliases?: CapabilityAliases;
  lowBudget?: LowBudgetPolicy;
  /** How late news may arrive and still be recognised as old. */
  fenceMs?: number;
}

const USUAL_FENCE_MS = 600_000;

/**
 * The live agents as one replica knows them, in memory, in a shape that answers queries without scanning. News may come
 * twice, late and in any order: the newest write of an agent wins, and a removal is final for all that was written before
 * it. What time alone changes (a circuit that cools down, a silent agent) is put right by `advance`, before every query.
 */
export class Directory {
  readonly index = new CapabilityIndex();
  readonly aliases: CapabilityAliases;
  private readonly listings = new Map<string, Listing>();
  private readonly timeline = new Timeline<Listing>();
  private readonly fences: Fences;
  private readonly lowBudget: LowBudgetPolicy;
  private changes = 0;
  private clock = -Infinity;

  constructor(options: DirectoryOptions = {}) {
    this.aliases = options.aliases ?? new CapabilityAliases();
    this.lowBudget = options.lowBudget ?? USUAL_LOW_BUDGET;
    this.fences = new Fences(options.fenceMs ?? USUAL_FENCE_MS);
  }

  get size(): number {
    return this.listings.size;
  }

  find(agentId: string): DirectoryEntry | undefined {
    return this.listings.get(agentId)?.current();
  }

  /** Answers whether it was news. */
  upsert(entry: DirectoryEntry, now: number): boolean {
    const { agentId } = entry.record;
    const write = revisionOf(entry);
    const listing = this.listings.get(agentId);
    if (listing ? !isNewer(write, revisionOf(listing.entry)) : this.fences.stops(agentId, write)) return false;
    const at = this.advance(now);
    if (listing) this.update(listing, withLaterNews(entry, listing.current()), at);
    else this.list(entry, at);
    return true;
  }

  /** What was read of an agent. Beats and the ledger write past the record: when that is no news, they may be. */
  take(entry: DirectoryEntry, now: number): boolean {
    if (this.upsert(entry, now)) return true;
    const heard = this.beat(entry.record.agentId, vitalsIn(entry), now);
    return this.charge(entry.record.agentId, entry.budgets ?? [], now) || heard;
  }

  /** A heartbeat of this generation. Never lists anyone; an older beat than the last one is no news. */
  beat(agentId: string, vitals: Vitals, now: number): boolean {
    const listing = this.listings.get(agentId);
    if (!listing || listing.entry.record.generation !== vitals.generation) return false;
    if (vitals.beatAt <= listing.beatAt) return false;
    const at = this.advance(now);
    if (isSameAsBefore(listing.entry, vitals)) this.recordBeat(listing, vitals.beatAt);
    else this.update(listing, withVitals(listing.entry, vitals), at);
    return true;
  }

  /** What the ledger says of an agent's budgets. Never lists anyone; an older word on a budget than the last is no news. */
  charge(agentId: string, budgets: readonly Budget[], now: number): boolean {
    const listing = this.listings.get(agentId);
    const known = listing?.current();
    const entry = known && withBudgets(known, budgets);
    if (!listing || !entry || entry === known) return false;
    this.update(listing, entry, this.advance(now));
    return true;
  }

  /** Answers whether someone was taken off the list. A removal from before the agent's last write is no news. */
  remove(agentId: string, write: Revision, now: number): boolean {
    const listing = this.listings.get(agentId);
    if (listing && isNewer(revisionOf(listing.entry), write)) return false;
    this.fences.put(agentId, write, this.advance(now));
    if (!listing) return false;
    this.unlist(listing);
    return true;
  }

  /** To be taken before a snapshot is read, so that `replaceAll` can tell what is newer than the snapshot. */
  mark(): number {
    return this.changes;
  }

  /** Takes in a whole snapshot. Who is not in it is gone, unless it was written here after the mark. */
  replaceAll(entries: Iterable<DirectoryEntry>, mark: number, now: number): void {
    const present = new Set<string>();
    for (const entry of entries) {
      present.add(entry.record.agentId);
      this.take(entry, now);
    }
    for (const [agentId, listing] of this.listings) {
      if (present.has(agentId) || listing.changedAt > mark) continue;
      this.fences.put(agentId, revisionOf(listing.entry), now);
      this.unlist(listing);
    }
  }

  /** Brings everyone to this moment, and answers the moment: never one before the last, unless `stepBack` was called. */
  advance(now: number): number {
    if (now > this.clock) this.clock = now;
    if (this.timeline.nextAt <= this.clock) this.catchUp();
    return this.clock;
  }

  /** The database's clock went back: what was judged by the later time is judged again, and new beats count. */
  stepBack(now: number): void {
    this.clock = now;
    for (const listing of this.listings.values()) {
      listing.recordBeat(Math.min(listing.beatAt, now));
      listing.dueAt = Infinity;
      this.reassess(listing, now);
      this.schedule(listing);
    }
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

  private list(entry: DirectoryEntry, now: number): void {
    const { agentId, capabilities } = entry.record;
    const assessment = assess(entry, now, this.lowBudget);
    const listing = new Listing(entry, this.aliases.resolveAll(capabilities), assessment, (this.changes += 1));
    this.listings.set(agentId, listing);
    this.fences.lift(agentId);
    this.index.add(listing);
    this.schedule(listing);
  }

  private unlist(listing: Listing): void {
    this.changes += 1;
    this.index.remove(listing);
    this.listings.delete(listing.agentId);
  }

  private update(listing: Listing, entry: DirectoryEntry, now: number): void {
    const sameClaims = listing.entry.record.capabilities === entry.record.capabilities;
    const claims = sameClaims ? listing.claims : this.aliases.resolveAll(entry.record.capabilities);
    if (claims !== listing.claims && claims.join() !== listing.claims.join()) {
      this.unlist(listing);
      this.list(entry, now);
      return;
    }
    listing.rewrite(entry);
    listing.changedAt = this.changes += 1;
    this.reassess(listing, now);
    this.schedule(listing);
  }

  /** The short path for a beat that does not affect the ranking: there are thousands of these a second. */
  private recordBeat(listing: Listing, beatAt: number): void {
    listing.recordBeat(beatAt);
    listing.changedAt = this.changes += 1;
  }

  private reassess(listing: Listing, now: number): void {
    this.index.reassess(listing, assess(listing.entry, now, this.lowBudget));
  }

  /** One place in the timeline for each agent: a date that moved back is noticed when the early one comes. */
  private schedule(listing: Listing): void {
    const at = listing.assessment.validUntil;
    if (at >= listing.dueAt) return;
    listing.dueAt = at;
    this.timeline.add(at, listing);
  }
}

function revisionOf({ record, revision }: DirectoryEntry): Revision {
  return { generation: record.generation, revision };
}

/** A write to the record may have been read before the last beat or charge was: what we heard of those stays. */
function withLaterNews(entry: DirectoryEntry, known: DirectoryEntry): DirectoryEntry {
  return withBudgets(withLaterBeat(entry, known), known.budgets ?? []);
}

function withLaterBeat(entry: DirectoryEntry, known: DirectoryEntry): DirectoryEntry {
  if (entry.record.generation !== known.record.generation || beatOf(entry) >= beatOf(known)) return entry;
  return withVitals(entry, vitalsIn(known));
}
