/** The texts of an agent that a search by free text reads. */
export interface SearchableText {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly string[];
  readonly tags: readonly string[];
}

/** The words of an agent, each with the weight of the best field in which it occurs. */
export type SearchableWords = ReadonlyMap<string, number>;

/** How much a match counts, by the field in which the word occurs. */
const WEIGHTS = { name: 1, capabilities: 1, tags: 0.8, description: 0.6 } as const;
/** For a word that only begins like a word of the agent: `forecasting` for `forecast`, or `deploy` for `deployment`. */
const PREFIX_FACTOR = 0.5;
const MIN_PREFIX_LENGTH = 4;
const FIELDS = ['name', 'capabilities', 'tags', 'description'] as const;
const MAX_WORDS = 32;
/** How many entries of the index one search reads, so that a word with which many words begin costs no more than others. */
const MAX_READ = 200_000;
const MAX_TEXT_LENGTH = 4_096;
const WORD = /[\p{L}\p{N}]+/gu;

/** Words that say nothing about the agent. If a query has no other words, they count. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about agent agents all an and any are as at be by can do find for from get give has have help how i in is it me my need of on or our ' +
    'please show some someone that the there this to tool tools us want we what which who will with you your'
  ).split(' '),
);

/** Splitting takes long, so a caller should keep the words of an agent. */
export function searchableWords(text: SearchableText): SearchableWords {
  const words = new Map<string, number>();
  for (const field of FIELDS) {
    for (const word of [text[field]].flat().flatMap(wordsOf))
      words.set(word, Math.max(WEIGHTS[field], words.get(word) ?? 0));
  }
  return words;
}

/** The words of a text for which somebody searches. */
function queryWords(text: string): string[] {
  const all = [...new Set(wordsOf(text))];
  const telling = all.filter((word) => !STOP_WORDS.has(word));
  return (telling.length > 0 ? telling : all).slice(0, MAX_WORDS);
}

/**
 * An inverted index: it finds the relevance of agents for a free text. The relevance depends on the two texts only, so every replica
 * gives the same scores. A search reads the entries of its words and not the agents, and it reads at most `MAX_READ` of them.
 */
export class TextIndex {
  private readonly documents = new Map<string, SearchableWords>();
  /** The weight of each word in each agent, by word. */
  private readonly entries = new Map<string, Map<string, number>>();
  /** All words in order, so that the words with the same beginning are neighbours. Undefined after a change. */
  private sorted?: readonly string[];

  /** Makes the index contain exactly these agents. Its cost depends on what has changed: unchanged words are the same object as before. */
  update(documents: Iterable<readonly [id: string, words: SearchableWords]>): void {
    const removed = new Set(this.documents.keys());
    for (const [id, words] of documents) {
      removed.delete(id);
      const known = this.documents.get(id);
      if (known === words) continue;
      if (known) this.remove(id, known);
      this.add(id, words);
    }
    for (const id of removed) this.remove(id, this.documents.get(id) ?? new Map());
  }

  /** The scores of the agents that match: from 1 to 100 (each word occurs in the name or in a capability). */
  search(text: string): Map<string, number> {
    const words = queryWords(text);
    const totals = new Map<string, number>();
    const budget = { left: MAX_READ };
    for (const word of words)
      for (const [id, weight] of this.best(word, budget)) totals.set(id, (totals.get(id) ?? 0) + weight);
    const scores = [...totals].map(([id, total]) => [id, Math.round((100 * total) / words.length)] as const);
    return new Map(scores.filter(([, score]) => score > 0));
  }

  /** The weight of the best match of one word in each agent. Exact matches are read first, so the limit leaves out similar words. */
  private best(word: string, budget: { left: number }): ReadonlyMap<string, number> {
    const best = new Map<string, number>();
    for (const [id, weight] of this.entries.get(word) ?? []) {
      if ((budget.left -= 1) < 0) return best;
      best.set(id, weight);
    }
    for (const similar of this.similarTo(word)) {
      for (const [id, weight] of this.entries.get(similar) ?? []) {
        if ((budget.left -= 1) < 0) return best;
        best.set(id, Math.max(best.get(id) ?? 0, PREFIX_FACTOR * weight));
      }
    }
    return best;
  }

  /** The words that begin with this word, and the words with which this word begins. */
  private *similarTo(word: string): Generator<string> {
    if (word.length < MIN_PREFIX_LENGTH) return;
    for (let length = MIN_PREFIX_LENGTH; length < word.length; length += 1) yield word.slice(0, length);
    const sorted = (this.sorted ??= [...this.entries.keys()].toSorted());
    for (let at = firstAfter(sorted, word); at < sorted.length; at += 1) {
      const longer = sorted[at] ?? '';
      if (!longer.startsWith(word)) return;
      yield longer;
    }
  }

  private add(id: string, words: SearchableWords): void {
    this.documents.set(id, words);
    for (const [word, weight] of words) {
      let entry = this.entries.get(word);
      if (!entry) {
        this.entries.set(word, (entry = new Map()));
        this.sorted = undefined;
      }
      entry.set(id, weight);
    }
  }

  private remove(id: string, words: SearchableWords): void {
    this.documents.delete(id);
    for (const word of words.keys()) {
      const entry = this.entries.get(word);
      entry?.delete(id);
      if (entry?.size !== 0) continue;
      this.entries.delete(word);
      this.sorted = undefined;
    }
  }
}

/** The position of the first word after this one. */
function firstAfter(sorted: readonly string[], word: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') > word) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The words in lower case. `code.build-image` and `BuildImage` both have the words `build` and `image`. */
function wordsOf(text: string): string[] {
  const separated = text
    .slice(0, MAX_TEXT_LENGTH)
    .normalize('NFKC')
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ');
  return separated.toLowerCase().match(WORD) ?? [];
}
