import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  BackgroundFaults,
  type Database,
  EventCatalog,
  NamespacesService,
  PLATFORM_EVENTS,
  PlatformModule,
} from '#rollcall/platform';
import { eventsOf, RecordedFaults, type TestEvents, testPlatformOptions } from '#rollcall/platform/testing';
import {
  AgentProviderRegistry,
  type ModelsConfig,
  ProvidersModule,
  type SecretSource,
  VendorRegistry,
} from '#rollcall/providers';
import { AgentsService, REGISTRY_EVENTS, RegistryModule } from '#rollcall/registry';
import { DEFAULT_REGISTRY_OPTIONS } from '#rollcall/registry/testing';
import { AgentRuntimeModule, DEFAULT_RUNTIME_OPTIONS } from '../agent-runtime.module.js';
import { NativeRegistration } from '../agents/native.agent-provider.js';
import { AgentBuilder } from '../definitions/agent.builder.js';
import { DefinitionImports } from '../definitions/definition.imports.js';
import { DefinitionValidator } from '../definitions/definition.validator.js';
import { DefinitionsService } from '../definitions/definitions.service.js';
import { DefinitionSources } from '../definitions/deployment/definition.sources.js';
import type { DeploymentOptions } from '../definitions/deployment/deployment.options.js';
import { Delegation } from '../delegation/delegation.js';
import { RUNTIME_EVENTS } from '../event.types.js';
import { AgentHost } from '../lifecycle/agent.host.js';
import { AgentLifecycle } from '../lifecycle/agent.lifecycle.js';
import { DefinitionFollower } from '../lifecycle/definition.follower.js';
import type { LifecycleOptions } from '../lifecycle/lifecycle.options.js';
import { AgentBeats } from '../lifecycle/registration/agent.beats.js';
import { LostHosts } from '../lifecycle/registration/lost.hosts.js';
import { AgentShutdowns } from '../lifecycle/shutdown/agent.shutdowns.js';
import { RuntimeCommands } from '../lifecycle/shutdown/runtime.commands.js';
import { SkillLibrary } from '../skills/skill.library.js';
import { ToolCatalog } from '../tools/tool.catalog.js';

/** The services of the runtime of one replica. */
export interface TestRuntime {
  definitions: DefinitionsService;
  validator: DefinitionValidator;
  namespaces: NamespacesService;
  events: TestEvents;
  builder: AgentBuilder;
  delegation: Delegation;
  providers: AgentProviderRegistry;
  /** A test can add a vendor with its own models. */
  vendors: VendorRegistry;
  /** Errors of background work. */
  faults: RecordedFaults;
  /** Registers the definitions of the deployment, as a start does. */
  sources: DefinitionSources;
  imports: DefinitionImports;
  lifecycle: AgentLifecycle;
  host: AgentHost;
  beats: AgentBeats;
  lostHosts: LostHosts;
  commands: RuntimeCommands;
  follower: DefinitionFollower;
  shutdowns: AgentShutdowns;
  agents: AgentsService;
}

export interface TestRuntimeOptions extends DeploymentOptions {
  /** Providers of the application. */
  readonly providers?: Type[];
  readonly lifecycle?: Partial<LifecycleOptions>;
  readonly secrets?: SecretSource;
  readonly models?: ModelsConfig;
}

const MODELS = {
  default: 'small',
  presets: { small: { vendor: 'scripted', model: 'one' } },
  aliases: { sonnet: 'small' },
};
const PROVIDERS = { egress: {}, models: MODELS, agents: { programs: {}, credentials: {}, claude: {} } };
const CATALOG = new EventCatalog({ ...REGISTRY_EVENTS, ...RUNTIME_EVENTS, ...PLATFORM_EVENTS });

/** The runtime of one replica on this database, with the built-in tools and the skills of examples/. No periodic work runs. */
export async function testRuntime(db: Database, options: TestRuntimeOptions = {}): Promise<TestRuntime> {
  const { providers = [], secrets = () => undefined, models = MODELS, ...deployment } = options;
  const faults = new RecordedFaults();
  const imports = [
    PlatformModule.forRoot(testPlatformOptions(db, { catalog: CATALOG })),
    RegistryModule.forRoot(DEFAULT_REGISTRY_OPTIONS),
    ProvidersModule.forRoot({ ...PROVIDERS, models, secrets }),
    AgentRuntimeModule.forRoot({ ...DEFAULT_RUNTIME_OPTIONS, skills: { folders: ['examples/skills'] }, ...deployment }),
  ];
  const module = await Test.createTestingModule({ imports, providers })
    .overrideProvider(BackgroundFaults)
    .useValue(faults)
    .compile();
  const anywhere = { strict: false };
  module.get(ToolCatalog, anywhere).onModuleInit();
  module.get(NativeRegistration, anywhere).onModuleInit();
  await module.get(SkillLibrary, anywhere).reload();
  return {
    definitions: module.get(DefinitionsService, anywhere),
    validator: module.get(DefinitionValidator, anywhere),
    namespaces: module.get(NamespacesService, anywhere),
    events: eventsOf(module),
    builder: module.get(AgentBuilder, anywhere),
    delegation: module.get(Delegation, anywhere),
    providers: module.get(AgentProviderRegistry, anywhere),
    vendors: module.get(VendorRegistry, anywhere),
    faults,
    sources: module.get(DefinitionSources, anywhere),
    imports: module.get(DefinitionImports, anywhere),
    lifecycle: module.get(AgentLifecycle, anywhere),
    host: module.get(AgentHost, anywhere),
    beats: module.get(AgentBeats, anywhere),
    lostHosts: module.get(LostHosts, anywhere),
    commands: module.get(RuntimeCommands, anywhere),
    follower: module.get(DefinitionFollower, anywhere),
    shutdowns: module.get(AgentShutdowns, anywhere),
    agents: module.get(AgentsService, anywhere),
  };
}
