import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { PublicUrl } from '../http/public.url.js';
import { Public } from '../auth/route.access.js';
import { PreparedDocuments } from '../http/prepared.documents.js';
import { toArdEntry } from './ard/ard.terms.js';
import { ARD_BASE, type CatalogEntry, ownFacts } from './catalog.entry.js';
import { publisherOf } from './catalog.names.js';
import { CATALOG_HEADERS } from './catalog.replies.js';
import { type CatalogState, PublicCatalog } from './public.catalog.js';

/** These documents have no pages. Entries beyond this number are only in the registry. */
const MAX_ENTRIES = 1_000;

const AI_CATALOG = 'application/ai-catalog+json';
const SPEC_VERSION = '1.0';
const EXTENSION = 'rollcall.live';

/** The catalogs at their well-known paths, and the description of the registry. */
@ApiExcludeController()
@Controller()
@Public()
export class DocumentsController {
  constructor(
    private readonly catalog: PublicCatalog,
    private readonly urls: PublicUrl,
    private readonly documents: PreparedDocuments,
  ) {}

  @Get('.well-known/ard.json')
  async ard(@Res() reply: FastifyReply): Promise<void> {
    await this.send(reply, 'ard-catalog', (state) => ({ body: { entries: first(state).map(toArdEntry) } }));
  }

  @Get('.well-known/ai-catalog.json')
  async aiCatalog(@Res() reply: FastifyReply): Promise<void> {
    await this.send(reply, 'ai-catalog', (state) => ({
      body: toAiCatalog(state.names.publisher, first(state)),
      type: AI_CATALOG,
    }));
  }

  /** Describes the registry at its base URL, which is in the catalogs. */
  @Get('ard')
  async registry(@Res() reply: FastifyReply): Promise<void> {
    await this.send(reply, 'ard-registry', ({ names }) => ({ body: this.describe(names) }));
  }

  private describe(names: CatalogState['names']): object {
    const [{ identifier, displayName, type, description } = {}] = ownFacts(names, this.urls);
    const url = this.urls.of(ARD_BASE);
    const operations = { search: `POST ${url}/search`, explore: `POST ${url}/explore`, list: `GET ${url}/agents` };
    return {
      identifier,
      displayName,
      type,
      description,
      specVersion: '0.91',
      url,
      federation: 'none',
      operations,
    };
  }

  private async send(
    reply: FastifyReply,
    kind: string,
    make: (state: CatalogState) => { body: object; type?: string },
  ): Promise<void> {
    const source = await this.catalog.current();
    await this.documents.send(reply, { kind, source, key: kind, headers: CATALOG_HEADERS }, () => make(source));
  }
}

function first({ byIdentifier }: CatalogState): CatalogEntry[] {
  return [...byIdentifier.values()].slice(0, MAX_ENTRIES);
}

/** A document of AI Catalog 1.0. */
function toAiCatalog(publisher: string, entries: readonly CatalogEntry[]): object {
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
