import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from '@a2a-js/sdk/client';
import { z } from 'zod';
import { ProviderError, reasonOf } from '../../errors.js';
import { CredentialSchema, withCredential } from '../agent.credential.js';
import type { Agent } from '../agent.js';
import { readSettings, type AgentConfig, type AgentProvider } from '../agent.provider.js';
import { agentErrorOf, unreachable } from '../agent.status.js';
import type { OutboundOptions } from '../outbound.js';
import { A2aAgent } from './a2a.agent.js';

const CARD_WITHIN_MS = 10_000;
const CARD_FILE = /\.json$/;

const SettingsSchema = z.strictObject({
  /** Of the agent, whose card is then at its well-known place, or of the card itself. */
  url: z.url(),
  credential: CredentialSchema.optional(),
});

/** Agents elsewhere that speak A2A 1.0. The card is fetched when the agent is made, so one that is not there fails then. */
export class A2aAgentProvider implements AgentProvider {
  readonly name = 'a2a';
  readonly agentType = 'remote';

  constructor(private readonly options: OutboundOptions) {}

  async createAgent(config: AgentConfig): Promise<Agent> {
    const { url, credential } = readSettings(SettingsSchema, config, this.name);
    const { policy, secrets, fetch } = this.options;
    policy.checkUrl(url);
    const keyed = credential && withCredential(fetch, { url, settings: credential, secrets });
    const label = `Agent ${config.name}`;
    const client = await this.connect(url, strict(keyed?.fetch ?? fetch, label), label);
    return new A2aAgent({ name: config.name, client, hide: (text) => keyed?.secret.hideIn(text) ?? text });
  }

  private async connect(url: string, fetchImpl: typeof fetch, label: string): Promise<Client> {
    const soon: typeof fetch = async (input, init) =>
      await fetchImpl(input, { ...init, signal: AbortSignal.timeout(CARD_WITHIN_MS) });
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: soon }),
    });
    try {
      return await factory.createFromUrl(url, CARD_FILE.test(new URL(url).pathname) ? '' : undefined);
    } catch (error) {
      const explained = unreachable(error, label);
      if (explained instanceof ProviderError) throw explained;
      throw new ProviderError('AGENT_ANSWER_UNREADABLE', `The A2A card of ${label} cannot be used: ${reasonOf(error)}`);
    }
  }
}

/** Statuses become our errors here, where their number is still known; the SDK would put them into a sentence. */
function strict(inner: typeof fetch, label: string): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    const isRpcError = (response.headers.get('content-type') ?? '').includes('json');
    const { status } = response;
    if (status < 400 || (isRpcError && ![401, 403, 429].includes(status))) return response;
    await response.body?.cancel();
    throw agentErrorOf(response, label);
  };
}
