import type { Assessment } from './assessment.js';
import type { Listing } from './listing.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';

/** Standing, then the strategy. Zero for those who would take turns. */
export function compareRank(strategy: SelectionStrategy, one: Assessment, other: Assessment): number {
  return one.standing - other.standing || strategy.compare(one, other);
}

export function compareIds(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/** A place in an order, good until the order changes. */
export interface Place {
  chunk: number;
  offset: number;
}

/** Long arrays are slow to insert into, so an order is many short ones. */
const LONGEST_CHUNK = 256;

/**
 * The routable agents of one posting in the order of one strategy, kept in order as agents change, so that the best k are
 * simply the first k. `version` changes when something changes that a ranking has looked at, and only then: what happens
 * beyond the deepest place ever read leaves remembered answers valid.
 */
export class OrderedList {
  version = 0;
  /** None of them is empty. */
  private readonly chunks: Listing[][] = [];
  private readTo = 0;

  constructor(
    readonly strategy: SelectionStrategy,
    members: Iterable<Listing>,
  ) {
    const routable = [...members].filter(({ assessment }) => assessment.routable);
    const sorted = routable.toSorted((one, other) => this.compare(one, other));
    const half = LONGEST_CHUNK / 2; // room to grow
    for (let at = 0; at < sorted.length; at += half) this.chunks.push(sorted.slice(at, at + half));
  }

  insert(listing: Listing): void {
    const { chunk, offset } = this.placeOf(listing);
    if (chunk < this.chunks.length) this.chunks[chunk].splice(offset, 0, listing);
    else this.append(listing);
    this.noteChange(chunk, offset);
    const grown = this.chunks[chunk];
    if (grown && grown.length > LONGEST_CHUNK) this.chunks.splice(chunk + 1, 0, grown.splice(LONGEST_CHUNK / 2));
  }

  /** To be called while the listing still has the assessment it was inserted with. */
  remove(listing: Listing): void {
    const place = this.placeOf(listing);
    if (this.at(place) !== listing) throw new Error(`The order of ${this.strategy.name} lost ${listing.agentId}.`);
    const { chunk, offset } = place;
    this.noteChange(chunk, offset);
    this.chunks[chunk].splice(offset, 1);
    if (this.chunks[chunk].length === 0) this.chunks.splice(chunk, 1);
  }

  at({ chunk, offset }: Place): Listing | undefined {
    return this.chunks[chunk]?.[offset];
  }

  /** Moves a place one further. */
  step(place: Place): void {
    place.offset += 1;
    if (place.offset < this.chunks[place.chunk].length) return;
    place.chunk += 1;
    place.offset = 0;
  }

  /** The first place for which the condition holds, given that it holds for all after it. */
  seek(holds: (item: Listing) => boolean): Place {
    const chunk = firstIndex(this.chunks, (items) => holds(items[items.length - 1]));
    return { chunk, offset: chunk < this.chunks.length ? firstIndex(this.chunks[chunk], holds) : 0 };
  }

  /** Something that was read has other content now, in the same place. */
  invalidate(): void {
    this.version += 1;
    this.readTo = 0;
  }

  /** How many have been read, from the first. Who got to the end passes Infinity: then even one more there matters. */
  noteRead(count: number): void {
    if (count > this.readTo) this.readTo = count;
  }

  private placeOf(listing: Listing): Place {
    return this.seek((item) => this.compare(item, listing) >= 0);
  }

  private compare(one: Listing, other: Listing): number {
    return compareRank(this.strategy, one.assessment, other.assessment) || compareIds(one.agentId, other.agentId);
  }

  private append(listing: Listing): void {
    const last = this.chunks.at(-1);
    if (last && last.length < LONGEST_CHUNK) last.push(listing);
    else this.chunks.push([listing]);
  }

  private noteChange(chunk: number, offset: number): void {
    let before = offset;
    for (let at = 0; at < chunk && before < this.readTo; at += 1) before += this.chunks[at]?.length ?? 0;
    if (before < this.readTo) this.invalidate();
  }
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
