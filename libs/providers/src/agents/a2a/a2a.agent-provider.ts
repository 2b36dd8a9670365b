import type { AgentCard } from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { z } from 'zod';
import type { EgressPolicy } from '../../egress/egress.policy.js';
import { tracedFetch } from '../../egress/trace.headers.js';
import { ProviderError } from '../../errors.js';
import { CredentialSchema, withCredential } from '../../secrets/credential.js';
import type { Agent } from '../agent.js';
import {
  type AgentConfig,
  type AgentProvider,
  type OutboundOptions,
  type ProviderDescription,
  readSettings,
  settingsView,
} from '../agent.provider.js';
import { signWith } from '../call.token.js';
import { A2aAgent } from './a2a.agent.js';
import { cardFetch, strictFetch, toA2aError } from './a2a.errors.js';

const CARD_TIMEOUT_MS = 10_000;

const SettingsSchema = z.strictObject({
  /** The URL of the agent, whose card is at the well-known path, or the URL of the card itself. */
  url: z.url(),
  credential: CredentialSchema.optional(),
});

interface A2aProviderOptions extends OutboundOptions {
  /** The time limit for fetching a card. */
  cardTimeoutMs?: number;
}

/** How to call the remote agent. */
interface Remote {
  url: string;
  label: string;
  fetch: typeof fetch;
  redact(text: string): string;
}

/**
 * Creates remote agents that use A2A. The card is fetched when the agent is created, so a missing agent is reported
 * at that time.
 */
export class A2aAgentProvider implements AgentProvider {
  readonly name = 'a2a';
  readonly agentType = 'remote';
  readonly settingsSchema = SettingsSchema;

  constructor(private readonly options: A2aProviderOptions) {}

  describe(): ProviderDescription {
    const about = 'Remote agents that use A2A 1.0 or 0.3, over JSON-RPC or HTTP+JSON';
    return { about, settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<Agent> {
    const { url, credential } = readSettings(SettingsSchema, config, this.name);
    const { policy, secrets, fetch } = this.options;
    policy.checkUrl(url);
    const authorized = credential && withCredential(fetch, { url, settings: credential, secrets });
    const redact = (text: string): string => authorized?.secret.redactIn(text) ?? text;
    const remote: Remote = { url, label: `Agent ${config.name}`, fetch: authorized?.fetch ?? fetch, redact };
    const card = await this.cardOf(remote);
    const fetchImpl = strictFetch(tracedFetch(remote.fetch), remote.label);
    const transports = [
      new JsonRpcTransportFactory({ fetchImpl, ...LEGACY }),
      new RestTransportFactory({ fetchImpl, ...LEGACY }),
    ];
    const client = await new ClientFactory({ transports, clientConfig: { polling: true } }).createFromAgentCard(card);
    const streams = card.capabilities?.streaming === true;
    return new A2aAgent({ name: config.name, client, streams, redact, sign: signWith(this.options.signer) });
  }

  private async cardOf({ url, label, fetch, redact }: Remote): Promise<AgentCard> {
    const { policy, cardTimeoutMs = CARD_TIMEOUT_MS } = this.options;
    const timeout = AbortSignal.timeout(cardTimeoutMs);
    const timedFetch: typeof fetch = async (input, init) => await fetch(input, { ...init, signal: timeout });
    try {
      return usableCard(await fetchCard(url, cardFetch(timedFetch, label)), policy, label);
    } catch (error) {
      if (timeout.aborted) throw timedOut(label, cardTimeoutMs);
      throw toA2aError(error, { label: `The card of ${label}`, redact });
    }
  }
}

function timedOut(label: string, ms: number): ProviderError {
  return new ProviderError('AGENT_UNREACHABLE', `The card of ${label} was not received within ${ms} ms.`);
}

/** Accepts version 0.3 too, which many agents still use. The SDK converts it. */
const LEGACY = { legacyCompat: { enabled: true } };
/** gRPC is not supported, because its connections would bypass the egress client. */
const BINDINGS = ['JSONRPC', 'HTTP+JSON'];
const VERSIONS = /^(1\.\d+(\.\d+)?|0\.3(\.\d+)?)$/;
const CARD_FILE = /\.json$/;

const InterfacesSchema = z
  .array(z.object({ url: z.string(), protocolBinding: z.string(), protocolVersion: z.string().default('1.0') }))
  .min(1);

/** Fetches the card from the well-known path of `url`, or from `url` itself if it is a JSON file. */
async function fetchCard(url: string, fetchImpl: typeof fetch): Promise<AgentCard> {
  const path = CARD_FILE.test(new URL(url).pathname) ? '' : undefined;
  return await new DefaultAgentCardResolver({ fetchImpl, ...LEGACY }).resolve(url, path);
}

/** Returns the card with only the interfaces that are supported and may be called. Throws if there are none. */
function usableCard(card: AgentCard, policy: EgressPolicy, label: string): AgentCard {
  const listed = InterfacesSchema.safeParse(card.supportedInterfaces);
  if (!listed.success) throw unusable(label, 'it lists no interface');
  const supported = card.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      BINDINGS.includes(protocolBinding.toUpperCase()) && VERSIONS.test(protocolVersion || '1.0'),
  );
  if (supported.length === 0) {
    const offered = listed.data.map((one) => `${one.protocolBinding} ${one.protocolVersion}`).join(', ');
    throw unusable(label, `it offers ${offered}; Rollcall supports ${BINDINGS.join(' and ')}, versions 1.x and 0.3`);
  }
  for (const { url } of supported) policy.checkUrl(url);
  return { ...card, supportedInterfaces: supported };
}

function unusable(label: string, why: string): ProviderError {
  return new ProviderError('AGENT_ANSWER_UNREADABLE', `The A2A card of ${label} cannot be used: ${why}.`);
}
