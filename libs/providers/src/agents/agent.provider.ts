import { z } from 'zod';
import { ProviderError } from '../errors.js';
import type { ProviderDescription } from '../provider.description.js';
import type { ModelProvider } from '../models/model.provider.js';
import type { Agent, AgentType } from './agent.js';

export interface AgentConfig {
  name: string;
  /** The settings for this kind of agent. The provider validates them. */
  settings?: unknown;
  /** The model of the agent that delegates, for an agent that inherits it. */
  parentModel?: ModelProvider;
}

/** Creates agents of one kind. A new kind needs one class and one registration. */
export interface AgentProvider {
  readonly name: string;
  readonly agentType: AgentType;
  /** The schema of the settings. A definition whose settings do not match the schema cannot be registered. */
  readonly settingsSchema?: z.ZodType;
  createAgent(config: AgentConfig): Promise<Agent>;
  /** Describes the provider for users: its purpose, its requirements and its settings. */
  describe?(): ProviderDescription;
}

/** Validates the settings. Throws one error that lists all problems. */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  { name, settings = {} }: AgentConfig,
  provider: string,
): z.output<Schema> {
  const parsed = schema.safeParse(settings);
  if (parsed.success) return parsed.data;
  const problems = z.prettifyError(parsed.error);
  throw new ProviderError(
    'AGENT_SETTINGS_INVALID',
    `The ${provider} settings of agent ${name} are not valid: ${problems}`,
  );
}
