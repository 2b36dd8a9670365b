const TRIGRAM_LENGTH = 3;

/** Returns all sequences of three characters of each word, padded as in pg_trgm, so that the start of a word has more weight. */
export function trigrams(text: string): Set<string> {
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
export const SIMILAR_ENOUGH = 0.3;

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
