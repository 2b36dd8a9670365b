import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Keyring } from '#rollcall/providers';
import { type AgentRuntimeOptions, DEFAULT_RUNTIME_OPTIONS } from './agent-runtime.options.js';
import { NativeAgentProvider, NativeRegistration } from './agents/native.agent-provider.js';
import { GuardedAgents } from './calls/guarded.agent.js';
import { CONTRACTS } from './contracts/contract.providers.js';
import { AgentNameStore } from './definitions/agent-name.store.js';
import { AgentBuilder } from './definitions/agent.builder.js';
import { AgentNames } from './definitions/agent.names.js';
import { DefinitionChanges } from './definitions/definition.changes.js';
import { DefinitionContents } from './definitions/definition.contents.js';
import { DefinitionStore } from './definitions/definition.store.js';
import { DefinitionValidator } from './definitions/definition.validator.js';
import { DefinitionsService } from './definitions/definitions.service.js';
import { EffectiveDefinitions } from './definitions/effective.definitions.js';
import { AgentConnector } from './delegation/agent.connector.js';
import { AgentFactoryRegistry } from './delegation/agent.factories.js';
import { DefinitionTargets } from './delegation/definition.targets.js';
import { Delegation, DELEGATION_OPTIONS, type DelegationOptions } from './delegation/delegation.js';
import { NamespaceTargets } from './delegation/namespace.targets.js';
import { RegistryTargets } from './delegation/registry.targets.js';
import { RunRecorder } from './delegation/run.recorder.js';
import { DefinitionExplorer } from './deployment/definition.explorer.js';
import { DefinitionFiles } from './deployment/definition.files.js';
import { DefinitionSources } from './deployment/definition.sources.js';
import { DEPLOYMENT_OPTIONS } from './deployment/deployment.options.js';
import { DeploymentService } from './deployment/deployment.service.js';
import { DeploymentStore } from './deployment/deployment.store.js';
import { SpecIntake } from './deployment/spec.intake.js';
import { StrictDefinitions } from './deployment/strict.definitions.js';
import { DefinitionImports } from './imports/definition.imports.js';
import { AgentLifecycle } from './lifecycle/agent.lifecycle.js';
import { HostedAgents } from './lifecycle/hosted.agents.js';
import { lifecycleProviders } from './lifecycle/lifecycle.providers.js';
import { EXECUTION_OPTIONS, InstalledMiddleware } from './middleware/default.middleware.js';
import { DelegatedRuns } from './runs/execution/delegated.runs.js';
import { RunAgents } from './runs/execution/run.agents.js';
import { RunExecution } from './runs/execution/run.execution.js';
import { RunWorkers } from './runs/execution/run.workers.js';
import { RunCommits } from './runs/journal/run.commits.js';
import { RunEvents } from './runs/journal/run.events.js';
import { RunJournals } from './runs/journal/run.journal.js';
import { RunSettlement } from './runs/journal/run.settlement.js';
import { RunChannel } from './runs/observe/run.channel.js';
import { RunFeed } from './runs/observe/run.feed.js';
import { RunMeter } from './runs/observe/run.meter.js';
import { RunReader } from './runs/observe/run.reader.js';
import { RunWatches } from './runs/observe/run.watches.js';
import { RunRedactionStore, RunRedactor } from './runs/retention/run.redactor.js';
import { RunSweeper } from './runs/retention/run.sweeper.js';
import { RunContents } from './runs/run.contents.js';
import { DEFAULT_RUNS_OPTIONS, RUNS_OPTIONS, type RunsOptions } from './runs/runs.options.js';
import { RunsService } from './runs/runs.service.js';
import { RunAdmission } from './runs/start/run.admission.js';
import { RunCandidates, RunTargets } from './runs/start/run.targets.js';
import { RunChangesStore } from './runs/store/run-changes.store.js';
import { RunClaimStore } from './runs/store/run-claim.store.js';
import { RunCommitStore } from './runs/store/run-commit.store.js';
import { RunStore } from './runs/store/run.store.js';
import { SkillLibrary } from './skills/skill.library.js';
import { LedgerSpending } from './spending/ledger.spending.js';
import { ReservationRecovery } from './spending/reservation.recovery.js';
import { BuiltInToolBoxes } from './tools/built-in/built-in.toolboxes.js';
import { McpToolBoxes } from './tools/mcp/mcp.toolboxes.js';
import { ToolPinStore } from './tools/mcp/tool-pin.store.js';
import { ToolPinsService } from './tools/mcp/tool-pins.service.js';
import { ToolCatalog } from './tools/tool.catalog.js';
import { ToolExecutor } from './tools/tool.executor.js';
import { ToolExplorer } from './tools/tool.explorer.js';
import { TOOLS_OPTIONS, type ToolsOptions } from './tools/tools.options.js';

