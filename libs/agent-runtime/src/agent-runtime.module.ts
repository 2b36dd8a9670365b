import { type DynamicModule, type FactoryProvider, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { NamespaceContents } from '#rollcall/platform';
import { Keyring, PresetCatalog } from '#rollcall/providers';
import { NativeAgentProvider, NativeRegistration } from './agents/native.agent-provider.js';
import { GuardedAgents } from './calls/guarded.agent.js';
import { ContractRuns } from './contracts/contract.runs.js';
import { ContractTargets, WinnerConnector } from './contracts/contract.targets.js';
import { EndpointInviter } from './contracts/endpoint.inviter.js';
import { HostedInviter } from './contracts/hosted.inviter.js';
import { NativeBids } from './contracts/native.bids.js';
import { RemoteAgents } from './contracts/remote.agents.js';
import { AgentNameStore } from './definitions/agent-name.store.js';
import { AgentBuilder } from './definitions/agent.builder.js';
import { AgentNames } from './definitions/agent.names.js';
import { DefinitionChanges } from './definitions/definition.changes.js';
import { DefinitionFacts } from './definitions/definition.facts.js';
import { DefinitionImports } from './definitions/definition.imports.js';
import { ConversationHistory } from './conversations/conversation.history.js';
import { ConversationStore } from './conversations/conversation.store.js';
import { ConversationTurns } from './conversations/conversation.turns.js';
import { ConversationsService } from './conversations/conversations.service.js';
import { DefinitionStore } from './definitions/definition.store.js';
import { DefinitionValidator } from './definitions/definition.validator.js';
import { DefinitionsService } from './definitions/definitions.service.js';
import { DefinitionExplorer } from './definitions/deployment/definition.explorer.js';
import { DefinitionFiles, DefinitionSources } from './definitions/deployment/definition.sources.js';
import { DEPLOYMENT_OPTIONS, type DeploymentOptions } from './definitions/deployment/deployment.options.js';
import { DeploymentService } from './definitions/deployment/deployment.service.js';
import { DeploymentStore } from './definitions/deployment/deployment.store.js';
import { StrictDefinitions } from './definitions/deployment/strict.definitions.js';
import { NamedAgents } from './definitions/named.agents.js';
import { EffectiveDefinitions } from './definitions/effective.definitions.js';
import { PluginNames, type PluginOwnership } from './definitions/plugin.names.js';
import { SpecValidator } from './definitions/spec-files/spec.validator.js';
import { Delegation, DELEGATION_OPTIONS, type DelegationOptions } from './delegation/delegation.js';
import { RunRecorder } from './delegation/delegation.services.js';
import { AgentConnector } from './delegation/targets/agent.connector.js';
import { AgentFactoryRegistry } from './delegation/targets/agent.factories.js';
import { CapabilityTargets } from './delegation/targets/capability.targets.js';
import { DefinitionTargets } from './delegation/targets/definition.targets.js';
import { CombinedTargets, type DelegationTargets } from './delegation/targets/delegation.targets.js';
import { RegistryTargets } from './delegation/targets/registry.targets.js';
import { AgentHost } from './lifecycle/agent.host.js';
import { AgentLifecycle } from './lifecycle/agent.lifecycle.js';
import { AgentSpawner, SpawnPlans } from './lifecycle/agent.spawner.js';
import { DefinitionFollower } from './lifecycle/definition.follower.js';
import { HostedAgents } from './lifecycle/hosted.agents.js';
import { DEFAULT_LIFECYCLE_OPTIONS, LIFECYCLE_OPTIONS, type LifecycleOptions } from './lifecycle/lifecycle.options.js';
import { AgentBeats } from './lifecycle/registration/agent.beats.js';
import { AgentRegistrar } from './lifecycle/registration/agent.registrar.js';
import { LostHosts } from './lifecycle/registration/lost.hosts.js';
import { RuntimeAgentStore } from './lifecycle/registration/runtime-agent.store.js';
import { AgentShutdowns } from './lifecycle/shutdown/agent.shutdowns.js';
import { RuntimeCommandStore } from './lifecycle/shutdown/runtime-command.store.js';
import { RuntimeCommands } from './lifecycle/shutdown/runtime.commands.js';
import { EXECUTION_OPTIONS, type ExecutionOptions, InstalledMiddleware } from './middleware/default.middleware.js';
import { DelegatedRuns } from './runs/execution/delegated.runs.js';
import { RunAgents } from './runs/execution/run.agents.js';
import { RunExecution } from './runs/execution/run.execution.js';
import { RunWorkspaces } from './runs/execution/run.workspaces.js';
import { RunWorkers } from './runs/execution/run.workers.js';
import { RunCommits } from './runs/journal/run.commits.js';
import { RunEvents } from './runs/journal/run.events.js';
import { RunJournals } from './runs/journal/run.journal.js';
import { RunSettlement } from './runs/journal/run.settlement.js';
import { RunChannel } from './runs/observe/run.channel.js';
import { RunFiles } from './runs/observe/run.files.js';
import { RunFeed } from './runs/observe/run.feed.js';
import { RunMeter } from './runs/observe/run.meter.js';
import { RunReader } from './runs/observe/run.reader.js';
import { RunWatches } from './runs/observe/run.watches.js';
import { RunRedactionStore, RunRedactor } from './runs/retention/run.redactor.js';
import { RunSweeper } from './runs/retention/run.sweeper.js';
import { WorkspaceSweeper } from './runs/retention/workspace.sweeper.js';
import { DEFAULT_RUNS_OPTIONS, RUNS_OPTIONS, type RunsOptions } from './runs/runs.options.js';
import { RunsService } from './runs/runs.service.js';
import { RunAdmission } from './runs/start/run.admission.js';
import { RunCandidates, RunTargets } from './runs/start/run.targets.js';
import { RunChangesStore } from './runs/store/run-changes.store.js';
import { RunClaimStore } from './runs/store/run-claim.store.js';
import { RunCommitStore } from './runs/store/run-commit.store.js';
import { RunStore } from './runs/store/run.store.js';
import { SkillLibrary, type SkillLibraryOptions } from './skills/skill.library.js';
import { LedgerSpending } from './spending/ledger.spending.js';
import { UsageStore } from './spending/usage.store.js';
import { ReservationRecovery } from './spending/reservation.recovery.js';
import { TaskCalls } from './tasks/task.calls.js';
import { TaskInbox } from './tasks/task.inbox.js';
import { AgentTaskStore } from './tasks/task.store.js';
import { BuiltInToolBoxes } from './tools/built-in/built-in.toolboxes.js';
import { McpToolBoxes } from './tools/mcp/mcp.toolboxes.js';
import { ToolPinStore } from './tools/mcp/tool-pin.store.js';
import { ToolPinsService } from './tools/mcp/tool-pins.service.js';
import { ToolCatalog } from './tools/tool.catalog.js';
import { WorkspaceStore } from './tools/workspace/workspace.store.js';
import { Workspaces } from './tools/workspace/workspaces.js';
import { ToolExecutor } from './tools/tool.executor.js';
import { ToolExplorer } from './tools/tool.explorer.js';
import { DEFAULT_TOOLS_OPTIONS, TOOLS_OPTIONS, type ToolsOptions } from './tools/tools.options.js';

export interface AgentRuntimeOptions extends DeploymentOptions {
  readonly tools: ToolsOptions;
  readonly skills: SkillLibraryOptions;
  readonly delegation?: DelegationOptions;
  readonly execution?: ExecutionOptions;
  readonly lifecycle?: Partial<LifecycleOptions>;
  readonly runs?: RunsOptions;
  /** The plugins of this replica. */
  readonly plugins?: readonly PluginOwnership[];
}

export const DEFAULT_RUNTIME_OPTIONS: AgentRuntimeOptions = { tools: DEFAULT_TOOLS_OPTIONS, skills: { folders: [] } };

/** Runs agents, and offers tools and skills to them. It needs `PlatformModule`, `RegistryModule` and `ProvidersModule`. */
@Module({})
export class AgentRuntimeModule {
  static forRoot(options: AgentRuntimeOptions = DEFAULT_RUNTIME_OPTIONS): DynamicModule {
    const {
      tools,
      skills,
      delegation = {},
      execution = {},
      lifecycle = {},
      runs,
      plugins = [],
      ...deployment
    } = options;
    const library = { provide: SkillLibrary, useFactory: () => new SkillLibrary(skills) };
    return {
      module: AgentRuntimeModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [
        NAMESPACE_CONTENTS,
        GuardedAgents,
        ReservationRecovery,
        LedgerSpending,
        UsageStore,
        library,
        ...toolProviders(tools),
        ...delegationProviders(delegation),
        { provide: EXECUTION_OPTIONS, useValue: execution },
        ...NATIVE_AGENTS,
        ...DEFINITIONS,
        {
          provide: PluginNames,
          inject: [ToolCatalog, PresetCatalog],
          useFactory: (catalog: ToolCatalog, presets: PresetCatalog) => new PluginNames(plugins, catalog, presets),
        },
        { provide: DEPLOYMENT_OPTIONS, useValue: deployment },
        ...DEPLOYMENT,
        ...lifecycleProviders(lifecycle),
        ...runProviders(runs ?? DEFAULT_RUNS_OPTIONS),
        ...CONTRACTS,
      ],
      exports: [
        AgentBuilder,
        AgentLifecycle,
        AgentFactoryRegistry,
        DefinitionFacts,
        DefinitionImports,
        DefinitionsService,
        DefinitionValidator,
        EffectiveDefinitions,
        Delegation,
        GuardedAgents,
        HostedAgents,
        LedgerSpending,
        UsageStore,
        NamedAgents,
        RunFeed,
        RunFiles,
        RunMeter,
        RunReader,
        RunsService,
        ConversationsService,
        SkillLibrary,
        TaskInbox,
        ToolCatalog,
        ToolExecutor,
        ToolPinsService,
      ],
    };
  }
}

/**
 * What the runtime adds to the contents of a namespace. A namespace with definitions, or with a run that could still continue, cannot be
 * deleted.
 */
const NAMESPACE_CONTENTS: FactoryProvider = {
  provide: Symbol('namespace contents of the runtime'),
  inject: [NamespaceContents, DefinitionStore, RunStore],
  useFactory: (contents: NamespaceContents, definitions: DefinitionStore, runs: RunStore) => {
    contents.add({ kind: 'definitions', count: async (namespace) => await definitions.countIn(namespace) });
    contents.add({ kind: 'runs', count: async (namespace) => await runs.countUnfinished(namespace) });
  },
};

function toolProviders(options: ToolsOptions): Provider[] {
  return [
    { provide: TOOLS_OPTIONS, useValue: options },
    {
      provide: ToolExecutor,
      inject: [Keyring],
      useFactory: ({ redact }: Keyring) => new ToolExecutor({ ...options.limits, redact }),
    },
    ToolExplorer,
    Workspaces,
    WorkspaceStore,
    BuiltInToolBoxes,
    ToolCatalog,
    ToolPinStore,
    McpToolBoxes,
    ToolPinsService,
  ];
}

function delegationProviders(options: DelegationOptions): Provider[] {
  const settings = {
    provide: DELEGATION_OPTIONS,
    useFactory: (recorder: RunRecorder) => ({ ...options, recorder }),
    inject: [RunRecorder],
  };
  /** The agents in the namespace of a run: the winner of an auction, or the best one with some capabilities, or by name definitions and then the live registry. */
  const targets = {
    provide: CombinedTargets,
    useFactory: (...sources: DelegationTargets[]) => new CombinedTargets(sources),
    inject: [ContractTargets, CapabilityTargets, DefinitionTargets, RegistryTargets],
  };
  const sources = [RegistryTargets, DefinitionTargets, CapabilityTargets];
  return [settings, AgentFactoryRegistry, AgentConnector, ...sources, targets, Delegation];
}

const DEFINITIONS: Provider[] = [
  AgentBuilder,
  DefinitionFacts,
  DefinitionChanges,
  AgentNameStore,
  AgentNames,
  NamedAgents,
  DefinitionStore,
  DefinitionValidator,
  DefinitionsService,
  EffectiveDefinitions,
];
const DEPLOYMENT: Provider[] = [
  DefinitionExplorer,
  DefinitionFiles,
  DefinitionImports,
  DefinitionSources,
  DeploymentService,
  DeploymentStore,
  SpecValidator,
  StrictDefinitions,
];
const NATIVE_AGENTS: Provider[] = [InstalledMiddleware, NativeAgentProvider, NativeRegistration];

function lifecycleProviders(options: Partial<LifecycleOptions>): Provider[] {
  return [
    { provide: LIFECYCLE_OPTIONS, useValue: { ...DEFAULT_LIFECYCLE_OPTIONS, ...options } },
    RuntimeAgentStore,
    AgentRegistrar,
    AgentHost,
    SpawnPlans,
    AgentSpawner,
    AgentBeats,
    LostHosts,
    RuntimeCommandStore,
    RuntimeCommands,
    AgentShutdowns,
    DefinitionFollower,
    AgentLifecycle,
    { provide: HostedAgents, useExisting: AgentLifecycle },
  ];
}

const TASKS: Provider[] = [AgentTaskStore, TaskCalls, TaskInbox];
const RUNS: Provider[] = [
  RunChannel,
  RunWatches,
  RunStore,
  RunChangesStore,
  RunEvents,
  RunMeter,
  RunCandidates,
  RunTargets,
  RunAdmission,
  RunReader,
  ConversationStore,
  ConversationHistory,
  ConversationTurns,
  ConversationsService,
  RunsService,
];
const RUN_EXECUTION: Provider[] = [
  RunAgents,
  RunClaimStore,
  RunCommitStore,
  RunCommits,
  RunJournals,
  RunExecution,
  RunWorkspaces,
  DelegatedRuns,
  RunWorkers,
  RunSettlement,
  RunSweeper,
  WorkspaceSweeper,
  RunRedactionStore,
  RunRedactor,
];

function runProviders(options: RunsOptions): Provider[] {
  return [
    { provide: RUNS_OPTIONS, useValue: options },
    RunFeed,
    RunFiles,
    { provide: RunRecorder, useExisting: DelegatedRuns },
    ...TASKS,
    ...RUNS,
    ...RUN_EXECUTION,
  ];
}

/** What the contract net needs from the runtime: delivery to agents, and runs of winners. */
const CONTRACTS: Provider[] = [
  NativeBids,
  HostedInviter,
  EndpointInviter,
  ContractRuns,
  RemoteAgents,
  WinnerConnector,
  ContractTargets,
];
