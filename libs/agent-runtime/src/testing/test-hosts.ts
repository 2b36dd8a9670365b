import { Logger } from '@nestjs/common';
import { type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import type { SpawnRequest } from '../lifecycle/agent.spawner.js';
import type { AgentInfo } from '../lifecycle/spawned.agent.js';
import { FakeAgentProvider, type FakeSettings } from './fake.agent-provider.js';
import { type TestRuntime, testRuntime } from './test-runtime.js';

/** A replica with the agent provider `fake`. */
export interface TestHost extends TestRuntime {
  fake: FakeAgentProvider;
}

export const NAMESPACE = 'default';
export const BY = 'key:test';
const TABLES = 'definition, definition_revision, agent, agent_circuit, agent_lease, runtime_agent, runtime_command';

/** Replicas that host agents, on one database, with a running event feed. No periodic work runs. */
export class TestHosts {
  /** The log events of all replicas since the last `reset`. */
  readonly logged: Record<string, unknown>[] = [];
  private readonly hosts: TestHost[] = [];

  private constructor(readonly database: TestDatabase) {}

  static async start(): Promise<TestHosts> {
    return new TestHosts(await testDatabase());
  }

  async add(connection: Parameters<TestDatabase['connectAgain']>[0] = {}): Promise<TestHost> {
    const runtime = await testRuntime(await this.database.connectAgain(connection), { lifecycle: { shutdownMs: 200 } });
    const fake = new FakeAgentProvider();
    runtime.providers.register(fake);
    const record = (message: Record<string, unknown>): number => this.logged.push(message);
    Logger.overrideLogger({ log: record, warn: record, error: record }); // the testing module has set its own logger
    runtime.events.start();
    await runtime.follower.start();
    const host = { ...runtime, fake };
    this.hosts.push(host);
    return host;
  }

  /** Closes all agents, and deletes all agents and definitions. */
  async reset(): Promise<void> {
    await Promise.all(this.hosts.map(closeAll));
    await this.database.db.query(`TRUNCATE ${TABLES}`);
    this.logged.length = 0;
  }

  async stop(): Promise<void> {
    await this.reset();
    for (const { events } of this.hosts) await events.stop();
    await this.database.drop();
  }
}

export function fakeContent(settings: FakeSettings = {}, more: object = {}): Record<string, unknown> {
  return { description: 'A test agent.', provider: 'fake', settings, ...more };
}

export async function define({ definitions }: TestHost, name: string, content = fakeContent()): Promise<void> {
  await definitions.register({ namespace: NAMESPACE, name, source: 'rest', by: BY, content });
}

export async function replace({ definitions }: TestHost, name: string): Promise<void> {
  const content = fakeContent({}, { description: crypto.randomUUID(), capabilities: ['review'] });
  await definitions.replace({ namespace: NAMESPACE, name, source: 'rest', by: BY, content });
}

export async function spawn(
  { lifecycle }: TestHost,
  name: string,
  request: Partial<SpawnRequest> = {},
): Promise<AgentInfo> {
  return await lifecycle.spawn({ namespace: NAMESPACE, name, content: fakeContent(), by: BY, ...request });
}

/** The code of the error; `succeeded` if there is none. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'succeeded',
    (error: { code: string }) => error.code,
  );
}

async function closeAll({ host, fake }: TestHost): Promise<void> {
  fake.proceed();
  await Promise.all(host.spawned.map(async (agent) => await host.shutdown(agent, 10)));
  await host.closeOthers(10);
  host.reap(0);
  fake.built.length = 0;
  fake.attempts = 0;
}
