import { Injectable } from '@nestjs/common';
import { RemoteDocuments } from '../agents/registration/remote.documents.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { entriesOf, type ForeignEntry, type NestedCatalog } from './catalog.document.js';

const MAX_ENTRIES = 1_000;
const MAX_DOCUMENTS = 20;
const MAX_DEPTH = 3;

export interface CatalogSource {
  readonly catalogUrl?: string;
  readonly catalog?: Record<string, unknown>;
}

/** An entry that is not itself a catalog. It may come from a nested catalog. */
export type FlatEntry = Exclude<ForeignEntry, NestedCatalog>;

interface Walk {
  readonly found: FlatEntry[];
  /** The URLs that were read: a catalog that contains itself is read once. */
  readonly seen: Set<string>;
  readonly signal: AbortSignal;
}

/** Reads catalogs of other publishers. Everything in them is untrusted. */
@Injectable()
export class ForeignCatalogs {
  constructor(private readonly documents: RemoteDocuments) {}

  /** Rejects if the catalog itself cannot be used. A nested catalog that cannot be used becomes an entry with an error. */
  async read({ catalogUrl, catalog }: CatalogSource, signal: AbortSignal): Promise<FlatEntry[]> {
    const walk: Walk = { found: [], seen: new Set(), signal };
    if (catalogUrl === undefined) await this.add(entriesOf(catalog, 'catalog'), walk, 1);
    else await this.follow(catalogUrl, 'catalogUrl', walk, 1);
    return walk.found;
  }

  private async follow(url: string, field: string, walk: Walk, depth: number): Promise<void> {
    if (walk.seen.has(url)) return;
    if (walk.seen.size >= MAX_DOCUMENTS) throw tooMany(field, `more than ${MAX_DOCUMENTS} catalogs`);
    walk.seen.add(url);
    const document = await this.documents.read({ url, field, what: 'catalog', signal: walk.signal });
    await this.add(entriesOf(document, field), walk, depth);
  }

  private async add(entries: readonly ForeignEntry[], walk: Walk, depth: number): Promise<void> {
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
