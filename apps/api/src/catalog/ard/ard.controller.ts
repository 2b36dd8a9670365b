import { AgentCard } from '@a2a-js/sdk';
import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AgentNotFoundError } from '#rollcall/registry';
import { A2aAgents } from '../../a2a/cards/a2a.agents.js';
import { CardSigner } from '../../a2a/cards/card.signer.js';
import { PublicUrl } from '../../a2a/cards/public.url.js';
import { Public } from '../../auth/route.access.js';
import { Limits, routeConfig } from '../../http/server/routes.js';
import { ARD_BASE } from '../catalog.entry.js';
import { isIdentifier } from '../catalog.names.js';
import { ardErrors, sendDocument } from '../catalog.replies.js';
import { invalid } from '../catalog.requests.js';
import { PublicCatalog } from '../public.catalog.js';
import { ArdRegistry, type Facet } from './ard.registry.js';
import { readExplore, readList, readSearch } from './ard.requests.js';
import { toArdEntry, toArdResult } from './ard.terms.js';
import { Repeatable } from '../../mutation/mutation.js';

/** The registry of ARD 0.91 (see docs/catalogs.md). All its entries are public. */
@ApiExcludeController()
@Controller('ard')
@Public()
@Limits({ body: 'small' })
@routeConfig({ errorFormat: ardErrors })
export class ArdController {
  constructor(
    private readonly registry: ArdRegistry,
    private readonly catalog: PublicCatalog,
    private readonly agents: A2aAgents,
    private readonly signer: CardSigner,
    private readonly urls: PublicUrl,
  ) {}

  @Post('search')
  @HttpCode(200)
  @Repeatable()
  async search(@Req() { body }: FastifyRequest): Promise<object> {
    const request = readSearch(body);
    const { items, pageToken } = await this.registry.search(request);
    const source = this.urls.of(ARD_BASE);
    const results = items.map(({ entry, score }) => toArdResult(entry, score, source));
    return { results, ...(request.federation === 'referrals' && { referrals: [] }), ...(pageToken && { pageToken }) };
  }

  @Post('explore')
  @HttpCode(200)
  @Repeatable()
  async explore(@Req() { body }: FastifyRequest): Promise<{ resultType: 'facets'; facets: Record<string, Facet> }> {
    return { resultType: 'facets', facets: await this.registry.explore(readExplore(body)) };
  }

  @Get('agents')
  async list(@Res() reply: FastifyReply): Promise<void> {
    const { items, pageToken, total } = await this.registry.list(readList(reply.request.query));
    sendDocument(reply, { body: { items: items.map(toArdEntry), total, ...(pageToken && { pageToken }) } });
  }

  @Get('agents/:identifier')
  async entry(@Param('identifier') identifier: string, @Res() reply: FastifyReply): Promise<void> {
    const entry = await this.registry.find(checked(identifier));
    if (!entry) throw new AgentNotFoundError(identifier);
    sendDocument(reply, { body: toArdEntry(entry) });
  }

  /** Returns the card of a public agent without a credential. To call the agent, a client needs a credential. */
  @Get('agents/:identifier/agent-card.json')
  async card(@Param('identifier') identifier: string, @Res() reply: FastifyReply): Promise<void> {
    const { agents } = await this.catalog.current();
    const found = agents.find(({ entry }) => entry.identifier === checked(identifier));
    if (!found) throw new AgentNotFoundError(identifier);
    const { namespace, agentId } = found.agent.record;
    const { card } = await this.agents.get(namespace, agentId);
    const tagged = { card: AgentCard.toJSON(card), keys: await this.signer.keyIds() };
    sendDocument(reply, { body: await this.signer.sign(card), tagged });
  }
}

function checked(identifier: string): string {
  if (isIdentifier(identifier)) return identifier;
  throw invalid('The identifier is not of the form urn:air:{publisher}:{namespace}:{name}.');
}