/** Runs agents, and offers tools and skills to them. It needs `PlatformModule`, `RegistryModule` and `ProvidersModule`. */
@Module({})
export class AgentRuntimeModule {
  static forRoot(options: AgentRuntimeOptions = DEFAULT_RUNTIME_OPTIONS): DynamicModule {
    const { tools, skills, delegation = {}, execution = {}, lifecycle = {}, runs, ...deployment } = options;
    const library = { provide: SkillLibrary, useFactory: () => new SkillLibrary(skills) };
    return {
      module: AgentRuntimeModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [
        GuardedAgents,
        ReservationRecovery,
        LedgerSpending,
        library,
        ...toolProviders(tools),
        ...delegationProviders(delegation),
        { provide: EXECUTION_OPTIONS, useValue: execution },
        ...NATIVE_AGENTS,
        ...DEFINITIONS,
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
        DefinitionImports,
        DefinitionsService,
        DefinitionValidator,
        EffectiveDefinitions,
        Delegation,
        GuardedAgents,
        HostedAgents,
        LedgerSpending,
        RunFeed,
        RunMeter,
        RunReader,
        RunsService,
        SkillLibrary,
        ToolCatalog,
        ToolExecutor,
        ToolPinsService,
      ],
    };
  }
}

const DEFINITIONS: Provider[] = [
  AgentBuilder,
  DefinitionChanges,
  DefinitionContents,
  AgentNameStore,
  AgentNames,
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
  SpecIntake,
  StrictDefinitions,
];
const NATIVE_AGENTS: Provider[] = [InstalledMiddleware, NativeAgentProvider, NativeRegistration];

function toolProviders(options: ToolsOptions): Provider[] {
  return [
    { provide: TOOLS_OPTIONS, useValue: options },
    {
      provide: ToolExecutor,
      inject: [Keyring],
      useFactory: ({ redact }: Keyring) => new ToolExecutor({ ...options.limits, redact }),
    },
    ToolExplorer,
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
  const targets = [AgentConnector, RegistryTargets, DefinitionTargets, NamespaceTargets];
  return [settings, AgentFactoryRegistry, ...targets, Delegation];
}

const RUNS: Provider[] = [
  RunChannel,
  RunContents,
  RunWatches,
  RunStore,
  RunChangesStore,
  RunEvents,
  RunMeter,
  RunCandidates,
  RunTargets,
  RunAdmission,
  RunReader,
  RunsService,
];
const RUN_EXECUTION: Provider[] = [
  RunAgents,
  RunClaimStore,
  RunCommitStore,
  RunCommits,
  RunJournals,
  RunExecution,
  DelegatedRuns,
  RunWorkers,
  RunSettlement,
  RunSweeper,
  RunRedactionStore,
  RunRedactor,
];

function runProviders(options: RunsOptions): Provider[] {
  return [
    { provide: RUNS_OPTIONS, useValue: options },
    RunFeed,
    { provide: RunRecorder, useExisting: DelegatedRuns },
    ...RUNS,
    ...RUN_EXECUTION,
  ];
}
