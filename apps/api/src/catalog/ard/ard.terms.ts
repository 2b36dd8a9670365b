import type { CatalogEntry } from '../catalog.entry.js';
import { publisherOf } from '../catalog.names.js';
import { invalid } from '../catalog.requests.js';

const ARD_TERMS = 'https://agenticresourcediscovery.org/ns#';
/** The namespace of the live facts. */
const ROLLCALL_TERMS = 'urn:rollcall:catalog:v1:';
/** Not a term of ARD: its value is derived from the identifier. */
const PUBLISHER = 'publisher';
const MAX_PREFIXES = 64;

const BASE_CONTEXT = 'https://agenticresourcediscovery.org/context/v1';
const PREFIX = 'rollcall';
const CONTEXT = [BASE_CONTEXT, { [PREFIX]: ROLLCALL_TERMS }];

type Values = readonly string[];

/** The terms of the default namespace that entries have. */
const CORE: Readonly<Record<string, (entry: CatalogEntry) => Values>> = {
  identifier: ({ identifier }) => [identifier],
  displayName: ({ displayName }) => [displayName],
  type: ({ type }) => [type],
  url: ({ url }) => [url],
  description: ({ description }) => [description],
  version: ({ version }) => [version],
  updatedAt: ({ updatedAt }) => (updatedAt === undefined ? [] : [updatedAt]),
  capabilities: ({ capabilities }) => capabilities,
  tags: ({ tags }) => tags,
  representativeQueries: ({ representativeQueries }) => representativeQueries,
};

/** Terms of the default namespace that no entry of Rollcall has. A filter for them is valid and matches nothing. */
const ABSENT: ReadonlySet<string> = new Set(['data', 'metadata', 'trustManifest']);

const LIVE: ReadonlySet<string> = new Set([
  'namespace',
  'routable',
  'status',
  'circuit',
  'load',
  'usdPerTask',
  'usdPer1kTokens',
  'latencyMs',
]);

/**
 * Reads the paths of terms in filters and facets. As in entries, a term is an IRI. A query may use any prefix that its `@context`
 * binds. Remote contexts are never fetched.
 */
export class ArdTerms {
  private readonly prefixes = new Map<string, string>([['rollcall', ROLLCALL_TERMS]]);

  constructor(context: unknown) {
    for (const layer of [context].flat()) this.add(layer);
  }

  /** Returns a function that reads the values of a term in an entry. Rejects a term that no entry can have. */
  reader(path: string): (entry: CatalogEntry) => Values {
    if (path === PUBLISHER) return ({ identifier }) => [publisherOf(identifier)];
    const iri = this.expand(path);
    const core = iri.startsWith(ARD_TERMS) ? iri.slice(ARD_TERMS.length) : undefined;
    if (core !== undefined && Object.hasOwn(CORE, core)) return CORE[core];
    if (core !== undefined && ABSENT.has(core.split('.')[0] ?? '')) return () => [];
    const live = iri.startsWith(ROLLCALL_TERMS) ? iri.slice(ROLLCALL_TERMS.length) : '';
    if (LIVE.has(live)) return ({ live: facts }) => (facts[live] === undefined ? [] : [String(facts[live])]);
    const known = [PUBLISHER, ...Object.keys(CORE), ...[...LIVE].map((term) => `rollcall:${term}`)].join(', ');
    throw invalid(`There is no term ${path.slice(0, 100)}. Use one of: ${known}.`);
  }

  private expand(path: string): string {
    const alias = this.prefixes.get(path);
    if (alias !== undefined) return alias;
    const colon = path.indexOf(':');
    if (colon < 0) return ARD_TERMS + path;
    const prefix = this.prefixes.get(path.slice(0, colon));
    return prefix === undefined ? path : prefix + path.slice(colon + 1);
  }

  /** A string is the address of a context. Only the base context is known, and it is always applied. */
  private add(layer: unknown): void {
    if (layer === undefined || typeof layer === 'string') return;
    if (typeof layer !== 'object' || layer === null)
      throw invalid('query.@context must be an object, a string or a list of them.');
    const bindings = Object.entries(layer);
    if (bindings.length > MAX_PREFIXES) throw invalid(`query.@context may bind at most ${MAX_PREFIXES} prefixes.`);
    for (const [prefix, iri] of bindings) {
      if (typeof iri !== 'string') throw invalid('query.@context: bind each prefix to an IRI.');
      this.prefixes.set(prefix, iri);
    }
  }
}

/** A complete entry of ARD 0.91. The live facts are terms of the namespace of Rollcall. */
export function toArdEntry(entry: CatalogEntry): Record<string, unknown> {
  const { words: _, live, capabilities, ...facts } = entry;
  return {
    '@context': CONTEXT,
    ...facts,
    ...(capabilities.length > 0 && { capabilities }),
    ...Object.fromEntries(Object.entries(live).map(([term, value]) => [`${PREFIX}:${term}`, value])),
  };
}

/** A result of a search. The representative queries are only for indexing, so they are left out, as ARD recommends. */
export function toArdResult(entry: CatalogEntry, score: number, source: string): Record<string, unknown> {
  const { representativeQueries: _, ...facts } = toArdEntry(entry);
  return { ...facts, score, source };
}
