import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import type { Secret, SecretSource } from '../../secret.js';
import type { Agent } from '../agent.js';
import { readSettings, type AgentConfig, type AgentProvider } from '../agent.provider.js';
import { needOf, settingsView, type Need, type ProviderDescription } from '../../provider.description.js';
import type { Program } from './program.process.js';
import { SubprocessAgent } from './subprocess.agent.js';

const HOW_TO_ALLOW = 'List them in the setting providers.programs.';
const SettingsSchema = z.strictObject({ program: z.string().min(1) });

export interface AllowedProgram extends Omit<Program, 'keys'> {
  /** The names of keys to add to its environment. */
  secretEnv?: string[];
}

export interface SubprocessProviderOptions {
  /** The programs that may be started, by name. */
  programs: Record<string, AllowedProgram>;
  secrets: SecretSource;
}

/**
 * Creates agents that are child processes. A definition names one of the programs that the operator allows. It cannot
 * contain a command or arguments, because definitions come from many users. docs/providers.md describes the protocol.
 */
export class SubprocessAgentProvider implements AgentProvider {
  readonly name = 'subprocess';
  readonly agentType = 'subprocess';
  readonly settingsSchema = SettingsSchema;
  private readonly programs: ReadonlyMap<string, AllowedProgram>;

  constructor(private readonly options: SubprocessProviderOptions) {
    this.programs = new Map(Object.entries(options.programs));
  }

  describe(): ProviderDescription {
    const needs = [needOf('programs that agents may run', this.programs.size > 0, HOW_TO_ALLOW), ...this.keysNeeded()];
    const about = `Child processes that read and write lines of JSON; allowed programs: ${this.allowedNames()}`;
    return { about, needs, settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<Agent> {
    const settings = readSettings(SettingsSchema, config, this.name);
    const allowed = this.programs.get(settings.program);
    if (!allowed) throw this.unknown(settings.program);
    const { secretEnv = [], ...program } = allowed;
    const keys = Object.fromEntries(secretEnv.map((name) => [name, this.secret(name)]));
    return await SubprocessAgent.start({ name: config.name, program: { ...program, keys } });
  }

  private secret(name: string): Secret {
    const secret = this.options.secrets(name);
    if (secret) return secret;
    throw new ProviderError('AGENT_SETTINGS_INVALID', `The program needs the key ${name}, which is not set.`);
  }

  private unknown(name: string): ProviderError {
    const message = `Agents may not run the program ${name}. The operator allows: ${this.allowedNames()}.`;
    return new ProviderError('AGENT_SETTINGS_INVALID', message);
  }

  private allowedNames(): string {
    return [...this.programs.keys()].toSorted().join(', ') || 'none';
  }

  private keysNeeded(): Need[] {
    const names = new Set([...this.programs.values()].flatMap(({ secretEnv = [] }) => secretEnv));
    return [...names].map((name) =>
      needOf(name, this.options.secrets(name) !== undefined, `Set ${name} where Rollcall runs.`),
    );
  }
}
