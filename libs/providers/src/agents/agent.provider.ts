import { z } from 'zod';
import { ProviderError } from '../errors.js';
import type { ProviderFacts } from '../provider.facts.js';
import type { Agent, AgentType } from './agent.js';

export interface AgentConfig {
  name: string;
  /** What this kind of agent needs to know. The provider checks it. */
  settings?: unknown;
}

/** Makes agents of one kind. A new kind is one of these and one registration. */
export interface AgentProvider {
  readonly name: string;
  readonly agentType: AgentType;
  createAgent(config: AgentConfig): Promise<Agent>;
  /** For people who look for a provider: what it is, what it needs, and how its settings are written. */
  facts?(): ProviderFacts;
}

/** The settings as the provider wants them, or an error that lists every fault. */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  { name, settings = {} }: AgentConfig,
  provider: string,
): z.output<Schema> {
  const parsed = schema.safeParse(settings);
  if (parsed.success) return parsed.data;
  const faults = z.prettifyError(parsed.error);
  throw new ProviderError(
    'AGENT_SETTINGS_INVALID',
    `The ${provider} settings of agent ${name} are not right: ${faults}`,
  );
}
