import { createRequire } from 'node:module';
import { z } from 'zod';
import { ProviderError, reasonOf } from '../../errors.js';
import { isForNamespace, type NamespaceRestriction } from '../../namespace.restriction.js';
import type { SecretSource } from '../../secrets/secret.js';
import type { Agent } from '../agent.js';
import {
  type AgentConfig,
  type AgentProvider,
  needOf,
  type ProviderDescription,
  readSettings,
  settingsView,
} from '../agent.provider.js';
import type { ProgramUser } from '../subprocess/program.user.js';
import { type ClaudeSdk, ClaudeSdkAgent } from './claude-sdk.agent.js';

const PACKAGE = '@anthropic-ai/claude-agent-sdk';
/** The supported versions. package.json has the same range as an optional peer dependency. */
const VERSIONS = '^0.3.325';
const HOW_TO_INSTALL = `Install it where Rollcall runs: npm install --no-save ${PACKAGE}@${VERSIONS}`;
const KEY_ENV = 'ANTHROPIC_API_KEY';
/** Variables that Claude Code accepts instead of a key, if the operator sets them in its environment. */
const OTHER_CREDENTIALS = [
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
];
const DEFAULT_TURNS = 20;

const SettingsSchema = z.strictObject({
  model: z.string().min(1).optional(),
  instructions: z.string().optional(),
  tools: z.array(z.string().min(1)).default([]),
  maxTurns: z.int().positive().max(1_000).default(DEFAULT_TURNS),
});

/** `namespaces` restricts the allowed tools, which act on this machine. */
export interface ClaudeSdkProviderOptions extends NamespaceRestriction {
  secrets: SecretSource;
  /** The tools that definitions may use. They act on this machine, so the default is none. */
  allowedTools?: readonly string[];
  /** The working folder of the agents. */
  cwd?: string;
  /** The user that runs Claude Code, as for other programs. */
  user?: ProgramUser;
  /** The complete environment of the agents, without the key. */
  env?: Record<string, string>;
  load?: () => Promise<unknown>;
  /** Checks whether the package is installed, without loading it. */
  isInstalled?: () => boolean;
}

/**
 * Creates agents that run the loop of Claude Code. The SDK is not part of Rollcall; it is loaded on first use if it is
 * installed.
 */
export class ClaudeSdkAgentProvider implements AgentProvider {
  readonly name = 'claude-sdk';
  readonly agentType = 'sdk';
  readonly settingsSchema = SettingsSchema;

  constructor(private readonly options: ClaudeSdkProviderOptions) {}

  describe(): ProviderDescription {
    const { secrets, env = {}, isInstalled = findPackage } = this.options;
    const hasKey = secrets(KEY_ENV) !== undefined || OTHER_CREDENTIALS.some((name) => name in env);
    const needs = [
      needOf(`the package ${PACKAGE}`, isInstalled(), HOW_TO_INSTALL),
      needOf(KEY_ENV, hasKey, `Set ${KEY_ENV} where Rollcall runs.`),
    ];
    return { about: 'Agents that run the loop of Claude Code', needs, settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<Agent> {
    const settings = readSettings(SettingsSchema, config, this.name);
    const { secrets, cwd, user, env = {} } = this.options;
    const allowedTools = this.toolsOf(config.namespace);
    const forbidden = settings.tools.filter((tool) => !allowedTools.includes(tool));
    if (forbidden.length > 0) throw notAllowed(config.name, forbidden);
    const sdk = await this.load();
    return new ClaudeSdkAgent({ name: config.name, sdk, ...settings, cwd, user, env, key: secrets(KEY_ENV) });
  }

  private toolsOf(namespace: string | undefined): readonly string[] {
    const { allowedTools = [] } = this.options;
    return isForNamespace(this.options, namespace) ? allowedTools : [];
  }

  private async load(): Promise<ClaudeSdk> {
    const load = this.options.load ?? (async () => (await import(PACKAGE)) as unknown);
    const sdk = await load().catch((error: unknown) => {
      const why = `${PACKAGE} cannot be loaded. ${HOW_TO_INSTALL}`;
      throw new ProviderError('AGENT_PACKAGE_MISSING', why, { logDetail: reasonOf(error) });
    });
    if (typeof (sdk as Partial<ClaudeSdk>).query === 'function') return sdk as ClaudeSdk;
    throw new ProviderError(
      'AGENT_PACKAGE_MISSING',
      `${PACKAGE} has no query function. Install a supported version: ${VERSIONS}`,
    );
  }
}

function findPackage(): boolean {
  try {
    createRequire(import.meta.url).resolve(PACKAGE);
    return true;
  } catch {
    return false; // not installed, or not readable
  }
}

function notAllowed(name: string, tools: string[]): ProviderError {
  const message = `Agent ${name} uses tools that the operator does not allow: ${tools.join(', ')}.`;
  return new ProviderError('AGENT_SETTINGS_INVALID', message);
}
