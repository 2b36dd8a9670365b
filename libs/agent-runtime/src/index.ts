export { AgentRuntimeModule } from './agent-runtime.module.js';
export type { AgentRuntimeOptions } from './agent-runtime.options.js';
export { ReactAgent } from './agents/react.agent.js';
export { GuardedAgents } from './calls/guarded.agent.js';
export { loadFromDirectory } from './spec-files/spec.loader.js';
export { AgentDefinition } from './deployment/agent-definition.decorator.js';
export type { CodeDefinition } from './deployment/deployed.definition.js';
export { DeploymentInvalidError } from './deployment/deployment.errors.js';
export { capabilitiesOf } from './definitions/definition.capabilities.js';
export type { FieldChange } from './definitions/definition.diff.js';
export type { Definition, DefinitionContent } from './definitions/definition.js';
export { DefinitionsService } from './definitions/definitions.service.js';
export { type EffectiveDefinition, EffectiveDefinitions } from './definitions/effective.definitions.js';
export { DefinitionImports } from './imports/definition.imports.js';
export type { ImportChange, ImportedFile, ImportProblem, ImportReport } from './imports/import.report.js';
export { Delegation } from './delegation/delegation.js';
export { INHERITANCE_MODES } from './delegation/delegation.services.js';
export { RUNTIME_EVENTS } from './event.types.js';
export { AGENT_STATES, type AgentInfo } from './lifecycle/agent.info.js';
export { AgentLifecycle } from './lifecycle/agent.lifecycle.js';
export { type AgentShutdown, SHUTDOWN_PHASES, type ShutdownReport } from './lifecycle/shutdown.report.js';
export { RUNTIME_SCHEMA } from './schema.js';
export { RuntimeError, type RuntimeErrorCode } from './errors.js';
export { RunFeed, type RunStreamEvent } from './runs/observe/run.feed.js';
export type {
  ChangeFilter,
  ChangePosition,
  ListedRun,
  Run,
  RunActor,
  RunDecision,
  RunExport,
  RunKey,
  RunTarget,
  RunTree,
  StartRun,
} from './runs/run.js';
export { RunNotFoundError, RunTargetUnknownError } from './runs/run.errors.js';
export { type MeteredAgent, RunMeter, type RunObserver, type RunUse } from './runs/observe/run.meter.js';
export { RunReader } from './runs/observe/run.reader.js';
export type { OpenRuns, RunMessages } from './runs/store/run.store.js';
export { isFinal, isSettled, RUN_STATES, type RunStatus, WAITING_FOR, type WaitingFor } from './runs/run.status.js';
export type { StoredStep } from './runs/run.step.js';
export { RunsService } from './runs/runs.service.js';
export { defaultMiddleware } from './middleware/default.middleware.js';
export { ModelCircuit } from './middleware/model-circuit.middleware.js';
export type { Skill } from './skills/skill.js';
export { filesOf } from './skills/skill.files.js';
export { SkillLibrary } from './skills/skill.library.js';
export type { SkillDiagnostic } from './skills/skill.loader.js';
export { suggestion } from './tools/closest.name.js';
export { toolBoxOf } from './tools/decorated.toolbox.js';
export { defineTool } from './tools/define.tool.js';
export { Describe } from './tools/input/dto.schema.js';
export type { ToolContext } from './tools/tool.js';
export { toolBox } from './tools/tool.box.js';
export { type ListedTool, ToolCatalog } from './tools/tool.catalog.js';
export { Tool } from './tools/tool.decorator.js';
export { DEFAULT_TOOLS_OPTIONS, HTTP_FETCH_MODES } from './tools/tools.options.js';
export { DEFAULT_LIFECYCLE_OPTIONS } from './lifecycle/lifecycle.options.js';
export { DEFAULT_RUNS_OPTIONS } from './runs/runs.options.js';
export { UnknownToolBoxError } from './tools/tool.errors.js';
export type { McpToolBox } from './tools/mcp/mcp.toolbox.js';
export type { ToolPin } from './tools/mcp/tool-pin.store.js';
export { ToolPinsService } from './tools/mcp/tool-pins.service.js';
