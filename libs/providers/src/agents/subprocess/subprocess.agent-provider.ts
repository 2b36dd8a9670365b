import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import type { Secret, SecretSource } from '../../secret.js';
import type { Agent } from '../agent.js';
import { readSettings, type AgentConfig, type AgentProvider } from '../agent.provider.js';
import { needOf, settingsView, type Need, type ProviderFacts } from '../../provider.facts.js';
import type { Program } from './program.process.js';
import { SubprocessAgent } from './subprocess.agent.js';

const HOW_TO_ALLOW = 'Name them in the setting providers.programs.';
const SettingsSchema = z.strictObject({ program: z.string().min(1) });

export interface AllowedProgram extends Omit<Program, 'keys'> {
  /** Names of keys to put into its environment. */
  secretEnv?: string[];
}

export interface SubprocessProviderOptions {
  /** By name, the programs that may be started at all. */
  programs: Record<string, AllowedProgram>;
  secrets: SecretSource;
}

/**
 * Agents that are programs beside us. A definition names one of the operator's programs; it can neither bring a command
 * of its own nor arguments, because definitions come from many hands. The wire is described in docs/providers.md.
 */
export class SubprocessAgentProvider implements AgentProvider {
  readonly name = 'subprocess';
  readonly agentType = 'subprocess';
  private readonly programs: ReadonlyMap<string, AllowedProgram>;

  constructor(private readonly options: SubprocessProviderOptions) {
    this.programs = new Map(Object.entries(options.programs));
  }

  facts(): ProviderFacts {
    const needs = [needOf('programs that agents may run', this.programs.size > 0, HOW_TO_ALLOW), ...this.keysNeeded()];
    const about = `Programs beside Rollcall that speak JSON lines; allowed here: ${this.known()}`;
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
    throw new ProviderError('AGENT_SETTINGS_INVALID', `The key ${name} that the program needs is not set.`);
  }

  private unknown(name: string): ProviderError {
    const message = `There is no program ${name} that agents may run. Programs the operator allows: ${this.known()}.`;
    return new ProviderError('AGENT_SETTINGS_INVALID', message);
  }

  private known(): string {
    return [...this.programs.keys()].toSorted().join(', ') || 'none';
  }

  private keysNeeded(): Need[] {
    const names = new Set([...this.programs.values()].flatMap(({ secretEnv = [] }) => secretEnv));
    return [...names].map((name) =>
      needOf(name, this.options.secrets(name) !== undefined, `Set ${name} where Rollcall runs.`),
    );
  }
}
