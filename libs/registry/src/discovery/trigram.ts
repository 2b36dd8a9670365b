const SHORTEST = 3;

/** The runs of three letters of each word, padded as pg_trgm pads them, so that beginnings weigh more than endings. */
export function trigrams(text: string): Set<string> {
  const found = new Set<string>();
  for (const word of text.toLowerCase().split(/[^\p{L}\p{N}]+/u)) {
    if (word === '') continue;
    const padded = `  ${word} `;
    for (let at = 0; at + SHORTEST <= padded.length; at += 1) found.add(padded.slice(at, at + SHORTEST));
  }
  return found;
}

/** What two texts share, from 0 (nothing) to 1 (the same words). */
export function similarity(one: string, other: string): number {
  const mine = trigrams(one);
  const theirs = trigrams(other);
  const shared = [...mine].filter((trigram) => theirs.has(trigram)).length;
  const all = mine.size + theirs.size - shared;
  return all === 0 ? 0 : shared / all;
}

/** As in pg_trgm: less than this is coincidence. */
export const SIMILAR_ENOUGH = 0.3;

/** The most similar words of a vocabulary, best first, then by name. */
export function mostSimilar(asked: string, vocabulary: Iterable<string>, most = 10): string[] {
  const scored: { word: string; score: number }[] = [];
  for (const word of vocabulary) {
    const score = similarity(asked, word);
    if (score >= SIMILAR_ENOUGH) scored.push({ word, score });
  }
  scored.sort((a, b) => b.score - a.score || (a.word < b.word ? -1 : 1));
  return scored.slice(0, most).map(({ word }) => word);
}
