import { type SearchableText, searchableWords, TextQuery } from './text.relevance.js';

const agent = (overrides: Partial<SearchableText> = {}): SearchableText => ({
  name: 'builder',
  description: '',
  capabilities: [],
  tags: [],
  ...overrides,
});
const score = (text: string, overrides?: Partial<SearchableText>): number =>
  new TextQuery(text).scoreOf(searchableWords(agent(overrides)));

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
