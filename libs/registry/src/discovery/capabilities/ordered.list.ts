import type { Assessment } from '../ranking/assessment.js';
import type { Listing } from '../directory/listing.js';
import type { SelectionStrategy } from '../ranking/strategies.js';

/** Compares by standing, then by the strategy. Returns 0 for agents of equal rank. */
export function compareRank(strategy: SelectionStrategy, one: Assessment, other: Assessment): number {
  return one.standing - other.standing || strategy.compare(one, other);
}

export function compareIds(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/** A place in an order, valid until the order changes. */
export interface Place {
  chunk: number;
  offset: number;
}

/** An order consists of short arrays, because inserting into a long array is slow. */
const MAX_CHUNK = 256;
/** If more than this many members must move, and they are more than a quarter of all members, sorting again is faster. */
const MAX_MOVES = 64;

/**
 * The routable agents of one bucket in the order of one strategy. The list is kept between queries: the best k agents are the first k.
 * It records changes when they happen and applies them when a query reads it. An agent that sends ten heartbeats between two queries
 * moves only once, and an order that no query reads costs almost nothing.
 */
export class OrderedList {
  /** No chunk is empty. Undefined before the first read and after too many moves. */
  private chunks: Listing[][] | undefined;
  private length = 0;
  /** The listings to move. The value is the assessment by which a listing is sorted now; undefined if it is not in the order. */
  private readonly moves = new Map<Listing, Assessment | undefined>();

  constructor(
    readonly strategy: SelectionStrategy,
    private readonly members: ReadonlySet<Listing>,
  ) {}

  /** Records that a member joined, left or changed its rank. `before` is its former assessment, if it was routable. */
  noteMove(listing: Listing, before: Assessment | undefined): void {
    if (!this.chunks || this.moves.has(listing)) return;
    this.moves.set(listing, before);
    if (this.moves.size > MAX_MOVES && this.moves.size * 4 > this.length) this.reset();
  }

  /** Applies the recorded moves. It must run before the order is read. */
  settle(): void {
    if (!this.chunks) this.sort();
    else if (this.moves.size > 0) for (const [listing, before] of this.moves) this.move(this.chunks, listing, before);
  }

  at({ chunk, offset }: Place): Listing | undefined {
    return this.chunks?.[chunk]?.[offset];
  }

  /** Advances a place by one. */
  step(place: Place): void {
    place.offset += 1;
    if (this.at(place)) return;
    place.chunk += 1;
    place.offset = 0;
  }

  /** Binary search: returns the first place for which the condition is true. The condition must be true for all later places. */
  seek(holds: (item: Listing) => boolean): Place {
    const chunks = this.chunks ?? [];
    const chunk = firstIndex(chunks, (items) => holds(items[items.length - 1]));
    return { chunk, offset: chunk < chunks.length ? firstIndex(chunks[chunk], holds) : 0 };
  }

  /** Discards the order; the next read sorts all members. */
  private reset(): void {
    this.chunks = undefined;
    this.moves.clear();
  }

  private sort(): void {
    const sorted = [...this.members].filter(belongs).toSorted((one, other) => this.compare(one, other.assessment));
    const half = MAX_CHUNK / 2; // room to grow
    this.chunks = [];
    this.length = sorted.length;
    for (let at = 0; at < sorted.length; at += half) this.chunks.push(sorted.slice(at, at + half));
  }

  private move(chunks: Listing[][], listing: Listing, before: Assessment | undefined): void {
    const after = this.members.has(listing) && belongs(listing) ? listing.assessment : undefined;
    const stays = before && after && compareRank(this.strategy, before, after) === 0;
    if (before && !stays) this.extract(chunks, this.placeOf(before));
    this.moves.delete(listing);
    if (after && !stays) this.insert(chunks, this.placeOf(after), listing);
  }

  private extract(chunks: Listing[][], { chunk, offset }: Place): void {
    this.length -= 1;
    chunks[chunk].splice(offset, 1);
    if (chunks[chunk].length === 0) chunks.splice(chunk, 1);
  }

  private insert(chunks: Listing[][], { chunk, offset }: Place, listing: Listing): void {
    this.length += 1;
    if (chunk === chunks.length) chunks.push([]);
    const items = chunks[chunk];
    items.splice(offset, 0, listing);
    if (items.length > MAX_CHUNK) chunks.splice(chunk + 1, 0, items.splice(MAX_CHUNK / 2));
  }

  private placeOf(assessment: Assessment): Place {
    return this.seek((item) => this.compare(item, assessment) >= 0);
  }

  /** A listing with a recorded move is still sorted by its former assessment. */
  private compare(item: Listing, other: Assessment): number {
    const sortedBy = (this.moves.size > 0 ? this.moves.get(item) : undefined) ?? item.assessment;
    return compareRank(this.strategy, sortedBy, other) || compareIds(sortedBy.agentId, other.agentId);
  }
}

function belongs({ assessment }: Listing): boolean {
  return assessment.routable;
}

function firstIndex<T>(items: readonly T[], holds: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(items[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}
