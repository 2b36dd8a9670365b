export { AgentRuntimeModule, type AgentRuntimeOptions } from './agent-runtime.module.js';
export { ReactAgent } from './agents/react.agent.js';
export { GuardedAgents } from './calls/guarded.agent.js';
export type {
  Conversation,
  ConversationMessage,
  ConversationQuery,
  ConversationReading,
  ConversationRun,
} from './conversations/conversation.js';
export { ConversationsService } from './conversations/conversations.service.js';
export { type CodingAgentOptions, definitions } from './definitions/deployment/ready.definitions.js';
export { DefinitionFacts } from './definitions/definition.facts.js';
export { type Definition, type DefinitionContent } from './definitions/definition.js';
export {
  DefinitionImports,
  type ImportChange,
  type ImportedFile,
  type ImportProblem,
  type ImportReport,
} from './definitions/definition.imports.js';
export { definitionName, NamedAgents } from './definitions/named.agents.js';
export { DefinitionsService, type FieldChange } from './definitions/definitions.service.js';
export { AgentDefinition } from './definitions/deployment/definition.explorer.js';
export type { CodeDefinition } from './definitions/deployment/deployment.options.js';
export { DeploymentInvalidError } from './definitions/deployment/strict.definitions.js';
export { type EffectiveDefinition, EffectiveDefinitions } from './definitions/effective.definitions.js';
export { loadFromDirectory, loadFromFile } from './definitions/spec-files/spec.loader.js';
export { Delegation } from './delegation/delegation.js';
export { AgentFactoryRegistry, type NamedFactory } from './delegation/targets/agent.factories.js';
export { DEFAULT_TREE_LIMITS } from './delegation/delegation.limits.js';
export { INHERITANCE_MODES } from './delegation/delegation.services.js';
export { RUNTIME_EVENTS } from './event.types.js';
export { AgentLifecycle } from './lifecycle/agent.lifecycle.js';
export { type AgentShutdown, SHUTDOWN_PHASES, type ShutdownReport } from './lifecycle/shutdown/shutdown.report.js';
export { AgentShutdownFailedError } from './lifecycle/lifecycle.errors.js';
export { AGENT_STATES, type AgentInfo } from './lifecycle/spawned.agent.js';
export { RUNTIME_SCHEMA } from './schema.js';
export { RuntimeError, type RuntimeErrorCode } from './errors.js';
export { RunFeed, type RunStreamEvent } from './runs/observe/run.feed.js';
export type {
  ChangedRun,
  ChangeFilter,
  ChangePosition,
  Run,
  RunActor,
  RunDecision,
  RunExport,
  RunFacts,
  RunKey,
  RunSummary,
  VisibleRuns,
  RunTarget,
  RunTree,
  StartRun,
} from './runs/run.js';
export type { ContentPreview, ResultPreview } from './runs/run.preview.js';
export { RunNotFoundError, RunTargetUnknownError } from './runs/run.errors.js';
export { type MeteredAgent, RunMeter, type MeterObserver, type RunUse } from './runs/observe/run.meter.js';
export { RunReader } from './runs/observe/run.reader.js';
export type { OpenRuns, RunCounts, RunMessages } from './runs/store/run.store.js';
export {
  isFinal,
  isFinalOrWaiting,
  type PendingCall,
  RUN_STATES,
  type RunStatus,
  WAITING_FOR,
  type WaitingFor,
} from './runs/run.status.js';
export { continuesAnswer, type StoredStep } from './runs/run.step.js';
export { type NewMessage, RunsService } from './runs/runs.service.js';
export { defaultMiddleware } from './middleware/default.middleware.js';
export {
  type InputCheck,
  inputGuardrail,
  type OutputCheck,
  outputGuardrail,
} from './middleware/guardrail.middleware.js';
export { logger } from './middleware/logger.middleware.js';
export { recovery } from './middleware/recovery.middleware.js';
export { timeout } from './middleware/timeout.middleware.js';
export type { RunMiddleware } from './middleware/middleware.js';
export { ModelCircuit } from './middleware/model-circuit.middleware.js';
export {
  MAX_USAGE_POINTS,
  USAGE_GROUPS,
  USAGE_STEPS,
  type UsageGroup,
  type UsagePoint,
  type UsageQuery,
  type UsageStep,
  UsageStore,
} from './spending/usage.store.js';
export type { Skill } from './skills/skill.js';
export { type FileContent, RunFiles } from './runs/observe/run.files.js';
export { SkillLibrary } from './skills/skill.library.js';
export { filesOf, type SkillDiagnostic } from './skills/skill.loader.js';
export { type Taker, TaskInbox } from './tasks/task.inbox.js';
export type { TakenTask, TaskDelivery, TaskProgress, TaskReport } from './tasks/task.js';
export { closestName, suggestion } from './tools/closest.name.js';
export { toolBoxOf } from './tools/tool.explorer.js';
export { isStandardSchema, type StandardSchema } from './tools/input/standard-schema.input.js';
export { Describe } from './tools/input/dto.input.js';
export { TOOL_ALIASES } from './tools/tool.aliases.js';
export { type ListedTool, ToolCatalog } from './tools/tool.catalog.js';
export { defineTool, Tool, type ToolBox, toolBox, type ToolContext } from './tools/tool.js';
export { DEFAULT_BASH_OPTIONS, DEFAULT_TOOLS_OPTIONS, HTTP_FETCH_MODES } from './tools/tools.options.js';
export { DEFAULT_LIFECYCLE_OPTIONS } from './lifecycle/lifecycle.options.js';
export { DEFAULT_RUNS_OPTIONS } from './runs/runs.options.js';
export { UnknownToolBoxError } from './tools/tool.errors.js';
export type { McpToolBox } from './tools/mcp/mcp.toolbox.js';
export type { ToolPin } from './tools/mcp/tool-pin.store.js';
export { ToolPinsService } from './tools/mcp/tool-pins.service.js';
