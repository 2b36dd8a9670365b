/**
 * The entry point `rollcall/plugin`: everything that a plugin needs. A plugin always gets the entry point of the server that loads it.
 */
export { z } from 'zod';
export { definePlugin, type Plugin, type PluginContext, type PluginParts, type PluginSink } from '../plugins/plugin.js';
export { Caller, type Principal } from '../auth/principal.js';
export { Permit } from '../auth/route.access.js';
export {
  AgentDefinition,
  AgentFactoryRegistry,
  type CodeDefinition,
  type CodingAgentOptions,
  definitions,
  DefinitionsService,
  defineTool,
  Describe,
  type InputCheck,
  inputGuardrail,
  loadFromDirectory,
  loadFromFile,
  logger,
  type NamedFactory,
  type OutputCheck,
  outputGuardrail,
  ReactAgent,
  recovery,
  type RunMiddleware,
  RunReader,
  RunsService,
  type StandardSchema,
  timeout,
  Tool,
  type ToolBox,
  toolBox,
  toolBoxOf,
  ToolCatalog,
  type ToolContext,
} from '#rollcall/agent-runtime';
export type { CloudEvent } from '#rollcall/platform';
export {
  type Agent,
  type AgentEvent,
  type AgentMessage,
  type AgentProvider,
  defineModel,
  EgressClient,
  type ModelConnection,
  type ModelProvider,
  type ModelReply,
  type ModelRequest,
  type ModelVendor,
  ProviderError,
  textOf,
  textOfParts,
  textPart,
  TrackedAgent,
} from '#rollcall/providers';
export {
  AgentsService,
  type Assessment,
  type BidScore,
  type BudgetSource,
  type Contender,
  Ranker,
  type ScoredStrategy,
  type ScoringRule,
} from '#rollcall/registry';
