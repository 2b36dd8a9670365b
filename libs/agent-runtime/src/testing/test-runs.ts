import { Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { BackgroundFaults, type Database, EventCatalog, PLATFORM_EVENTS, PlatformModule } from '#rollcall/platform';
import { eventsOf, RecordedFaults, type TestEvents, testPlatformOptions } from '#rollcall/platform/testing';
import { type Agent, type ModelRequest, ProvidersModule } from '#rollcall/providers';
import { type say, ScriptedModel } from '#rollcall/providers/testing';
import { BudgetsService, REGISTRY_EVENTS, RegistryModule } from '#rollcall/registry';
import { DEFAULT_REGISTRY_OPTIONS } from '#rollcall/registry/testing';
import { AgentRuntimeModule, DEFAULT_RUNTIME_OPTIONS } from '../agent-runtime.module.js';
import { NativeRegistration } from '../agents/native.agent-provider.js';
import { ReactAgent } from '../agents/react.agent.js';
import type { ReactOptions } from '../agents/react.options.js';
import { ConversationsService } from '../conversations/conversations.service.js';
import { DefinitionsService } from '../definitions/definitions.service.js';
import { Delegation } from '../delegation/delegation.js';
import { RUNTIME_EVENTS } from '../event.types.js';
import { type AgentUse, HostedAgents } from '../lifecycle/hosted.agents.js';
import { defaultMiddleware } from '../middleware/default.middleware.js';
import { ModelCircuit } from '../middleware/model-circuit.middleware.js';
import { RunWorkers } from '../runs/execution/run.workers.js';
import { RunCommits } from '../runs/journal/run.commits.js';
import { RunSettlement } from '../runs/journal/run.settlement.js';
import { RunChannel } from '../runs/observe/run.channel.js';
import { RunFeed } from '../runs/observe/run.feed.js';
import { RunReader } from '../runs/observe/run.reader.js';
import { RunWatches } from '../runs/observe/run.watches.js';
import { RunRedactor } from '../runs/retention/run.redactor.js';
import { RunSweeper } from '../runs/retention/run.sweeper.js';
import { RunStore } from '../runs/store/run.store.js';
import type { Run, StartRun } from '../runs/run.js';
import { DEFAULT_RUNS_OPTIONS, type RunsOptions } from '../runs/runs.options.js';
import { RunsService } from '../runs/runs.service.js';
import { LedgerSpending } from '../spending/ledger.spending.js';
import { ToolCatalog } from '../tools/tool.catalog.js';
import { ToolExecutor } from '../tools/tool.executor.js';
import { type Tool, toolBox } from '../tools/tool.js';

const MODELS = { default: 'small', presets: { small: { vendor: 'scripted', model: 'echo' } }, aliases: {} };
const PROVIDERS = { egress: {}, models: MODELS, agents: { programs: {}, credentials: {}, claude: {} } };
const CATALOG = new EventCatalog({ ...REGISTRY_EVENTS, ...RUNTIME_EVENTS, ...PLATFORM_EVENTS });
const LOG = { log: () => undefined, warn: () => undefined, error: () => undefined };
const CHECK_EVERY_MS = 1_000;
const LIMITS = { defaultTimeoutMs: 30_000, maxInputBytes: 100_000, maxOutputChars: 50_000 };

/** How an agent of a test behaves, on every replica. */
export interface TestAgent {
  script(request: ModelRequest, call: number): ReturnType<typeof say>;
  tools?: readonly Tool[];
  options?: ReactOptions;
}

/** The agents of a test. Each replica builds its own instances. */
export class TestAgents {
  readonly defined = new Map<string, TestAgent>();
  readonly external = new Map<string, () => Agent>();
  /** Definitions that have no factory: the runtime builds their agents. */
  readonly plain = new Set<string>();
  /** The models of all replicas, by agent. */
  readonly models = new Map<string, ScriptedModel[]>();

  /** How many model calls all replicas have made for this agent. */
  callsOf(name: string): number {
    return (this.models.get(name) ?? []).reduce((sum, { calls }) => sum + calls.length, 0);
  }
}

interface BuildParts {
  agents: TestAgents;
  spending: LedgerSpending;
  delegation: Delegation;
}

/** Hosts the agents of a test. */
class TestHostedAgents extends HostedAgents {
  readonly replicaId = crypto.randomUUID();
  private readonly built = new Map<string, Agent>();
  private parts?: BuildParts;

  constructor(private readonly agents: TestAgents) {
    super();
  }

  /** Defines the agents, and makes them available for delegation. */
  async prepare(module: TestingModule): Promise<void> {
    const delegation = module.get(Delegation, { strict: false });
    const spending = module.get(LedgerSpending, { strict: false });
    const parts = { agents: this.agents, spending, delegation };
    this.parts = parts;
    const { defined, external, plain } = this.agents;
    for (const [name, agent] of defined)
      delegation.factories.register(name, `The agent ${name}.`, () => reactAgent(name, agent, parts));
    for (const [name, create] of external) delegation.factories.register(name, `The agent ${name}.`, create);
    const definitions = module.get(DefinitionsService, { strict: false });
    for (const name of [...defined.keys(), ...external.keys(), ...plain]) await define(definitions, name);
  }

  async use({ name }: { name: string }): Promise<AgentUse> {
    const agent = this.built.get(name) ?? this.create(name);
    this.built.set(name, agent);
    const { signal } = new AbortController();
    return await Promise.resolve({ agent, revision: 1, signal, release: () => undefined });
  }

  async find(): Promise<undefined> {
    return await Promise.resolve(undefined);
  }

  private create(name: string): Agent {
    const external = this.agents.external.get(name);
    if (external) return external();
    const defined = this.agents.defined.get(name);
    if (!defined || !this.parts) throw new Error(`no agent ${name}`);
    return reactAgent(name, defined, this.parts);
  }
}

/** The runs of one replica. Nothing runs until `start`. */
export interface TestRuns {
  runs: RunsService;
  reader: RunReader;
  feed: RunFeed;
  commits: RunCommits;
  workers: RunWorkers;
  sweeper: RunSweeper;
  store: RunStore;
  settlement: RunSettlement;
  redactor: RunRedactor;
  conversations: ConversationsService;
  budgets: BudgetsService;
  events: TestEvents;
  start(): void;
  stop(): Promise<void>;
  /** Starts a run of a defined agent. */
  run(definition: string, text?: string, tokens?: number): Promise<Run>;
}

export async function testRuns(
  db: Database,
  agents: TestAgents,
  options: Partial<RunsOptions> = {},
): Promise<TestRuns> {
  Logger.overrideLogger(false);
  const host = new TestHostedAgents(agents);
  const module = await compiled(db, host, { ...DEFAULT_RUNS_OPTIONS, ...options });
  const anywhere = { strict: false };
  module.get(ToolCatalog, anywhere).onModuleInit();
  module.get(NativeRegistration, anywhere).onModuleInit();
  await host.prepare(module);
  const events = eventsOf(module);
  const channel = module.get(RunChannel, anywhere);
  const workers = module.get(RunWorkers, anywhere);
  const runs = module.get(RunsService, anywhere);
  const watches = module.get(RunWatches, anywhere);
  let checks: NodeJS.Timeout | undefined;
  return {
    runs,
    workers,
    events,
    reader: module.get(RunReader, anywhere),
    feed: module.get<RunFeed>(RunFeed, anywhere),
    commits: module.get(RunCommits, anywhere),
    sweeper: module.get(RunSweeper, anywhere),
    store: module.get(RunStore, anywhere),
    settlement: module.get(RunSettlement, anywhere),
    redactor: module.get(RunRedactor, anywhere),
    conversations: module.get(ConversationsService, anywhere),
    budgets: module.get(BudgetsService, anywhere),
    start: () => {
      for (const part of [events, channel, workers]) part.start();
      checks = setInterval(() => void watches.check().catch(() => undefined), CHECK_EVERY_MS);
    },
    stop: async () => {
      clearInterval(checks);
      for (const part of [workers, channel, events]) await part.stop();
    },
    run: async (definition, text = 'Begin.', tokens) => await runs.start(requestOf(definition, text, tokens)),
  };
}

function requestOf(definition: string, text: string, tokens?: number): StartRun {
  const limit = tokens === undefined ? {} : { limit: { tokens, microUsd: null } };
  return { namespace: 'default', target: { definition }, input: [{ type: 'text', text }], by: 'key:test', ...limit };
}

async function compiled(db: Database, host: TestHostedAgents, runs: RunsOptions): Promise<TestingModule> {
  const imports = [
    PlatformModule.forRoot(testPlatformOptions(db, { catalog: CATALOG })),
    RegistryModule.forRoot(DEFAULT_REGISTRY_OPTIONS),
    ProvidersModule.forRoot({ ...PROVIDERS, secrets: () => undefined }),
    AgentRuntimeModule.forRoot({ ...DEFAULT_RUNTIME_OPTIONS, runs }),
  ];
  return await Test.createTestingModule({ imports })
    .overrideProvider(BackgroundFaults)
    .useValue(new RecordedFaults())
    .overrideProvider(HostedAgents)
    .useValue(host)
    .compile();
}

async function define(definitions: DefinitionsService, name: string): Promise<void> {
  const content = { description: name, instructions: 'Test.' };
  const key = { namespace: 'default', name };
  if (!(await definitions.has(key))) await definitions.register({ ...key, content, source: 'rest', by: 'test' });
}

function reactAgent(
  name: string,
  { script, tools = [], options = {} }: TestAgent,
  { agents, spending, delegation }: BuildParts,
): ReactAgent {
  const model = new ScriptedModel(script);
  agents.models.set(name, [...(agents.models.get(name) ?? []), model]);
  const middleware = defaultMiddleware({
    log: LOG,
    circuit: new ModelCircuit(),
    budget: { spending, defaultOutputTokens: 200, finalOutputTokens: 64 },
  });
  const agent = new ReactAgent({
    name,
    description: '',
    instructions: '',
    model,
    options,
    runMiddleware: middleware.run,
    modelMiddleware: middleware.model,
    executor: new ToolExecutor(LIMITS),
    delegation: delegation.services,
  });
  agent.addToolBoxes(toolBox('test', [...tools]));
  agent.setRegistry(delegation.factories);
  return agent;
}
