export { aborted, CallDetachedError, isDetached, ProviderError, type ProviderErrorCode } from './errors.js';
export { agentProviderView, type ProviderView, vendorView } from './provider.view.js';
export { ProvidersModule } from './providers.module.js';
export type { ProvidersOptions } from './providers.options.js';
export { EnvName, Secret, type SecretSource } from './secrets/secret.js';
export { Keyring } from './secrets/keyring.js';
export { EgressClient, SHORT_CALL_LIMITS } from './egress/egress.client.js';
export { EgressPolicy, normalizeUrl } from './egress/egress.policy.js';
export { EndpointCheck } from './egress/endpoint.check.js';
export { readRetryAfter } from './egress/retry-after.js';
export { isForNamespace, NamespacesSchema } from './namespace.restriction.js';
export {
  type AssistantPart,
  type FilePart,
  type ModelMessage,
  textOf,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  userMessage,
} from './models/message.js';
export {
  addUsage,
  type ModelProvider,
  type ModelReply,
  type ModelRequest,
  type ModelSettings,
  type ModelUsage,
  type ToolDeclaration,
} from './models/model.provider.js';
export { defineModel } from './models/defined.model.js';
export type { ModelConnection, ModelVendor } from './models/model.vendor.js';
export { callTool, callTools, failWith, say } from './models/scripted/script.js';
export { scripted, type ScriptedModel } from './models/scripted/scripted.model.js';
export { VendorRegistry } from './models/vendor.registry.js';
export { choiceOf, ModelCatalog } from './presets/model.catalog.js';
export { BUILT_IN_ALIASES, priceUsage, type ResolvedModel, resolveModel } from './presets/model.resolver.js';
export {
  INHERIT,
  InlineChoiceSchema,
  modelFieldsAt,
  type ModelsConfig,
  ModelsConfigSchema,
  PresetCatalog,
  type PresetView,
  type ModelChoice,
  type WantedModel,
} from './presets/preset.catalog.js';
export { MODEL_VARIABLES, presetsOfKeys } from './presets/key.presets.js';
export { PriceList } from './presets/price.list.js';
export { costOf, type Prices } from './presets/prices.js';
export {
  type AgentConfig,
  type AgentProvider,
  AgentProviderRegistry,
  type Need,
  type ProviderDescription,
  readSettings,
  settingsView,
} from './agents/agent.provider.js';
export type {
  A2aEnvelope,
  Agent,
  AgentBid,
  AgentEvent,
  AgentMessage,
  AgentResult,
  AgentState,
  AgentType,
  AgentUsage,
  BidInvitation,
  CallBudget,
  CallContext,
  HandleOptions,
  RemoteTask,
} from './agents/agent.js';
export { type ContentPart, dataOfParts, message, textOfParts, textPart } from './agents/content.part.js';
export { type CallSigner, CallSigners, type SignedCall } from './agents/call.token.js';
export { toWire, type WireMessage } from './agents/wire/wire.message.js';
export { PartSchema, readUsage } from './agents/wire/wire.schema.js';
export { TrackedAgent } from './agents/tracked.agent.js';
export { fromA2aParts, toA2aParts } from './agents/a2a/a2a.mapper.js';
export { A2aAgentProvider } from './agents/a2a/a2a.agent-provider.js';
export { RUN_EXTENSION } from './agents/a2a/task.reader.js';
export { ClaudeSdkAgentProvider } from './agents/claude-sdk/claude-sdk.agent-provider.js';
export { HttpAgentProvider } from './agents/http/http.agent-provider.js';
export { accountOf } from './agents/subprocess/program.user.js';
export { SubprocessAgentProvider } from './agents/subprocess/subprocess.agent-provider.js';
export { McpClient, type McpToolDefinition } from './mcp/mcp.client.js';
export { McpClients } from './mcp/mcp.clients.js';
export { McpServersSchema } from './mcp/mcp.config.js';
export { readServerJson } from './mcp/server.json.js';
export { LangfuseUsage } from './usage/langfuse.usage.js';
