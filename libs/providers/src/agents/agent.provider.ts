import { z } from 'zod';
import type { EgressPolicy } from '../egress/egress.policy.js';
import { ProviderError } from '../errors.js';
import type { ModelProvider } from '../models/model.provider.js';
import { NamedRegistry } from '../named.registry.js';
import type { SecretSource } from '../secrets/secret.js';
import type { Agent, AgentType } from './agent.js';
import type { CallSigner } from './call.token.js';

export interface AgentConfig {
  name: string;
  /** The namespace of the agent. Absent: the agent can use only what is for all namespaces. */
  namespace?: string;
  /** The settings for this kind of agent. The provider validates them. */
  settings?: unknown;
  /** The model of the agent that delegates, for an agent that inherits it. */
  parentModel?: ModelProvider;
}

/** A requirement of a provider. */
export interface Need {
  what: string;
  met: boolean;
  /** What an operator has to do if the requirement is not met. */
  how?: string;
}

/** The description of a provider. */
export interface ProviderDescription {
  about: string;
  needs?: Need[];
  /** The JSON Schema of the settings in a definition. */
  settings?: Record<string, unknown>;
}

/** Creates agents of one kind. A new kind needs one class and one registration. */
export interface AgentProvider {
  readonly name: string;
  readonly agentType: AgentType;
  /** The schema of the settings. A definition whose settings do not match the schema cannot be registered. */
  readonly settingsSchema?: z.ZodType;
  createAgent(config: AgentConfig): Promise<Agent>;
  /** Describes the provider for the users of a namespace: its purpose, its requirements and its settings. */
  describe?(namespace?: string): ProviderDescription;
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

export function needOf(what: string, met: boolean, how: string): Need {
  return met ? { what, met } : { what, met, how };
}

/** Converts the settings of a provider to JSON Schema. */
export function settingsView(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _draft, ...view } = z.toJSONSchema(schema, { io: 'input' });
  return view;
}

/** What a provider needs to send requests: the `fetch` of the egress client, its policy, and the keys that may be used. */
export interface OutboundOptions {
  fetch: typeof fetch;
  policy: EgressPolicy;
  secrets: SecretSource;
  /** Without it, calls carry no token. */
  signer?: CallSigner;
}

/** The agent providers by name. This class does not depend on concrete providers: `providers.module.ts` registers them. */
export class AgentProviderRegistry extends NamedRegistry<AgentProvider> {
  constructor() {
    super({ noun: 'agent provider', unknownCode: 'AGENT_PROVIDER_UNKNOWN', takenCode: 'AGENT_PROVIDER_TAKEN' });
  }
}
