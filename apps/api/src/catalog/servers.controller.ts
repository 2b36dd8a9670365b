import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { AgentNotFoundError } from '#rollcall/registry';
import { PublicUrl } from '../a2a/public.url.js';
import { Public } from '../auth/route.access.js';
import { serverErrors } from './catalog.errors.js';
import { sendDocument } from './document.reply.js';
import { pageOf } from './entry.pages.js';
import { PublicCatalog } from './public.catalog.js';
import { PageSizeSchema, readRequest } from './request.reader.js';
import { type ServerView, serversOf } from './server.views.js';
import { routeConfig } from '../http/server/routes.js';

const LATEST = 'latest';

/** Unknown parameters are ignored, because clients also send parameters of other registries. */
const ListQuery = z.object({
  cursor: z.string().max(2_000).default(''),
  limit: PageSizeSchema.default(30),
  search: z.string().max(200).default(''),
  updated_since: z.iso.datetime({ offset: true }).optional(),
  version: z.string().max(255).default(LATEST),
});

/** The MCP registry API v0.1, read-only: the MCP endpoints of Rollcall and of its public agents. */
@ApiExcludeController()
@Controller('v0.1/servers')
@Public()
@routeConfig({ errorFormat: serverErrors })
export class ServersController {
  constructor(
    private readonly catalog: PublicCatalog,
    private readonly urls: PublicUrl,
  ) {}

  @Get()
  async list(@Res() reply: FastifyReply): Promise<void> {
    const { cursor, limit: pageSize, ...filter } = readRequest(ListQuery, reply.request.query);
    const found = (await this.servers()).filter((server) => matches(server, filter));
    const ordered = found.map((value) => ({ key: '', name: value.server.name, value }));
    const page = pageOf(ordered, {
      request: ['servers', filter],
      pageSize,
      pageToken: cursor === '' ? undefined : cursor,
    });
    const metadata = { count: page.items.length, ...(page.pageToken && { nextCursor: page.pageToken }) };
    sendDocument(reply, { body: { servers: page.items, metadata } });
  }

  @Get(':name/versions')
  async versions(@Param('name') name: string, @Res() reply: FastifyReply): Promise<void> {
    sendDocument(reply, { body: { servers: [await this.get(name, LATEST)], metadata: { count: 1 } } });
  }

  @Get(':name/versions/:version')
  async version(
    @Param('name') name: string,
    @Param('version') version: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    sendDocument(reply, { body: await this.get(name, version) });
  }

  private async servers(): Promise<ServerView[]> {
    return serversOf(await this.catalog.current(), this.urls);
  }

  private async get(name: string, version: string): Promise<ServerView> {
    const found = (await this.servers()).find(
      ({ server }) => server.name === name && isVersion(server.version, version),
    );
    if (!found) throw new AgentNotFoundError(name);
    return found;
  }
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
