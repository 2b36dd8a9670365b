import { Injectable } from '@nestjs/common';
import type { CatalogEntry } from '../catalog.entry.js';
import { type EntryPage, invalid, pageOf } from '../catalog.requests.js';
import { type CatalogState, PublicCatalog } from '../public.catalog.js';
import {
  type ArdQuery,
  type ExploreRequest,
  listFilter,
  type ListRequest,
  type SearchRequest,
} from './ard.requests.js';
import { ArdTerms } from './ard.terms.js';

interface ScoredEntry {
  readonly entry: CatalogEntry;
  /** From 1 to 100. */
  readonly score: number;
}

export interface Facet {
  readonly buckets: readonly { readonly value: string; readonly count: number }[];
  readonly otherCount?: number;
}

const ORDERS: Readonly<Record<string, (entry: CatalogEntry) => string>> = {
  identifier: ({ identifier }) => identifier,
  displayName: ({ displayName }) => displayName.toLowerCase(),
  updatedAt: ({ updatedAt = '' }) => updatedAt,
};
const ORDER = /^(\w{1,40})(?: (ASC|DESC))?$/;

/** The registry of ARD over the public catalog. It has no upstream registries, so a search covers only its own entries. */
@Injectable()
export class ArdRegistry {
  constructor(private readonly catalog: PublicCatalog) {}

  /** Sorts the entries by relevance. Routable entries come before equally relevant entries that are not routable. */
  search(state: CatalogState, { query, pageSize, pageToken }: SearchRequest): EntryPage<ScoredEntry> {
    const found = this.matches(state, query).map((value) => ({
      key: String(200 - value.score) + (value.entry.live['routable'] === false ? 'b' : 'a'),
      name: value.entry.identifier,
      value,
    }));
    return pageOf(found, { request: ['search', query], pageSize, pageToken });
  }

  explore(state: CatalogState, { query, resultType }: ExploreRequest): Record<string, Facet> {
    const terms = new ArdTerms(query['@context']);
    const readers = resultType.facets.map((facet) => ({ ...facet, values: terms.reader(facet.field) }));
    const matches = this.matches(state, query);
    const facets = readers.map(({ field, limit, minCount, values }) => {
      const counts = countsOf(matches.flatMap(({ entry }) => values(entry)));
      const enough = counts.filter(({ count }) => count >= minCount);
      const otherCount = enough.slice(limit).reduce((sum, { count }) => sum + count, 0);
      return [field, { buckets: enough.slice(0, limit), ...(otherCount > 0 && { otherCount }) }] as const;
    });
    return Object.fromEntries(facets);
  }

  list(state: CatalogState, request: ListRequest): EntryPage<CatalogEntry> & { readonly total: number } {
    const { filter, orderBy, pageSize, pageToken } = request;
    const [, field = '', direction] = ORDER.exec(orderBy.trim()) ?? [];
    const keyOf = Object.hasOwn(ORDERS, field) ? ORDERS[field] : undefined;
    if (!keyOf) throw invalid(`orderBy must be one of ${Object.keys(ORDERS).join(', ')}, optionally with ASC or DESC.`);
    const matches = listFilter(filter);
    const found = [...state.byIdentifier.values()].filter((entry) => matches(entry));
    const ordered = found.map((value) => ({ key: keyOf(value), name: value.identifier, value }));
    const descending = direction === 'DESC';
    const page = pageOf(ordered, { request: ['list', filter, orderBy], pageSize, pageToken, descending });
    return { ...page, total: found.length };
  }

  /** The entries that satisfy the filter and contain a word of the text. `search` and `explore` use the same rule. */
  private matches(state: CatalogState, { '@context': context, text, filter = {} }: ArdQuery): ScoredEntry[] {
    const terms = new ArdTerms(context);
    const conditions = Object.entries(filter).map(([path, accepted]) => ({
      values: terms.reader(path),
      accepted: new Set(accepted),
    }));
    const found: readonly ScoredEntry[] =
      text === undefined
        ? [...state.byIdentifier.values()].map((entry) => ({ entry, score: 100 }))
        : this.catalog.search(state, text);
    return found.filter(({ entry }) =>
      conditions.every(({ values, accepted }) => values(entry).some((one) => accepted.has(one))),
    );
  }
}

/** The most frequent value first. */
function countsOf(values: readonly string[]): { value: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
}
