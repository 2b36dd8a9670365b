import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { AgentNotFoundError } from '#rollcall/registry';
import { PublicUrl } from '../http/public.url.js';
import { Public } from '../auth/route.access.js';
import { PreparedDocuments } from '../http/prepared.documents.js';
import { routeConfig } from '../http/server/routes.js';
import { AUTHORIZATION_HEADER } from '../mcp/metadata.controller.js';
import { VERSION, versionOf } from '../version.js';
import { MCP_PATH, OWN_NAME } from './catalog.entry.js';
import { CATALOG_HEADERS, serverErrors } from './catalog.replies.js';
import { pageOf, PageSizeSchema, readRequest } from './catalog.requests.js';
import { type CatalogState, type PublicAgent, PublicCatalog } from './public.catalog.js';

const LATEST = 'latest';

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const REGISTRY_META = 'io.modelcontextprotocol.registry/official';
const LIVE_META = 'rollcall/live';
const MAX_TEXT = 100;

/** Unknown parameters are ignored, because clients also send parameters of other registries. */
const ListQuery = z.object({
  cursor: z.string().max(2_000).default(''),
  limit: PageSizeSchema.default(30),
  search: z.string().max(200).default(''),
  updated_since: z.iso.datetime({ offset: true }).optional(),
  version: z.string().max(255).default(LATEST),
});

/** A `server.json` and what the registry adds to it. */
interface ServerView {
  readonly server: { readonly name: string; readonly version: string; readonly [field: string]: unknown };
  readonly _meta: Readonly<Record<string, unknown>>;
}

interface ServerFacts {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly url: string;
  readonly publishedAt?: string;
  readonly live?: object;
}

/** The MCP registry API v0.1, read-only: the MCP endpoints of Rollcall and of its public agents. */
@ApiExcludeController()
@Controller('v0.1/servers')
@Public()
@routeConfig({ errorFormat: serverErrors })
export class ServersController {
  /** The servers of each state of the catalog, by name. */
  private readonly known = new WeakMap<CatalogState, ReadonlyMap<string, ServerView>>();

  constructor(
    private readonly catalog: PublicCatalog,
    private readonly urls: PublicUrl,
    private readonly documents: PreparedDocuments,
  ) {}

  @Get()
  @Public({ cost: 10 })
  async list(@Res() reply: FastifyReply): Promise<void> {
    const { cursor, limit: pageSize, ...filter } = readRequest(ListQuery, reply.request.query);
    await this.send(reply, ['list', filter, cursor, pageSize], (servers) => {
      const selected = [...servers.values()].filter((server) => matches(server, filter));
      const ordered = selected.map((value) => ({ key: '', name: value.server.name, value }));
      const page = pageOf(ordered, {
        request: ['servers', filter],
        pageSize,
        pageToken: cursor === '' ? undefined : cursor,
      });
      const metadata = { count: page.items.length, ...(page.pageToken && { nextCursor: page.pageToken }) };
      return { servers: page.items, metadata };
    });
  }

  @Get(':name/versions')
  async versions(@Param('name') name: string, @Res() reply: FastifyReply): Promise<void> {
    await this.send(reply, ['versions', name], (servers) => ({
      servers: [found(servers, name, LATEST)],
      metadata: { count: 1 },
    }));
  }

  @Get(':name/versions/:version')
  async version(
    @Param('name') name: string,
    @Param('version') version: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.send(reply, ['version', name, version], (servers) => found(servers, name, version));
  }

  private async send(
    reply: FastifyReply,
    key: readonly unknown[],
    make: (servers: ReadonlyMap<string, ServerView>) => object,
  ): Promise<void> {
    const source = await this.catalog.current();
    const request = { kind: 'mcp-servers', source, key: JSON.stringify(key), headers: CATALOG_HEADERS };
    await this.documents.send(reply, request, () => ({ body: make(this.serversOf(source)) }));
  }

  private serversOf(state: CatalogState): ReadonlyMap<string, ServerView> {
    const known = this.known.get(state);
    if (known) return known;
    const servers = new Map(serversOf(state, this.urls).map((view) => [view.server.name, view]));
    this.known.set(state, servers);
    return servers;
  }
}

function found(servers: ReadonlyMap<string, ServerView>, name: string, version: string): ServerView {
  const view = servers.get(name);
  if (!view || !isVersion(view.server.version, version)) throw new AgentNotFoundError(name);
  return view;
}

function matches({ server, _meta }: ServerView, filter: Omit<z.output<typeof ListQuery>, 'cursor' | 'limit'>): boolean {
  const { search, updated_since: since, version } = filter;
  if (!server.name.toLowerCase().includes(search.toLowerCase()) || !isVersion(server.version, version)) return false;
  const { updatedAt } = Object.values(_meta)[0] as { updatedAt?: string };
  return since === undefined || (updatedAt !== undefined && Date.parse(updatedAt) >= Date.parse(since));
}

function isVersion(version: string, wanted: string): boolean {
  return wanted === LATEST || wanted === version;
}

/** The MCP endpoints: Rollcall, and each public agent as one tool. They are sorted by name. Each has one version. */
function serversOf({ names, own, agents }: CatalogState, urls: PublicUrl): ServerView[] {
  if (own.length === 0) return [];
  const rollcall = toServer({
    name: names.serverName(OWN_NAME),
    title: 'Rollcall',
    description: 'Finds agents, runs them and answers their questions.',
    version: VERSION,
    url: urls.of(MCP_PATH),
  });
  const all = [rollcall, ...agents.map((one) => agentServer(one, names.agentServerName(one.agent.record), urls))];
  return all.toSorted((one, other) => (one.server.name < other.server.name ? -1 : 1));
}

function agentServer({ agent: { record }, entry }: PublicAgent, name: string, urls: PublicUrl): ServerView {
  const { version, agentId, registeredAt } = record;
  return toServer({
    name,
    title: entry.displayName,
    description: entry.description,
    version: versionOf(version),
    url: urls.of(`${MCP_PATH}/agents/${encodeURIComponent(agentId)}`),
    publishedAt: registeredAt,
    live: entry.live,
  });
}

function toServer({ name, title, description, version, url, publishedAt, live }: ServerFacts): ServerView {
  const times = publishedAt && { publishedAt, updatedAt: publishedAt };
  return {
    server: {
      $schema: SCHEMA,
      name,
      title: shortened(title),
      description: shortened(description),
      version,
      remotes: [{ type: 'streamable-http', url, headers: [AUTHORIZATION_HEADER] }],
    },
    _meta: { [REGISTRY_META]: { status: 'active', ...times, isLatest: true }, ...(live && { [LIVE_META]: live }) },
  };
}

/** The schema limits texts to 100 characters. */
function shortened(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}
