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
/** Above this many moves, and a quarter of all, sorting again is less work. */
const MOST_MOVES = 64;

/**
 * The routable agents of one posting in the order of one strategy, kept from query to query, so that the best k are simply
 * the first k. Changes are noted when they happen and made when someone reads: an agent that beats ten times between two
 * queries moves once, and orders that nobody reads cost next to nothing. `version` changes when something changes that was
 * read, and only then: what happens beyond the deepest place ever read leaves remembered answers valid.
 */
export class OrderedList {
  /** Settle before comparing it. */
  version = 0;
  /** None of them is empty. Undefined until someone reads, and again after too many moves. */
  private chunks: Listing[][] | undefined;
  private length = 0;
  /** Who is to be moved, and what it is sorted by until then; undefined for who is not in the order yet. */
  private readonly moves = new Map<Listing, Assessment | undefined>();
  private readTo = 0;

  constructor(
    readonly strategy: SelectionStrategy,
    private readonly members: ReadonlySet<Listing>,
  ) {}

  /** A member came, went or has another rank; `before` is the assessment it had here, if it was routable. */
  noteMove(listing: Listing, before: Assessment | undefined): void {
    if (!this.chunks || this.moves.has(listing)) return;
    this.moves.set(listing, before);
    if (this.moves.size > MOST_MOVES && this.moves.size * 4 > this.length) this.forget();
  }

  /** Something that was read has other content now, in the same place. */
  invalidate(): void {
    this.version += 1;
    this.readTo = 0;
  }

  /** How many places have been read, from the first. The end is a place too: who saw it depends on nobody coming there. */
  noteRead(count: number): void {
    if (count > this.readTo) this.readTo = count;
  }

  /** Makes all noted moves. To be called before reading, and before trusting the version. */
  settle(): void {
    if (!this.chunks) this.sort();
    else if (this.moves.size > 0) for (const [listing, before] of this.moves) this.move(this.chunks, listing, before);
  }

  forget(): void {
    this.chunks = undefined;
    this.moves.clear();
    this.invalidate();
  }

  at({ chunk, offset }: Place): Listing | undefined {
    return this.chunks?.[chunk]?.[offset];
  }

  /** Moves a place one further. */
  step(place: Place): void {
    place.offset += 1;
    if (this.at(place)) return;
    place.chunk += 1;
    place.offset = 0;
  }

  /** The first place for which the condition holds, given that it holds for all after it. */
  seek(holds: (item: Listing) => boolean): Place {
    const chunks = this.chunks ?? [];
    const chunk = firstIndex(chunks, (items) => holds(items[items.length - 1]));
    return { chunk, offset: chunk < chunks.length ? firstIndex(chunks[chunk], holds) : 0 };
  }

  private sort(): void {
    const sorted = [...this.members].filter(belongs).toSorted((one, other) => this.compare(one, other.assessment));
    const half = LONGEST_CHUNK / 2; // room to grow
    this.chunks = [];
    this.length = sorted.length;
    for (let at = 0; at < sorted.length; at += half) this.chunks.push(sorted.slice(at, at + half));
  }

  private move(chunks: Listing[][], listing: Listing, before: Assessment | undefined): void {
    const after = this.members.has(listing) && belongs(listing) ? listing.assessment : undefined;
    const stays = before && after && compareRank(this.strategy, before, after) === 0;
    if (before && !stays) this.take(chunks, this.placeOf(before));
    this.moves.delete(listing);
    if (after && !stays) this.put(chunks, this.placeOf(after), listing);
  }

  private take(chunks: Listing[][], { chunk, offset }: Place): void {
    this.noteChange(chunks, chunk, offset);
    this.length -= 1;
    chunks[chunk].splice(offset, 1);
    if (chunks[chunk].length === 0) chunks.splice(chunk, 1);
  }

  private put(chunks: Listing[][], { chunk, offset }: Place, listing: Listing): void {
    this.noteChange(chunks, chunk, offset);
    this.length += 1;
    if (chunk === chunks.length) chunks.push([]);
    const items = chunks[chunk];
    items.splice(offset, 0, listing);
    if (items.length > LONGEST_CHUNK) chunks.splice(chunk + 1, 0, items.splice(LONGEST_CHUNK / 2));
  }

  private noteChange(chunks: Listing[][], chunk: number, offset: number): void {
    let before = offset;
    for (let at = 0; at < chunk && before < this.readTo; at += 1) before += chunks[at].length;
    if (before < this.readTo) this.invalidate();
  }

  private placeOf(assessment: Assessment): Place {
    return this.seek((item) => this.compare(item, assessment) >= 0);
  }

  /** Who is still to be moved stands where its former assessment put it. */
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
