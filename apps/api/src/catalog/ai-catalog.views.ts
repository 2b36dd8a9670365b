import type { CatalogEntry } from './catalog.entry.js';
import { publisherOf } from './catalog.names.js';

export const AI_CATALOG = 'application/ai-catalog+json';
const SPEC_VERSION = '1.0';
const EXTENSION = 'rollcall.live';

/** A document of AI Catalog 1.0. */
export function toAiCatalog(publisher: string, entries: readonly CatalogEntry[]): object {
  const host = { displayName: publisher, identifier: publisher };
  return { specVersion: SPEC_VERSION, host, entries: entries.map(toAiEntry) };
}

/** The name, description and version of an artifact are in its card, so the entry does not repeat them. */
function toAiEntry({ identifier, type, url, tags, updatedAt, live, displayName }: CatalogEntry): object {
  const publisher = publisherOf(identifier);
  const hasCard = type.includes('-card+json');
  return {
    identifier,
    type,
    url,
    ...(!hasCard && { displayName }),
    tags,
    ...(updatedAt && { updatedAt }),
    publisher: { identifier: publisher, displayName: publisher },
    ...(Object.keys(live).length > 0 && { extensions: { [EXTENSION]: live } }),
  };
}
