import { A2A_PROTOCOL_VERSION, A2A_VERSION_HEADER, AGENT_CARD_PATH } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import { EgressClient, EndpointCheck, ProviderError } from '#rollcall/providers';
import { ApiError } from '../http/api.error.js';
import { parseJsonBody } from '../http/json-body.parser.js';
import { validationFailed } from '../http/validation.error.js';
import { validated } from '../http/validation.pipe.js';
import { factsOfCard } from './agent-card.facts.js';
import type { RegisterBody } from './agents.dto.js';

const CARD_TIMEOUT_MS = 10_000;
const HEADERS = { accept: 'application/json', [A2A_VERSION_HEADER]: A2A_PROTOCOL_VERSION };

const NO_RESPONSE: ReadonlySet<string> = new Set(['EGRESS_UNREACHABLE', 'EGRESS_TIMED_OUT']);

/** Completes registrations: what is missing comes from the A2A card (S3.2), and the endpoint is checked. */
@Injectable()
export class RegistrationReader {
  constructor(
    private readonly egress: EgressClient,
    private readonly endpoints: EndpointCheck,
  ) {}

  async complete(body: RegisterBody): Promise<RegisterBody> {
    const { cardUrl } = body;
    if (cardUrl !== undefined) {
      body.agentCard = await this.fetchCard(cardUrl);
      body.endpoint ??= cardUrl; // calls read the card again
    }
    const complete = withCard(body);
    if (complete.endpoint) complete.endpoint = await this.checkEndpoint(complete.endpoint);
    return complete;
  }

  async checkEndpoint(endpoint: string): Promise<string> {
    return await this.endpoints.check(endpoint);
  }

  /** The URL of a card, or of an agent with a card at the well-known path. */
  private async fetchCard(cardUrl: string): Promise<Record<string, unknown>> {
    const given = new URL(await this.checkEndpoint(cardUrl));
    const url = given.pathname.endsWith('.json') ? given : new URL(AGENT_CARD_PATH, given);
    const card = parsed(await this.read(url));
    if (typeof card !== 'object' || card === null || Array.isArray(card)) throw unusable('it is not a JSON object');
    return card as Record<string, unknown>;
  }

  /** A server that does not respond is a fault of the request, which names it. */
  private async read(url: URL): Promise<Buffer> {
    const signal = AbortSignal.timeout(CARD_TIMEOUT_MS);
    try {
      const response = await this.egress.fetch(url, { headers: HEADERS, signal });
      if (!response.ok) throw unusable(`the server answered ${response.status}`);
      return Buffer.from(await response.arrayBuffer());
    } catch (error) {
      if (signal.aborted) throw unusable(`the server did not respond within ${CARD_TIMEOUT_MS / 1_000} seconds`);
      throw error instanceof ProviderError && NO_RESPONSE.has(error.code) ? unusable(error.message) : error;
    }
  }
}

/** Explicit fields take precedence over the card. With name and capabilities, the card is stored as it is. */
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

function parsed(bytes: Buffer): unknown {
  try {
    return parseJsonBody(bytes);
  } catch (error) {
    throw error instanceof ApiError ? unusable(error.message) : error;
  }
}

function unusable(why: string): ApiError {
  return validationFailed([{ field: 'cardUrl', message: `cardUrl: the card cannot be used: ${why}` }]);
}
