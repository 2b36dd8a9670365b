import { z } from 'zod';
import { schemaFailed, validationFailed } from '../http/validation/validation.errors.js';

/** A document of ARD or AI Catalog. Both have entries; all other members are ignored. */
const Document = z.looseObject({ entries: z.array(z.unknown()) });

const Entry = z
  .looseObject({
    identifier: z.string().min(1).max(300),
    type: z.string().min(1).max(300),
    url: z.string().min(1).max(2_048).optional(),
    data: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(({ url, data }) => (url === undefined) !== (data === undefined), 'must have exactly one of url and data');

const CARDS: ReadonlySet<string> = new Set(['application/a2a-agent-card+json', 'application/agent-card+json']);
const CATALOGS: ReadonlySet<string> = new Set(['application/ai-catalog+json']);

/** The document of an entry: its URL, or the document itself. */
export type Artifact = { readonly url: string } | { readonly data: Record<string, unknown> };

export interface CardEntry {
  readonly kind: 'card';
  readonly identifier: string;
  readonly artifact: Artifact;
}
export interface NestedCatalog {
  readonly kind: 'catalog';
  readonly identifier: string;
  readonly artifact: Artifact;
}
/** An entry that is not imported, such as an MCP server. */
export interface OtherEntry {
  readonly kind: 'other';
  readonly identifier: string;
}
export interface InvalidEntry {
  readonly kind: 'invalid';
  readonly identifier: string | null;
  readonly error: unknown;
}
export type ForeignEntry = CardEntry | NestedCatalog | OtherEntry | InvalidEntry;

/** Rejects a document without a list of entries. A fault of one entry does not affect the others. */
export function entriesOf(document: unknown, field: string): ForeignEntry[] {
  const read = Document.safeParse(document);
  if (read.success) return read.data.entries.map((entry, index) => toEntry(entry, `entries.${index}`));
  const message = `${field}: the document is not a catalog of ARD or AI Catalog, because it has no list of entries`;
  throw validationFailed([{ field, message }]);
}

function toEntry(value: unknown, field: string): ForeignEntry {
  const read = Entry.safeParse(value);
  if (!read.success) {
    const identifier = (value as { identifier?: unknown } | null)?.identifier;
    return {
      kind: 'invalid',
      identifier: typeof identifier === 'string' ? identifier.slice(0, 300) : null,
      error: schemaFailed(read.error, { prefix: field }),
    };
  }
  const { identifier, type, url, data } = read.data;
  const kind = kindOf(type);
  if (kind === undefined) return { kind: 'other', identifier };
  return { kind, identifier, artifact: url === undefined ? { data: data ?? {} } : { url } };
}

function kindOf(type: string): 'card' | 'catalog' | undefined {
  const bare = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (CARDS.has(bare)) return 'card';
  return CATALOGS.has(bare) ? 'catalog' : undefined;
}
