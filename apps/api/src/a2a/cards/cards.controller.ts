import { A2A_VERSION_HEADER, AGENT_CARD_PATH, AgentCard } from '@a2a-js/sdk';
import { A2A_LEGACY_PROTOCOL_VERSION } from '@a2a-js/sdk/compat/v0_3';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Permit, Public } from '../../auth/route.access.js';
import { JSON_TYPE } from '../../http/body/json-body.parser.js';
import { etagOf, hasVersion } from '../../http/etag.js';
import { PreparedDocuments } from '../../http/prepared.documents.js';
import { namedVersion } from '../protocol.version.js';
import { A2aAgents } from './a2a.agents.js';
import { mergedCard, toLegacyCard } from './agent.card.js';
import { CardSigner, JWKS_PATH } from './card.signer.js';
import { InstallationKeys } from '../signing/installation.keys.js';
import { callerOf } from '../../auth/principal.js';

/** The card of Rollcall changes only with its version or address. The card of an agent changes with its load. */
const ROLLCALL_CACHE = 'public, max-age=300';
const AGENT_CACHE = 'private, max-age=5';

/** The cards of A2A. The card of an agent needs the same permission as its record. */
@ApiExcludeController()
@Controller()
export class CardsController {
  constructor(
    private readonly agents: A2aAgents,
    private readonly signer: CardSigner,
    private readonly documents: PreparedDocuments,
    private readonly signingKeys: InstallationKeys,
  ) {}

  @Get(AGENT_CARD_PATH)
  @Public()
  async rollcall(@Res() reply: FastifyReply): Promise<void> {
    const form = formFor(reply);
    const headers = { 'cache-control': ROLLCALL_CACHE, vary: A2A_VERSION_HEADER };
    const request = { kind: 'agent-card', source: this, key: `card ${form}`, headers };
    await this.documents.send(reply, request, async () => {
      const card = this.agents.publicCard();
      const tagged = { variant: await this.variantOf(form), card: AgentCard.toJSON(card) };
      return { body: await this.bodyOf(card, form), tagged };
    });
  }

  @Get(['a2a/agents/:agentId', `a2a/agents/:agentId/${AGENT_CARD_PATH}`])
  @Permit('agents:read')
  async agent(@Param('agentId') agentId: string, @Res() reply: FastifyReply): Promise<void> {
    const { card } = await this.agents.get(callerOf(reply.request).namespace, agentId);
    await this.send(reply, card, AGENT_CACHE);
  }

  /** The public keys of the signatures of cards and calls. */
  @Get(JWKS_PATH)
  @Public()
  async keys(@Res() reply: FastifyReply): Promise<void> {
    const headers = { 'cache-control': ROLLCALL_CACHE };
    const request = { kind: 'jwks', source: this, key: 'keys', headers };
    await this.documents.send(reply, request, async () => ({ body: await this.signingKeys.jwks() }));
  }

  private async send(reply: FastifyReply, card: AgentCard, cacheControl: string): Promise<void> {
    const form = formFor(reply);
    const etag = tagOf(card, await this.variantOf(form));
    void reply.headers({ 'cache-control': cacheControl, etag, vary: A2A_VERSION_HEADER });
    if (hasVersion(reply.request, etag)) return void reply.code(304).send();
    void reply.type(JSON_TYPE).send(JSON.stringify(await this.bodyOf(card, form)));
  }

  /** A signature covers the form of version 1.0. So the merged card has it, and a card of version 0.3 has none. */
  private async bodyOf(card: AgentCard, form: CardForm): Promise<object> {
    if (form === '0.3') return await toLegacyCard(card);
    const signed = await this.signer.sign(card);
    return form === '1.0' ? signed : (mergedCard(signed, await toLegacyCard(card)) as object);
  }

  private async variantOf(form: CardForm): Promise<string> {
    return form === '0.3' ? form : `${form} ${await this.signer.keyIds()}`;
  }
}

/** `merged`: for clients of both versions. */
type CardForm = 'merged' | '0.3' | '1.0';

/** A client that names no version gets a card that clients of both versions can read. */
function formFor({ request }: FastifyReply): CardForm {
  const version = namedVersion(request);
  if (version === undefined) return 'merged';
  return version === A2A_LEGACY_PROTOCOL_VERSION ? '0.3' : '1.0';
}

/** A hash of the card and its variant, which is the same on all replicas. It excludes the signatures, which differ each time. */
function tagOf(card: AgentCard, variant: string): string {
  return etagOf(`${variant} ${JSON.stringify(AgentCard.toJSON(card))}`);
}
