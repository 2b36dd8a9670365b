import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Client } from 'pg';
import {
  AgentRuntimeModule,
  defineTool,
  GuardedAgents,
  RUNTIME_EVENTS,
  RUNTIME_SCHEMA,
  Tool,
  toolBox,
  ToolCatalog,
} from '#rollcall/agent-runtime';
import {
  Database,
  EventCatalog,
  EventLog,
  PLATFORM_EVENTS,
  EventOutbox,
  joinSchemas,
  migrate,
  PLATFORM_SCHEMA,
  PlatformModule,
  type Schema,
} from '#rollcall/platform';
import { dropDatabase, emptyDatabase, SOME_EVENTS } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { message, ProvidersModule, type ProvidersOptions, VendorRegistry } from '#rollcall/providers';
import { startFakeHttpAgent } from '#rollcall/providers/testing';
import {
  AgentsService,
  Ranker,
  REGISTRY_EVENTS,
  REGISTRY_SCHEMA,
  RegistryClock,
  RegistryModule,
} from '#rollcall/registry';
import { DEFAULT_REGISTRY_OPTIONS, given } from '#rollcall/registry/testing';

const REGISTRY = joinSchemas(PLATFORM_SCHEMA, REGISTRY_SCHEMA);
const RUNTIME = joinSchemas(PLATFORM_SCHEMA, REGISTRY_SCHEMA, RUNTIME_SCHEMA);
const EVERY_EVENT = new EventCatalog({ ...REGISTRY_EVENTS, ...RUNTIME_EVENTS, ...PLATFORM_EVENTS });
const NO_PROVIDERS: ProvidersOptions = {
  egress: {},
  models: { default: 'small', presets: { small: { vendor: 'scripted', model: 'one' } } },
  agents: { programs: {}, credentials: {}, claude: {} },
  secrets: () => undefined,
};

@Injectable()
class GreetingTools {
  @Tool({ description: 'Greets.' })
  greet(): string {
    return 'hello';
  }
}

@Module({ providers: [GreetingTools] })
class GreetingModule {}

let url: string;
let module: TestingModule | undefined;

beforeEach(async () => void (url = await emptyDatabase()));
afterEach(async () => {
  await module?.close();
  module = undefined;
  await dropDatabase(url);
});

function platform(catalog: EventCatalog): DynamicModule {
  return PlatformModule.forRoot({
    database: { url, poolSize: 4, operationTimeoutMs: 5_000 },
    catalog,
    events: { keepMs: 60_000, keepCount: 1_000 },
    sinks: { keepDeliveriesMs: 60_000 },
  });
}

async function boot(schema: Schema, ...imports: DynamicModule[]): Promise<TestingModule> {
  if (schema.migrations.length > 0) await migrate({ url, poolSize: 2, operationTimeoutMs: 5_000 }, schema);
  module = await Test.createTestingModule({ imports }).compile();
  return await module.init();
}

/** Closes the module and returns the names of the connections that it left open. The server needs a moment to end them. */
async function leftOpen(): Promise<string[]> {
  await module?.close();
  module = undefined;
  const client = new Client({ connectionString: url });
  await client.connect();
  const names = async (): Promise<string[]> => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT application_name AS name FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    );
    return rows.map(({ name }) => name);
  };
  await until('all connections are closed', async () => (await names()).length === 0).catch(() => undefined);
  const open = await names();
  await client.end();
  return open;
}

describe('on a new database', () => {
  it('PlatformModule starts, logs an event and closes its connections', async () => {
    const context = await boot(PLATFORM_SCHEMA, platform(SOME_EVENTS));
    const data = { generation: 1, name: 'a', capabilities: [] };
    const outbox = context.get(EventOutbox);
    await context.get(Database).transaction(async () => await outbox.append('agent.joined', 'a', data));
    await until('the event is in the log', async () => (await context.get(EventLog).head()) === 1);
    expect(await leftOpen()).toEqual([]);
  });

  it('RegistryModule starts with the platform, registers an agent, finds it and closes its connections', async () => {
    const context = await boot(REGISTRY, platform(EVERY_EVENT), RegistryModule.forRoot(DEFAULT_REGISTRY_OPTIONS));
    const facts = given.registration({ capabilities: ['build'] });
    await context.get(AgentsService).register({ agentId: 'builder', leaseToken: null, by: 'test', facts });
    await until('the agent is found', () => {
      const query = { capabilities: ['build'], limit: 10 };
      const { candidates } = context.get(Ranker).rank(query, context.get(RegistryClock).now());
      return candidates.length === 1;
    });
    expect(await leftOpen()).toEqual([]);
  });

  it('RegistryModule rejects options that contradict each other', () => {
    const lease = { ...DEFAULT_REGISTRY_OPTIONS.lease, missesUntilEvicted: 1 };
    const circuit = { ...DEFAULT_REGISTRY_OPTIONS.circuit, failuresToOpen: 0 };
    expect(() => RegistryModule.forRoot({ ...DEFAULT_REGISTRY_OPTIONS, lease, circuit })).toThrow(
      /missesUntilEvicted \(1\) must be more than missesUntilSuspect.*failuresToOpen must be at least 1/s,
    );
  });

  it('ProvidersModule starts without the database and lists its vendors', async () => {
    const context = await boot({ migrations: [] }, ProvidersModule.forRoot(NO_PROVIDERS));
    const names = context
      .get(VendorRegistry)
      .list()
      .map(({ name }) => name);
    expect(names).toContain('anthropic');
    expect(await leftOpen()).toEqual([]);
  });

  it('AgentRuntimeModule starts with the other modules, calls an agent through its circuit and closes its connections', async () => {
    const providers = ProvidersModule.forRoot({ ...NO_PROVIDERS, egress: { allowLoopback: true } });
    const others = [platform(EVERY_EVENT), RegistryModule.forRoot(DEFAULT_REGISTRY_OPTIONS), providers];
    const context = await boot(RUNTIME, ...others, AgentRuntimeModule.forRoot());
    await context
      .get(AgentsService)
      .register({ agentId: 'ada', leaseToken: null, by: 'test', facts: given.registration() });
    const server = await startFakeHttpAgent('json');
    const agent = await context
      .get(GuardedAgents)
      .create('ada', 'http', { name: 'ada', settings: { url: server.url } });
    const types: string[] = [];
    const text = JSON.stringify({ does: 'answer', pieces: ['hello'] });
    for await (const { type } of agent.handle(message(text))) types.push(type);
    expect(types.at(-1)).toBe('finished');
    await agent.shutdown();
    await server.close();
    expect(await leftOpen()).toEqual([]);
  });

  it('S2.2 AgentRuntimeModule finds the tools of other modules, and accepts further toolboxes', async () => {
    const others = [
      platform(EVERY_EVENT),
      RegistryModule.forRoot(DEFAULT_REGISTRY_OPTIONS),
      ProvidersModule.forRoot(NO_PROVIDERS),
    ];
    const context = await boot(RUNTIME, ...others, AgentRuntimeModule.forRoot(), { module: GreetingModule });
    const catalog = context.get(ToolCatalog);
    catalog.add(toolBox('farewell', [defineTool({ name: 'part', description: 'Parts.', execute: () => 'bye' })]));
    const own = catalog.list('default').slice(0, 2);
    expect(own.map(({ tool, toolbox }) => [tool.name, toolbox])).toEqual([
      ['greet', 'greeting-tools'],
      ['part', 'farewell'],
    ]);
    expect(await leftOpen()).toEqual([]);
  });
});
