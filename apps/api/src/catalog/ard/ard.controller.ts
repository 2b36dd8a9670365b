import { AgentCard } from '@a2a-js/sdk';
import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AgentNotFoundError } from '#rollcall/registry';
import { A2aAgents } from '../../a2a/cards/a2a.agents.js';
import { CardSigner } from '../../a2a/cards/card.signer.js';
import { PublicUrl } from '../../http/public.url.js';
import { Public } from '../../auth/route.access.js';
import { PreparedDocuments } from '../../http/prepared.documents.js';
import { Limits, routeConfig } from '../../http/server/routes.js';
import { ARD_BASE } from '../catalog.entry.js';
import { isIdentifier } from '../catalog.names.js';
import { ardErrors, CATALOG_HEADERS } from '../catalog.replies.js';
import { invalid } from '../catalog.requests.js';
import { PublicCatalog } from '../public.catalog.js';
import { ArdRegistry } from './ard.registry.js';
import { readExplore, readList, readSearch } from './ard.requests.js';
import { toArdEntry, toArdResult } from './ard.terms.js';
import { Repeatable } from '../../mutation/mutation.js';

/** An answer to another question is computed: it looks at all entries once, and at a bounded part of the text index. */
const SEARCH = { cost: 10 };

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
    private readonly documents: PreparedDocuments,
  ) {}

  @Post('search')
  @Public(SEARCH)
  @HttpCode(200)
  @Repeatable()
  async search(@Req() { body }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const search = readSearch(body);
    const source = await this.catalog.current();
    await this.documents.send(reply, { kind: 'ard-search', source, key: keyOf('search', search) }, () => {
      const { items, pageToken } = this.registry.search(source, search);
      const base = this.urls.of(ARD_BASE);
      const results = items.map(({ entry, score }) => toArdResult(entry, score, base));
      const referrals = search.federation === 'referrals' && { referrals: [] };
      return { body: { results, ...referrals, ...(pageToken && { pageToken }) } };
    });
  }

  @Post('explore')
  @Public(SEARCH)
  @HttpCode(200)
  @Repeatable()
  async explore(@Req() { body }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const explore = readExplore(body);
    const source = await this.catalog.current();
    await this.documents.send(reply, { kind: 'ard-explore', source, key: keyOf('explore', explore) }, () => ({
      body: { resultType: 'facets', facets: this.registry.explore(source, explore) },
    }));
  }

  @Get('agents')
  @Public(SEARCH)
  async list(@Res() reply: FastifyReply): Promise<void> {
    const list = readList(reply.request.query);
    const source = await this.catalog.current();
    const request = { kind: 'ard-list', source, key: keyOf('list', list), headers: CATALOG_HEADERS };
    await this.documents.send(reply, request, () => {
      const { items, pageToken, total } = this.registry.list(source, list);
      return { body: { items: items.map(toArdEntry), total, ...(pageToken && { pageToken }) } };
    });
  }

  @Get('agents/:identifier')
  async entry(@Param('identifier') identifier: string, @Res() reply: FastifyReply): Promise<void> {
    const source = await this.catalog.current();
    const entry = source.byIdentifier.get(checked(identifier));
    if (!entry) throw new AgentNotFoundError(identifier);
    const request = { kind: 'ard-entry', source, key: keyOf('entry', identifier), headers: CATALOG_HEADERS };
    await this.documents.send(reply, request, () => ({ body: toArdEntry(entry) }));
  }

  /** Returns the card of a public agent without a credential. To call the agent, a client needs a credential. */
  @Get('agents/:identifier/agent-card.json')
  async card(@Param('identifier') identifier: string, @Res() reply: FastifyReply): Promise<void> {
    const source = await this.catalog.current();
    const found = source.agentsByIdentifier.get(checked(identifier));
    if (!found) throw new AgentNotFoundError(identifier);
    const { namespace, agentId } = found.agent.record;
    const request = { kind: 'agent-card', source, key: keyOf('card', identifier), headers: CATALOG_HEADERS };
    await this.documents.send(reply, request, async () => {
      const { card } = await this.agents.get(namespace, agentId);
      const tagged = { card: AgentCard.toJSON(card), keys: await this.signer.keyIds() };
      return { body: await this.signer.sign(card), tagged };
    });
  }
}

/** The same request gets the same document until the catalog changes. */
function keyOf(operation: string, request: unknown): string {
  return JSON.stringify([operation, request]);
}

function checked(identifier: string): string {
  if (isIdentifier(identifier)) return identifier;
  throw invalid('The identifier is not of the form urn:air:{publisher}:{namespace}:{name}.');
}
