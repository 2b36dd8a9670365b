import { z } from 'zod';
import { ProviderError, reasonOf } from '../../errors.js';
import type { SecretSource } from '../../secret.js';
import type { Agent } from '../agent.js';
import { readSettings, type AgentConfig, type AgentProvider } from '../agent.provider.js';
import { ClaudeSdkAgent, type ClaudeSdk } from './claude-sdk.agent.js';

const PACKAGE = '@anthropic-ai/claude-agent-sdk';
const KEY_ENV = 'ANTHROPIC_API_KEY';
const USUAL_TURNS = 20;

const SettingsSchema = z.strictObject({
  model: z.string().min(1).optional(),
  instructions: z.string().optional(),
  tools: z.array(z.string().min(1)).default([]),
  maxTurns: z.int().positive().max(1_000).default(USUAL_TURNS),
});

export interface ClaudeSdkProviderOptions {
  secrets: SecretSource;
  /** Tools that definitions may ask for. They act on this machine, so without a word from the operator there are none. */
  allowedTools?: readonly string[];
  /** Where the agents work, and all of their environment besides the key. */
  cwd?: string;
  env?: Record<string, string>;
  load?: () => Promise<unknown>;
}

/** Agents that run Claude Code's loop. Its SDK is not part of this product: install it, and it is found when it is used. */
export class ClaudeSdkAgentProvider implements AgentProvider {
  readonly name = 'claude-sdk';
  readonly agentType = 'sdk';

  constructor(private readonly options: ClaudeSdkProviderOptions) {}

  async createAgent(config: AgentConfig): Promise<Agent> {
    const settings = readSettings(SettingsSchema, config, this.name);
    const { secrets, allowedTools = [], cwd, env = {} } = this.options;
    const forbidden = settings.tools.filter((tool) => !allowedTools.includes(tool));
    if (forbidden.length > 0) throw notAllowed(config.name, forbidden);
    const sdk = await this.load();
    return new ClaudeSdkAgent({ name: config.name, sdk, ...settings, cwd, env, key: secrets(KEY_ENV) });
  }

  private async load(): Promise<ClaudeSdk> {
    const load = this.options.load ?? (async () => (await import(PACKAGE)) as unknown);
    const found = await load().catch((error: unknown) => {
      const how = `Install it where Rollcall runs: npm install ${PACKAGE}`;
      throw new ProviderError('AGENT_PACKAGE_MISSING', `${PACKAGE} cannot be loaded (${reasonOf(error)}). ${how}`);
    });
    if (typeof (found as Partial<ClaudeSdk>).query === 'function') return found as ClaudeSdk;
    throw new ProviderError('AGENT_PACKAGE_MISSING', `${PACKAGE} has no query function: is this the right version?`);
  }
}

function notAllowed(name: string, tools: string[]): ProviderError {
  const message = `Agent ${name} asks for tools that the operator does not allow: ${tools.join(', ')}.`;
  return new ProviderError('AGENT_SETTINGS_INVALID', message);
}
