const TRIGRAM_LENGTH = 3;

/** Returns all sequences of three characters of each word, padded as in pg_trgm, so that the start of a word has more weight. */
function trigrams(text: string): Set<string> {
  const found = new Set<string>();
  for (const word of text.toLowerCase().split(/[^\p{L}\p{N}]+/u)) {
    if (word === '') continue;
    const padded = `  ${word} `;
    for (let at = 0; at + TRIGRAM_LENGTH <= padded.length; at += 1) found.add(padded.slice(at, at + TRIGRAM_LENGTH));
  }
  return found;
}

/** The share of common trigrams of two texts, from 0 (none) to 1 (all). */
export function similarity(one: string, other: string): number {
  const mine = trigrams(one);
  const theirs = trigrams(other);
  const shared = [...mine].filter((trigram) => theirs.has(trigram)).length;
  const all = mine.size + theirs.size - shared;
  return all === 0 ? 0 : shared / all;
}

/** The similarity threshold, the same as the default of pg_trgm. */
const SIMILAR_ENOUGH = 0.3;

/** The most similar words of a vocabulary, best first, then by name. */
export function mostSimilar(text: string, vocabulary: Iterable<string>, limit = 10): string[] {
  const scored: { word: string; score: number }[] = [];
  for (const word of vocabulary) {
    const score = similarity(text, word);
    if (score >= SIMILAR_ENOUGH) scored.push({ word, score });
  }
  scored.sort((a, b) => b.score - a.score || (a.word < b.word ? -1 : 1));
  return scored.slice(0, limit).map(({ word }) => word);
}

/**
 * An index from trigrams to words, like that of pg_trgm. A search reads only words that share a trigram with the given word. It
 * returns the same words as `mostSimilar`, which compares all words.
 */
export class TrigramIndex {
  private readonly words = new Map<string, Set<string>>();
  /** The number of trigrams of each word. */
  private readonly sizes = new Map<string, number>();

  constructor(words: Iterable<string> = []) {
    for (const word of words) this.add(word);
  }

  add(word: string): void {
    const own = trigrams(word);
    this.sizes.set(word, own.size);
    for (const trigram of own) {
      const sharing = this.words.get(trigram);
      if (sharing) sharing.add(word);
      else this.words.set(trigram, new Set([word]));
    }
  }

  remove(word: string): void {
    this.sizes.delete(word);
    for (const trigram of trigrams(word)) {
      const sharing = this.words.get(trigram);
      sharing?.delete(word);
      if (sharing?.size === 0) this.words.delete(trigram);
    }
  }

  /** Best first, then by name. */
  mostSimilar(text: string, limit = 10): string[] {
    const mine = trigrams(text);
    const scored: { word: string; score: number }[] = [];
    for (const [word, shared] of this.sharedWith(mine)) {
      const score = shared / (mine.size + (this.sizes.get(word) ?? 0) - shared);
      if (score >= SIMILAR_ENOUGH) scored.push({ word, score });
    }
    scored.sort((a, b) => b.score - a.score || (a.word < b.word ? -1 : 1));
    return scored.slice(0, limit).map(({ word }) => word);
  }

  /** The words that share any of these trigrams, each with the number of shared trigrams. */
  private sharedWith(mine: ReadonlySet<string>): Map<string, number> {
    const shared = new Map<string, number>();
    for (const trigram of mine) {
      for (const word of this.words.get(trigram) ?? []) shared.set(word, (shared.get(word) ?? 0) + 1);
    }
    return shared;
  }
}
