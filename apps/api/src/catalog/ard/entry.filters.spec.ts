import { searchableWords } from '#rollcall/registry';
import type { CatalogEntry } from '../catalog.entry.js';
import { listFilter } from './ard.requests.js';
import { ArdTerms } from './ard.terms.js';

const ENTRY: CatalogEntry = {
  identifier: 'urn:air:example.com:agent:forecaster',
  displayName: 'Forecaster',
  type: 'application/a2a-agent-card+json',
  url: 'https://example.com/card',
  description: 'Makes forecasts.',
  version: '1.0.0',
  updatedAt: '2026-11-17T10:00:00.000Z',
  capabilities: ['weather.forecast'],
  tags: ['weather', 'forecast'],
  representativeQueries: [],
  live: { routable: true, usdPerTask: 0.25 },
  words: searchableWords({ name: '', description: '', capabilities: [], tags: [] }),
};
const INVALID = expect.objectContaining({ code: 'MALFORMED_REQUEST' }) as Error;

describe('the terms of filters and facets', () => {
  const CONTEXT = [
    'https://agenticresourcediscovery.org/context/v1',
    { live: 'urn:rollcall:catalog:v1:', labels: 'https://agenticresourcediscovery.org/ns#tags' },
  ];

  it.each<[path: string, values: string[]]>([
    ['type', ['application/a2a-agent-card+json']],
    ['tags', ['weather', 'forecast']],
    ['publisher', ['example.com']],
    ['rollcall:usdPerTask', ['0.25']],
    ['live:routable', ['true']],
    ['rollcall:latencyMs', []],
    ['labels', ['weather', 'forecast']],
    ['urn:rollcall:catalog:v1:routable', ['true']],
    ['trustManifest.attestations.type', []],
    ['metadata.location', []],
  ])('the term %s has the values %j', (path, values) => {
    expect(new ArdTerms(CONTEXT).reader(path)(ENTRY)).toEqual(values);
  });

  it.each(['colour', 'okf:taxonomy', 'toString', '__proto__', 'rollcall:endpoint', 'rollcall:constructor', ''])(
    'the term %j is rejected',
    (path) => {
      expect(() => new ArdTerms(undefined).reader(path)).toThrow(INVALID);
    },
  );

  it.each<[context: unknown]>([
    [1],
    [null],
    [{ a: 1 }],
    [[[1]]],
    [Object.fromEntries(Array.from({ length: 65 }, (_, n) => [n, 'x']))],
  ])('the context %j is rejected', (context) => {
    expect(() => new ArdTerms(context)).toThrow(INVALID);
  });
});

describe('the filter of a list', () => {
  it.each<[filter: string, matches: boolean]>([
    ['', true],
    ["displayName = 'CAST'", true],
    ["type = 'application/json,application/a2a-agent-card+json'", true],
    ["publisherId='example.com' AND displayName = 'other'", false],
    ["updatedAfter > '2026-11-17'", true],
    ["createdAfter = '2026-11-17T10:00:00Z'", false],
  ])('the filter %j matches: %s', (filter, expected) => {
    expect(listFilter(filter)(ENTRY)).toBe(expected);
  });

  it.each([
    'x',
    "type = 'a' OR type = 'b'",
    "type > 'a'",
    "updatedAfter > 'never'",
    "toString = 'a'",
    "type = 'a' AND",
  ])('the filter %j is rejected', (filter) => {
    expect(() => listFilter(filter)).toThrow(INVALID);
  });
});
