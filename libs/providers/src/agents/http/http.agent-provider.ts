import { z } from 'zod';
import { CredentialSchema, withCredential } from '../agent.credential.js';
import type { Agent } from '../agent.js';
import { readSettings, type AgentConfig, type AgentProvider } from '../agent.provider.js';
import { settingsView, type ProviderFacts } from '../../provider.facts.js';
import type { OutboundOptions } from '../outbound.js';
import { HttpAgent } from './http.agent.js';

const SettingsSchema = z.strictObject({ url: z.url(), credential: CredentialSchema.optional() });

/** Agents behind a plain JSON endpoint; the wire is described in docs/providers.md. */
export class HttpAgentProvider implements AgentProvider {
  readonly name = 'http';
  readonly agentType = 'api';

  constructor(private readonly options: OutboundOptions) {}

  facts(): ProviderFacts {
    return { about: 'Agents behind a plain JSON endpoint', settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<Agent> {
    const { url, credential } = readSettings(SettingsSchema, config, this.name);
    const { policy, secrets } = this.options;
    policy.checkUrl(url); // a wrong address fails here, not at the first call
    if (!credential) return new HttpAgent({ name: config.name, url, fetch: this.options.fetch });
    const keyed = withCredential(this.options.fetch, { url, settings: credential, secrets });
    return new HttpAgent({ name: config.name, url, fetch: keyed.fetch, hide: (text) => keyed.secret.hideIn(text) });
  }
}
