import type { AgentCard } from '@a2a-js/sdk';
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { CredentialSchema, withCredential } from '../agent.credential.js';
import type { Agent } from '../agent.js';
import { readSettings, type AgentConfig, type AgentProvider } from '../agent.provider.js';
import { settingsView, type ProviderFacts } from '../../provider.facts.js';
import type { OutboundOptions } from '../outbound.js';
import { A2aAgent } from './a2a.agent.js';
import { fetchCard, LEGACY, usableCard } from './a2a.card.js';
import { cardFetch, strictFetch, toA2aError } from './a2a.errors.js';

const CARD_WITHIN_MS = 10_000;

const SettingsSchema = z.strictObject({
  /** Of the agent, whose card is then at its well-known place, or of the card itself. */
  url: z.url(),
  credential: CredentialSchema.optional(),
});

export interface A2aProviderOptions extends OutboundOptions {
  /** How long a card may take to come. */
  cardWithinMs?: number;
}

/** Whom we speak to and how. */
interface Line {
  url: string;
  label: string;
  fetch: typeof fetch;
  hide(text: string): string;
}

/** Agents elsewhere that speak A2A. The card is fetched when the agent is made, so one that is not there fails then. */
export class A2aAgentProvider implements AgentProvider {
  readonly name = 'a2a';
  readonly agentType = 'remote';

  constructor(private readonly options: A2aProviderOptions) {}

  facts(): ProviderFacts {
    const about = 'Agents elsewhere that speak A2A 1.0 or 0.3, over JSON-RPC or HTTP+JSON';
    return { about, settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<Agent> {
    const { url, credential } = readSettings(SettingsSchema, config, this.name);
    const { policy, secrets, fetch } = this.options;
    policy.checkUrl(url);
    const keyed = credential && withCredential(fetch, { url, settings: credential, secrets });
    const hide = (text: string): string => keyed?.secret.hideIn(text) ?? text;
    const line: Line = { url, label: `Agent ${config.name}`, fetch: keyed?.fetch ?? fetch, hide };
    const card = await this.cardOf(line);
    const fetchImpl = strictFetch(line.fetch, line.label);
    const transports = [
      new JsonRpcTransportFactory({ fetchImpl, ...LEGACY }),
      new RestTransportFactory({ fetchImpl, ...LEGACY }),
    ];
    const client = await new ClientFactory({ transports, clientConfig: { polling: true } }).createFromAgentCard(card);
    return new A2aAgent({ name: config.name, client, streams: card.capabilities?.streaming === true, hide });
  }

  private async cardOf({ url, label, fetch, hide }: Line): Promise<AgentCard> {
    const { policy, cardWithinMs = CARD_WITHIN_MS } = this.options;
    const late = AbortSignal.timeout(cardWithinMs);
    const soon: typeof fetch = async (input, init) => await fetch(input, { ...init, signal: late });
    try {
      return usableCard(await fetchCard(url, cardFetch(soon, label)), policy, label);
    } catch (error) {
      if (late.aborted) throw tooLate(label, cardWithinMs);
      throw toA2aError(error, { label: `The card of ${label}`, hide });
    }
  }
}

function tooLate(label: string, ms: number): ProviderError {
  return new ProviderError('AGENT_UNREACHABLE', `The card of ${label} did not come within ${ms} ms.`);
}
