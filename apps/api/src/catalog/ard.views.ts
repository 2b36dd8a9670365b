import type { CatalogEntry } from './catalog.entry.js';
import { ROLLCALL_TERMS } from './ard.terms.js';

const BASE_CONTEXT = 'https://agenticresourcediscovery.org/context/v1';
const PREFIX = 'rollcall';
const CONTEXT = [BASE_CONTEXT, { [PREFIX]: ROLLCALL_TERMS }];

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
