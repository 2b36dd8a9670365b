import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { RemoteDocuments, type RequestAllowance } from '../../agents/registration/remote.documents.js';
import { schemaFailed, validationFailed } from '../../http/validation/validation.errors.js';

const MAX_ENTRIES = 1_000;
const MAX_DOCUMENTS = 20;
const MAX_DEPTH = 3;

const CARDS: ReadonlySet<string> = new Set(['application/a2a-agent-card+json', 'application/agent-card+json']);
const CATALOGS: ReadonlySet<string> = new Set(['application/ai-catalog+json']);

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

/** The document of an entry: its URL, or the document itself. */
export type Artifact = { readonly url: string } | { readonly data: Record<string, unknown> };

export interface CardEntry {
  readonly kind: 'card';
  readonly identifier: string;
  readonly artifact: Artifact;
}
interface NestedCatalog {
  readonly kind: 'catalog';
  readonly identifier: string;
  readonly artifact: Artifact;
}
/** An entry that is not imported, such as an MCP server. */
interface OtherEntry {
  readonly kind: 'other';
  readonly identifier: string;
}
interface InvalidEntry {
  readonly kind: 'invalid';
  readonly identifier: string | null;
  readonly error: unknown;
}
type SourceEntry = CardEntry | NestedCatalog | OtherEntry | InvalidEntry;

/** An entry that is not itself a catalog. It may come from a nested catalog. */
export type FlatEntry = Exclude<SourceEntry, NestedCatalog>;

interface CatalogSource {
  readonly catalogUrl?: string;
  readonly catalog?: Record<string, unknown>;
}

/** What all requests of one import share. */
export interface ImportLimits {
  readonly signal: AbortSignal;
  readonly allowance: RequestAllowance;
}

interface Walk extends ImportLimits {
  readonly found: FlatEntry[];
  /** The URLs that were read: a catalog that contains itself is read once. */
  readonly seen: Set<string>;
}

/** Reads catalogs of other publishers. Everything in them is untrusted. */
@Injectable()
export class CatalogReader {
  constructor(private readonly documents: RemoteDocuments) {}

  /** Rejects if the catalog itself cannot be used. A nested catalog that cannot be used becomes an entry with an error. */
  async read({ catalogUrl, catalog }: CatalogSource, limits: ImportLimits): Promise<FlatEntry[]> {
    const walk: Walk = { found: [], seen: new Set(), ...limits };
    if (catalogUrl === undefined) await this.add(entriesOf(catalog, 'catalog'), walk, 1);
    else await this.follow(catalogUrl, 'catalogUrl', walk, 1);
    return walk.found;
  }

  private async follow(url: string, field: string, walk: Walk, depth: number): Promise<void> {
    if (walk.seen.has(url)) return;
    if (walk.seen.size >= MAX_DOCUMENTS) throw tooMany(field, `more than ${MAX_DOCUMENTS} catalogs`);
    walk.seen.add(url);
    const { signal, allowance } = walk;
    const document = await this.documents.read({ url, field, what: 'catalog', signal, allowance });
    await this.add(entriesOf(document, field), walk, depth);
  }

  private async add(entries: readonly SourceEntry[], walk: Walk, depth: number): Promise<void> {
    if (walk.found.length + entries.length > MAX_ENTRIES) throw tooMany('catalog', `more than ${MAX_ENTRIES} entries`);
    for (const entry of entries) {
      if (entry.kind === 'catalog') await this.enter(entry, walk, depth + 1);
      else walk.found.push(entry);
    }
  }

  private async enter({ identifier, artifact }: NestedCatalog, walk: Walk, depth: number): Promise<void> {
    try {
      if (depth > MAX_DEPTH) throw tooMany('url', `catalogs nested deeper than ${MAX_DEPTH} levels`);
      if ('url' in artifact) await this.follow(artifact.url, 'url', walk, depth);
      else await this.add(entriesOf(artifact.data, 'data'), walk, depth);
    } catch (error) {
      walk.found.push({ kind: 'invalid', identifier, error });
    }
  }
}

function tooMany(field: string, what: string): Error {
  return validationFailed([{ field, message: `${field}: the catalog has ${what}. Import its parts one by one` }]);
}

/** Rejects a document without a list of entries. A fault of one entry does not affect the others. */
function entriesOf(document: unknown, field: string): SourceEntry[] {
  const read = Document.safeParse(document);
  if (read.success) return read.data.entries.map((entry, index) => toEntry(entry, `entries.${index}`));
  const message = `${field}: the document is not a catalog of ARD or AI Catalog, because it has no list of entries`;
  throw validationFailed([{ field, message }]);
}

function toEntry(value: unknown, field: string): SourceEntry {
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
