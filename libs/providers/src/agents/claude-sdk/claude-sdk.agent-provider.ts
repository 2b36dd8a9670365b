import { createRequire } from 'node:module';
import { z } from 'zod';
import { ProviderError, reasonOf } from '../../errors.js';
import type { SecretSource } from '../../secret.js';
import type { Agent } from '../agent.js';
import { readSettings, type AgentConfig, type AgentProvider } from '../agent.provider.js';
import { needOf, settingsView, type ProviderFacts } from '../../provider.facts.js';
import { ClaudeSdkAgent, type ClaudeSdk } from './claude-sdk.agent.js';

const PACKAGE = '@anthropic-ai/claude-agent-sdk';
/** The versions this was written for; the same range is an optional peer dependency in package.json. */
const VERSIONS = '^0.3.325';
const HOW_TO_INSTALL = `Install it where Rollcall runs: npm install --no-save ${PACKAGE}@${VERSIONS}`;
const KEY_ENV = 'ANTHROPIC_API_KEY';
/** What Claude Code takes in the place of a key, if the operator puts it into its environment. */
const OTHER_CREDENTIALS = [
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
];
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
  /** Whether the package is there, without loading it. */
  isInstalled?: () => boolean;
}

/** Agents that run Claude Code's loop. Its SDK is not part of this product: install it, and it is found when it is used. */
export class ClaudeSdkAgentProvider implements AgentProvider {
  readonly name = 'claude-sdk';
  readonly agentType = 'sdk';

  constructor(private readonly options: ClaudeSdkProviderOptions) {}

  facts(): ProviderFacts {
    const { secrets, env = {}, isInstalled = findPackage } = this.options;
    const hasKey = secrets(KEY_ENV) !== undefined || OTHER_CREDENTIALS.some((name) => name in env);
    const needs = [
      needOf(`the package ${PACKAGE}`, isInstalled(), HOW_TO_INSTALL),
      needOf(KEY_ENV, hasKey, `Set ${KEY_ENV} where Rollcall runs.`),
    ];
    return { about: "Agents that run Claude Code's loop", needs, settings: settingsView(SettingsSchema) };
  }

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
      const why = `${PACKAGE} cannot be loaded (${reasonOf(error)}). ${HOW_TO_INSTALL}`;
      throw new ProviderError('AGENT_PACKAGE_MISSING', why);
    });
    if (typeof (found as Partial<ClaudeSdk>).query === 'function') return found as ClaudeSdk;
    throw new ProviderError('AGENT_PACKAGE_MISSING', `${PACKAGE} has no query function: is this the right version?`);
  }
}

function findPackage(): boolean {
  try {
    createRequire(import.meta.url).resolve(PACKAGE);
    return true;
  } catch {
    return false; // not there, or not to be read: for our purposes the same
  }
}

function notAllowed(name: string, tools: string[]): ProviderError {
  const message = `Agent ${name} asks for tools that the operator does not allow: ${tools.join(', ')}.`;
  return new ProviderError('AGENT_SETTINGS_INVALID', message);
}
