import * as fc from 'fast-check';
import { type SearchableText, searchableWords, TextIndex } from './text.relevance.js';

const agent = (overrides: Partial<SearchableText> = {}): SearchableText => ({
  name: 'builder',
  description: '',
  capabilities: [],
  tags: [],
  ...overrides,
});
const indexOf = (...agents: Partial<SearchableText>[]): TextIndex => {
  const index = new TextIndex();
  index.update(agents.map((one, at) => [String(at), searchableWords(agent(one))]));
  return index;
};
const score = (text: string, overrides: Partial<SearchableText> = {}): number =>
  indexOf(overrides).search(text).get('0') ?? 0;

describe('the relevance of an agent for a text', () => {
  it.each<[rule: string, text: string, agent: Partial<SearchableText>, score: number]>([
    ['a word of the name counts fully', 'builder', {}, 100],
    ['a word of a capability counts fully', 'forecast', { capabilities: ['weather.forecast'] }, 100],
    ['a tag counts less than a capability', 'forecast', { tags: ['forecast'] }, 80],
    ['the description counts least', 'forecast', { description: 'Makes a forecast.' }, 60],
    ['the best field of a word counts', 'forecast', { description: 'A forecast.', tags: ['forecast'] }, 80],
    ['each word has the same share', 'weather forecast', { capabilities: ['weather'] }, 50],
    ['a repeated word counts once', 'builder builder other', {}, 50],
    ['words such as "find me an agent for" do not count', 'find me an agent for builder', {}, 100],
    ['a query with only such words uses them', 'find agents', { name: 'Find agents' }, 100],
    ['the beginning of a word counts half', 'build', { name: 'builder' }, 50],
    ['a longer form of a word counts half', 'builders', { name: 'builder' }, 50],
    ['a short beginning does not count', 'bui', { name: 'builder' }, 0],
    [
      'capitals, accents in another encoding and camel case do not matter',
      'CAFE\u0301 imageBuild',
      { name: 'café', tags: ['build-Image'] },
      87,
    ],
    ['letters of all scripts are words', '天気', { capabilities: ['天気'] }, 100],
    ['a text without words matches nothing', ' ?!\u0000 ', {}, 0],
    ['an empty text matches nothing', '', {}, 0],
  ])('%s', (_rule, text, facts, expected) => {
    expect(score(text, facts)).toBe(expected);
  });

  it('a text of a megabyte is read up to a limit', () => {
    expect(score('x '.repeat(500_000) + 'builder')).toBe(0);
    expect(score('builder', { description: 'y'.repeat(1_000_000) })).toBe(100);
  });
});

describe('S-3 the index of texts', () => {
  const word = fc.constantFrom('buil', 'build', 'builder', 'builders', 'deploy', 'deployment', 'rain', 'ab', 'abc');
  const words = fc.array(word, { maxLength: 4 });
  const text = fc.record({
    name: word,
    description: words.map((all) => all.join(' ')),
    capabilities: words,
    tags: words,
  });

  /** The score by its definition, without an index. */
  function expected(query: readonly string[], { name, capabilities, tags, description }: SearchableText): number {
    const fields = [
      { weight: 1, found: [name, ...capabilities] },
      { weight: 0.8, found: tags },
      { weight: 0.6, found: description.split(' ').filter(Boolean) },
    ];
    const similar = (one: string, other: string): boolean =>
      (one.length >= 4 && other.startsWith(one)) || (other.length >= 4 && one.startsWith(other));
    const matchOf = (one: string, found: readonly string[]): number =>
      found.includes(one) ? 1 : found.some((other) => similar(one, other)) ? 0.5 : 0;
    const asked = [...new Set(query)];
    const total = asked.reduce(
      (sum, one) => sum + Math.max(...fields.map(({ weight, found }) => weight * matchOf(one, found))),
      0,
    );
    return Math.round((100 * total) / asked.length);
  }

  it('S-3 a search returns the same scores as a comparison with every agent, also after changes', () => {
    const query = fc.array(word, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(query, fc.array(text, { maxLength: 6 }), fc.array(text, { maxLength: 6 }), (asked, before, now) => {
        const index = indexOf(...before);
        index.search('build');
        index.update(now.map((one, at) => [String(at), searchableWords(one)]));
        const scores = now.map((one, at) => [String(at), expected(asked, one)] as const);
        expect(index.search(asked.join(' '))).toEqual(new Map(scores.filter(([, one]) => one > 0)));
      }),
    );
  });

  it('S-3 a word with which thousands of words begin reads a bounded part of the index, and exact matches are found', () => {
    const many = Array.from({ length: 500 }, (_, at) => `word${at}`);
    const index = indexOf(...Array.from({ length: 600 }, () => ({ capabilities: many })), { name: 'word' });
    const scores = index.search('word');
    expect(scores.get('600')).toBe(100);
    expect(scores.size).toBeLessThanOrEqual(601);
  });
});
