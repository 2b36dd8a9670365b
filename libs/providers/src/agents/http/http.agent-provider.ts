import { z } from 'zod';
import { CredentialSchema, withCredential } from '../agent.credential.js';
import type { Agent } from '../agent.js';
import { readSettings, type AgentConfig, type AgentProvider } from '../agent.provider.js';
import { settingsView, type ProviderDescription } from '../../provider.description.js';
import type { OutboundOptions } from '../outbound.js';
import { HttpAgent } from './http.agent.js';

const SettingsSchema = z.strictObject({ url: z.url(), credential: CredentialSchema.optional() });

/** Creates agents with a plain JSON endpoint. docs/providers.md describes the protocol. */
export class HttpAgentProvider implements AgentProvider {
  readonly name = 'http';
  readonly agentType = 'api';
  readonly settingsSchema = SettingsSchema;

  constructor(private readonly options: OutboundOptions) {}

  describe(): ProviderDescription {
    return { about: 'Agents with a plain JSON endpoint', settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<Agent> {
    const { url, credential } = readSettings(SettingsSchema, config, this.name);
    const { policy, secrets } = this.options;
    policy.checkUrl(url); // rejects a forbidden address now, not at the first call
    if (!credential) return new HttpAgent({ name: config.name, url, fetch: this.options.fetch });
    const authorized = withCredential(this.options.fetch, { url, settings: credential, secrets });
    return new HttpAgent({
      name: config.name,
      url,
      fetch: authorized.fetch,
      redact: (text) => authorized.secret.redactIn(text),
    });
  }
}
