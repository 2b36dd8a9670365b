/** The texts of an agent that a search by free text reads. */
export interface SearchableText {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly string[];
  readonly tags: readonly string[];
}

/** The words of an agent, by how much they count. */
export type SearchableWords = readonly { readonly weight: number; readonly words: ReadonlySet<string> }[];

/** How much a match counts, by the field in which the word occurs. */
const WEIGHTS = { name: 1, capabilities: 1, tags: 0.8, description: 0.6 } as const;
/** For a word that only begins like a word of the agent: `forecasting` for `forecast`, or `deploy` for `deployment`. */
const PREFIX_FACTOR = 0.5;
const MIN_PREFIX_LENGTH = 4;
const MAX_WORDS = 32;
const MAX_TEXT_LENGTH = 4_096;
const WORD = /[\p{L}\p{N}]+/gu;

/** Words that say nothing about the agent. If a query has no other words, they count. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about agent agents all an and any are as at be by can do find for from get give has have help how i in is it me my need of on or our ' +
    'please show some someone that the there this to tool tools us want we what which who will with you your'
  ).split(' '),
);

/** Splitting takes longer than scoring, so a caller should keep the words of an agent. */
export function searchableWords({ name, capabilities, tags, description }: SearchableText): SearchableWords {
  return [
    { weight: WEIGHTS.name, words: new Set(wordsOf(name)) },
    { weight: WEIGHTS.capabilities, words: new Set(capabilities.flatMap(wordsOf)) },
    { weight: WEIGHTS.tags, words: new Set(tags.flatMap(wordsOf)) },
    { weight: WEIGHTS.description, words: new Set(wordsOf(description)) },
  ];
}

/** The relevance of agents for a free text. It depends on the two texts only, so every replica gives the same scores. */
export class TextQuery {
  private readonly words: readonly string[];

  constructor(text: string) {
    const all = [...new Set(wordsOf(text))];
    const telling = all.filter((word) => !STOP_WORDS.has(word));
    this.words = (telling.length > 0 ? telling : all).slice(0, MAX_WORDS);
  }

  /** From 0 (no word occurs) to 100 (each word occurs in the name or in a capability). */
  scoreOf(agent: SearchableWords): number {
    if (this.words.length === 0) return 0;
    const best = (word: string): number => Math.max(...agent.map(({ weight, words }) => weight * matchOf(word, words)));
    const total = this.words.reduce((sum, word) => sum + best(word), 0);
    return Math.round((100 * total) / this.words.length);
  }
}

function matchOf(word: string, words: ReadonlySet<string>): number {
  if (words.has(word)) return 1;
  for (const other of words) if (isPrefix(word, other) || isPrefix(other, word)) return PREFIX_FACTOR;
  return 0;
}

function isPrefix(short: string, long: string): boolean {
  return short.length >= MIN_PREFIX_LENGTH && long.startsWith(short);
}

/** The words in lower case. `code.build-image` and `BuildImage` both have the words `build` and `image`. */
function wordsOf(text: string): string[] {
  const separated = text
    .slice(0, MAX_TEXT_LENGTH)
    .normalize('NFKC')
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ');
  return separated.toLowerCase().match(WORD) ?? [];
}
