import { A2A_PROTOCOL_VERSION, A2A_VERSION_HEADER, AGENT_CARD_PATH } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import { EndpointCheck } from '#rollcall/providers';
import { validated } from '../http/validation/validation.pipe.js';
import { factsOfCard } from './agent-card.facts.js';
import type { RegisterBody } from './agents.dto.js';
import { RemoteDocuments } from './remote.documents.js';

/** The headers of a request for a card. */
export const CARD_HEADERS = { [A2A_VERSION_HEADER]: A2A_PROTOCOL_VERSION };

/** Completes registrations: takes missing fields from the A2A card (S3.2), and checks the endpoint. */
@Injectable()
export class RegistrationReader {
  constructor(
    private readonly documents: RemoteDocuments,
    private readonly endpoints: EndpointCheck,
  ) {}

  async complete(body: RegisterBody): Promise<RegisterBody> {
    const { cardUrl } = body;
    if (cardUrl !== undefined) {
      body.agentCard = await this.fetchCard(cardUrl);
      body.endpoint ??= cardUrl; // calls to the agent read the card again
    }
    const complete = withCard(body);
    if (complete.endpoint) complete.endpoint = await this.checkEndpoint(complete.endpoint);
    return complete;
  }

  async checkEndpoint(endpoint: string): Promise<string> {
    return await this.endpoints.check(endpoint);
  }

  /** `cardUrl` is the URL of a card, or of an agent with a card at the well-known path. */
  private async fetchCard(cardUrl: string): Promise<Record<string, unknown>> {
    const given = new URL(await this.checkEndpoint(cardUrl));
    const { href: url } = given.pathname.endsWith('.json') ? given : new URL(AGENT_CARD_PATH, given);
    return await this.documents.read({ url, field: 'cardUrl', what: 'card', headers: CARD_HEADERS });
  }
}

/** Explicit fields take precedence over the card. If the body has a name and capabilities, the card is stored without validation. */
export function withCard(body: RegisterBody): RegisterBody {
  const { agentCard } = body;
  const isComplete = body.name !== undefined && body.capabilities !== undefined;
  if (!agentCard || isComplete) return body;
  const { name, endpoint, version, capabilities } = factsOfCard(agentCard);
  body.name ??= name;
  body.endpoint ??= endpoint;
  body.version ??= version;
  body.capabilities ??= capabilities;
  return validated(body);
}
