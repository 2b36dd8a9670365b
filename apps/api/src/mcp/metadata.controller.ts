import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { PublicUrl } from '../a2a/cards/public.url.js';
import { Public } from '../auth/route.access.js';
import { METADATA_PATH, ProtectedResource } from './protected.resource.js';
import { SERVER_CARD_TYPE, serverCard } from './server.card.js';

const CACHE = 'public, max-age=300';

/** The documents that clients read before they connect. */
@ApiExcludeController()
@Controller()
export class MetadataController {
  constructor(
    private readonly resource: ProtectedResource,
    private readonly urls: PublicUrl,
  ) {}

  @Get(METADATA_PATH)
  @Public()
  protectedResource(@Res() reply: FastifyReply): void {
    void reply.header('cache-control', CACHE).send(this.resource.metadata());
  }

  @Get('mcp/server-card')
  @Public()
  card(@Res() reply: FastifyReply): void {
    const card = JSON.stringify(serverCard(this.urls.of('/mcp')));
    void reply.header('cache-control', CACHE).type(SERVER_CARD_TYPE).send(card);
  }
}
