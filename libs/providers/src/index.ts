export { ProviderError, type Fault, type ProviderErrorCode, type ProviderErrorFacts } from './errors.js';
export { ProvidersModule } from './providers.module.js';
export type { ProvidersOptions } from './providers.options.js';
export { Keyring } from './keyring.js';
export { Secret, type SecretSource } from './secret.js';
export type { Need, ProviderFacts } from './provider.facts.js';
export { agentProviderView, vendorView, type ProviderView } from './provider.view.js';

export { AddressPolicy, type AddressRules, type AddressVerdict } from './egress/address-policy.js';
export {
  EgressClient,
  PATIENT_LIMITS,
  QUICK_LIMITS,
  type EgressClientOptions,
  type EgressLimits,
} from './egress/egress.client.js';
export { EgressPolicy, type EgressRules, normalUrl } from './egress/egress.policy.js';
export { EndpointCheck, type EndpointCheckOptions } from './egress/endpoint.check.js';
export { readRetryAfter } from './retry-after.js';

export * from './models/message.js';
export type * from './models/model.provider.js';
export type { ModelConnection, ModelVendor } from './models/model.vendor.js';
export { addUsage, type ModelUsage } from './models/usage.js';
export { VendorRegistry } from './models/vendor.registry.js';
export * from './models/scripted/script.js';
export { scripted, ScriptedModel, type Improvise, type RecordedCall } from './models/scripted/scripted.model.js';
export { ScriptedVendor } from './models/scripted/scripted.vendor.js';

export { ModelCatalog, type ModelCatalogOptions } from './presets/model.catalog.js';
export { resolveModel, type ResolutionRule, type ResolvedModel } from './presets/model.resolver.js';
export { PresetBook, type ModelChoice, type PresetView } from './presets/preset.book.js';
export {
  InlineChoiceSchema,
  ModelsConfigSchema,
  type InlineChoice,
  type ModelsConfig,
  type WantedModel,
} from './presets/preset.js';
export { costOf, toMicroDollars, type Prices } from './presets/prices.js';

export type * from './agents/agent.js';
export { readSettings, type AgentConfig, type AgentProvider } from './agents/agent.provider.js';
export { AgentProviderRegistry } from './agents/agent-provider.registry.js';
export { TrackedAgent } from './agents/tracked.agent.js';
export type { OutboundOptions } from './agents/outbound.js';
export { A2aAgentProvider } from './agents/a2a/a2a.agent-provider.js';
export { HttpAgentProvider } from './agents/http/http.agent-provider.js';
export {
  SubprocessAgentProvider,
  type AllowedProgram,
  type SubprocessProviderOptions,
} from './agents/subprocess/subprocess.agent-provider.js';
export type { Program } from './agents/subprocess/program.process.js';
export {
  ClaudeSdkAgentProvider,
  type ClaudeSdkProviderOptions,
} from './agents/claude-sdk/claude-sdk.agent-provider.js';

export {
  LANGFUSE_AGENT_FIELDS,
  LangfuseUsage,
  type LangfuseAgentField,
  type LangfuseUsageOptions,
  type UsageCount,
} from './usage/langfuse.usage.js';
