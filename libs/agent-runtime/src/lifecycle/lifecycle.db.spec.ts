import { Logger } from '@nestjs/common';
import { type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { FakeAgentProvider, type FakeSettings } from '../testing/fake.agent-provider.js';
import { type TestRuntime, testRuntime } from '../testing/index.js';
import type { AgentInfo } from './agent.info.js';
import type { SpawnRequest } from './spawn.plans.js';

interface Replica extends TestRuntime {
  fake: FakeAgentProvider;
}

let database: TestDatabase;
let here: Replica;
let there: Replica;
const logged: Record<string, unknown>[] = [];
beforeAll(async () => {
  database = await testDatabase();
  here = await replica();
  there = await replica();
  for (const { events, follower } of [here, there]) {
    events.start();
    await follower.start();
  }
});
beforeEach(async () => {
  await Promise.all([here, there].map(closeAll));
  await database.db.query(
    'TRUNCATE definition, definition_revision, agent, agent_lease, runtime_agent, runtime_command',
  );
  logged.length = 0;
});
afterAll(async () => {
  for (const one of [here, there]) {
    await closeAll(one);
    await one.events.stop();
  }
  await database.drop();
});

async function replica(): Promise<Replica> {
  const runtime = await testRuntime(await database.connectAgain(), { lifecycle: { shutdownMs: 200 } });
  const fake = new FakeAgentProvider();
  runtime.providers.register(fake);
  const record = (message: Record<string, unknown>): number => logged.push(message);
  Logger.overrideLogger({ log: record, warn: record, error: record }); // the testing module has set its own logger
  return { ...runtime, fake };
}

async function closeAll({ host, fake }: Replica): Promise<void> {
  fake.proceed();
  await Promise.all(host.spawned.map(async (agent) => await host.shutdown(agent, 10)));
  await host.closeOthers(10);
  host.reap(0);
  fake.built.length = 0;
  fake.attempts = 0;
}

const NAMESPACE = 'default';
const BY = 'key:test';
const ADA = { namespace: NAMESPACE, name: 'ada' };
const content = (settings: FakeSettings = {}, more: object = {}): Record<string, unknown> => ({
  description: 'A test agent.',
  provider: 'fake',
  settings,
  ...more,
});

async function define(name: string, settings: FakeSettings = {}, more: object = {}): Promise<void> {
  const draft = { namespace: NAMESPACE, name, source: 'rest', by: BY, content: content(settings, more) } as const;
  await here.definitions.register(draft);
}

async function replace(name: string, on = here): Promise<void> {
  const changed = content({}, { description: crypto.randomUUID(), capabilities: ['review'] });
  await on.definitions.replace({ namespace: NAMESPACE, name, source: 'rest', by: BY, content: changed });
}

async function spawn(name: string, request: Partial<SpawnRequest> = {}, on = here): Promise<AgentInfo> {
  return await on.lifecycle.spawn({ namespace: NAMESPACE, name, content: content(), by: BY, ...request });
}

const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
  await work.then(
    () => 'succeeded',
    (error: { code: string }) => error.code,
  );

describe('spawn', () => {
  it('S1.1 S3.11 an agent of a definition is built by its provider and joins the registry', async () => {
    await define('ada', {}, { capabilities: ['build'], maxConcurrency: 3 });
    const info = await here.lifecycle.spawn({ namespace: NAMESPACE, definition: 'ada', by: BY });
    expect(info).toMatchObject({ ...ADA, agentType: 'in-process', provider: 'fake', state: 'idle', revision: 1 });
    const record = await there.agents.get('ada');
    expect(record).toMatchObject({ status: 'active', definition: 'ada@1', capabilities: ['build'], endpoint: null });
    expect(record).toMatchObject({ owner: BY, load: { capacity: 3 }, provider: { adapter: 'fake' } });
  });

  it('S1.1 an agent can be spawned without a definition, or under another name', async () => {
    await define('ada');
    expect(await spawn('bob')).toMatchObject({ name: 'bob', definition: null, revision: null });
    expect(await spawn('cat', { definition: 'ada', content: undefined })).toMatchObject({
      name: 'cat',
      definition: 'ada',
    });
  });

  it('S1.1 errors of the provider pass through unchanged, and nothing is registered', async () => {
    const failed = spawn('ada', { content: content({ builds: 'fails' }) });
    await expect(failed).rejects.toMatchObject({ code: 'AGENT_UNREACHABLE', message: 'ada cannot be built' });
    expect(await there.lifecycle.has(ADA)).toBe(false);
    expect(await codeOf(here.agents.get('ada'))).toBe('AGENT_NOT_FOUND');
  });

  it('S1.1 an unknown provider, an unknown definition and an unclear request are errors of their own', async () => {
    const spawned = async (request: Partial<SpawnRequest>): Promise<unknown> => await codeOf(spawn('ada', request));
    expect(await spawned({ content: { ...content(), provider: 'fale' } })).toBe('DEFINITION_INVALID');
    expect(await spawned({ content: undefined, definition: 'ada' })).toBe('DEFINITION_NOT_FOUND');
    expect(await spawned({ definition: 'ada' })).toBe('SPAWN_INVALID');
    expect(await spawned({ name: undefined })).toBe('SPAWN_INVALID');
    expect(await spawned({ name: 'a b' })).toBe('DEFINITION_NAME_INVALID');
    await define('ada');
    expect(await spawned({})).toBe('AGENT_NAME_RESERVED');
  });

  it('S1.2 a taken name is rejected on every replica; names are case-sensitive', async () => {
    await spawn('ada');
    expect(await codeOf(spawn('ada'))).toBe('AGENT_ALREADY_EXISTS');
    expect(await codeOf(spawn('ada', {}, there))).toBe('AGENT_ALREADY_EXISTS');
    expect(await codeOf(spawn('Ada', {}, there))).toBe('succeeded');
    expect([here.fake.attempts, there.fake.attempts]).toEqual([1, 1]);
  });

  it('S1.2 of concurrent spawns of one name on two replicas one wins, and the others leave no agent behind', async () => {
    const slow = { content: content({ builds: 'slow' }) };
    const spawns = [here, there, here, there].map(async (on) => await codeOf(spawn('ada', slow, on)));
    await until('all agents are under construction', () => here.fake.attempts + there.fake.attempts === 4);
    here.fake.proceed();
    there.fake.proceed();
    const results = await Promise.all(spawns);
    expect(results.toSorted()).toEqual([...Array.from({ length: 3 }, () => 'AGENT_ALREADY_EXISTS'), 'succeeded']);
    expect(here.fake.built.length + there.fake.built.length).toBe(4);
    expect([...here.fake.open, ...there.fake.open]).toHaveLength(1);
    expect(here.host.spawned.length + there.host.spawned.length).toBe(1);
  });

  it('S1.8 S0.9 each replica has its own agents', async () => {
    await spawn('ada');
    expect(here.host.spawned).toHaveLength(1);
    expect(there.host.spawned).toHaveLength(0);
  });
});

describe('use', () => {
  it('S0.3 a definition gets one agent on first use, for any number of concurrent callers', async () => {
    await define('ada');
    const uses = await Promise.all(Array.from({ length: 100 }, async () => await here.lifecycle.use(ADA)));
    expect(here.fake.attempts).toBe(1);
    expect(new Set(uses.map(({ agent }) => agent)).size).toBe(1);
    expect(await here.lifecycle.has(ADA)).toBe(false);
  });

  it('S0.3 the slow construction of one agent does not delay another', async () => {
    await define('slow', { builds: 'slow' });
    await define('ada');
    const waiting = here.lifecycle.use({ ...ADA, name: 'slow' });
    expect((await here.lifecycle.use(ADA)).agent.name).toBe('ada');
    await until('both have started', () => here.fake.attempts === 2);
    here.fake.proceed();
    expect((await waiting).agent.name).toBe('slow');
  });

  it('S0.4 an unknown name is not kept: after its registration, the next use succeeds', async () => {
    expect(await codeOf(here.lifecycle.use(ADA))).toBe('DEFINITION_NOT_FOUND');
    await define('ada');
    expect(await codeOf(here.lifecycle.use(ADA))).toBe('succeeded');
  });

  it('uses the spawned agent of this replica; another replica needs a definition', async () => {
    await spawn('ada');
    expect((await here.lifecycle.use(ADA)).agent).toBe(here.fake.built[0]);
    expect(await here.lifecycle.hostOf(ADA)).toBe(here.lifecycle.replicaId);
    expect(await there.lifecycle.hostOf(ADA)).toBe(here.lifecycle.replicaId);
    await expect(there.lifecycle.use(ADA)).rejects.toMatchObject({
      code: 'AGENT_HOSTED_ELSEWHERE',
      replicaId: here.lifecycle.replicaId,
    });
    await define('bob');
    await here.lifecycle.spawn({ namespace: NAMESPACE, definition: 'bob', by: BY });
    expect((await there.lifecycle.use({ ...ADA, name: 'bob' })).agent).toBe(there.fake.built[0]);
  });
});

describe('a changed definition', () => {
  it('S0.2 the call in progress finishes on the old revision, the next uses the new one, and the registry has it', async () => {
    await define('ada');
    await here.lifecycle.spawn({ namespace: NAMESPACE, definition: 'ada', by: BY });
    const old = await here.lifecycle.use(ADA);
    await replace('ada');
    const next = await here.lifecycle.use(ADA);
    expect([old.revision, next.revision, old.signal.aborted]).toEqual([1, 2, false]);
    old.release();
    await until('the old agent is closed', () => here.fake.built[0]?.isShutDown === true);
    expect(here.fake.open).toHaveLength(1);
    await until('the registry has the revision', async () => (await there.agents.get('ada')).definition === 'ada@2');
    expect((await there.agents.get('ada')).capabilities).toEqual(['review']);
    expect(await there.lifecycle.get(ADA)).toMatchObject({ revision: 2 });
  });

  it('S0.6 the agents of a removed definition leave the registry, and are closed when their calls have ended', async () => {
    await define('ada');
    await spawn('bob', { definition: 'ada', content: undefined });
    const use = await here.lifecycle.use({ ...ADA, name: 'bob' });
    await here.definitions.unregister({ ...ADA, source: 'rest', by: BY });
    await until('it has left', async () => !(await there.lifecycle.has({ ...ADA, name: 'bob' })));
    expect(use.signal.aborted).toBe(false);
    expect(await codeOf(here.lifecycle.use({ ...ADA, name: 'bob' }))).toBe('DEFINITION_NOT_FOUND');
    use.release();
    await until('it is closed', () => here.fake.open.length === 0);
  });
});

describe('get and list', () => {
  it('S1.3 an agent is found on every replica; an unknown name is AGENT_NOT_FOUND', async () => {
    const info = await spawn('ada');
    expect(await here.lifecycle.get(ADA)).toEqual(info);
    expect(await there.lifecycle.get(ADA)).toEqual(info);
    expect(await there.lifecycle.has(ADA)).toBe(true);
    expect(await codeOf(there.lifecycle.get({ ...ADA, name: 'bob' }))).toBe('AGENT_NOT_FOUND');
    expect(await there.lifecycle.has({ ...ADA, namespace: 'other' })).toBe(false);
  });

  it('S1.4 lists agents by name, with filters; the state comes from the agent', async () => {
    await spawn('bob', {}, there);
    await spawn('ada');
    const names = async (on: Replica, filter = {}): Promise<string[]> =>
      (await on.lifecycle.list(NAMESPACE, 10, undefined, filter)).map(({ name }) => name);
    expect(await names(here)).toEqual(['ada', 'bob']);
    expect(await names(here, { provider: 'native' })).toEqual([]);
    const { release } = await here.lifecycle.use(ADA);
    expect(await names(here, { state: 'busy' })).toEqual(['ada']);
    await here.beats.pass();
    expect(await names(there, { state: 'busy' })).toEqual(['ada']);
    expect((await there.agents.get('ada')).load.inFlight).toBe(1);
    release();
    expect(await names(here, { state: 'idle' })).toEqual(['ada', 'bob']);
    expect(await here.lifecycle.list(NAMESPACE, 10, 'ada')).toHaveLength(1);
  });
});

describe('shutdown', () => {
  it('S1.5 closes the agent and removes it from the registry', async () => {
    await spawn('ada');
    await here.lifecycle.shutdown(ADA);
    expect(here.fake.open).toHaveLength(0);
    expect(await there.lifecycle.has(ADA)).toBe(false);
    expect(await here.agents.get('ada')).toMatchObject({ status: 'left', leaveReason: 'shutdown' });
    expect(await codeOf(here.lifecycle.shutdown(ADA))).toBe('AGENT_NOT_FOUND');
    expect(await codeOf(spawn('ada', {}, there))).toBe('succeeded');
  });

  it('S1.5 an agent that fails to close is removed, then the error is thrown', async () => {
    await spawn('ada', { content: content({ closes: 'fails' }) });
    await expect(here.lifecycle.shutdown(ADA)).rejects.toMatchObject({
      code: 'AGENT_SHUTDOWN_FAILED',
      message: expect.stringContaining('ada cannot be closed') as string,
    });
    expect(await there.lifecycle.has(ADA)).toBe(false);
  });

  it('S1.5 an agent that does not close is removed at the deadline', async () => {
    await spawn('ada', { content: content({ closes: 'hangs' }) });
    expect(await here.lifecycle.stop(ADA)).toMatchObject({ phase: 'kill', forced: true });
    expect(await there.lifecycle.has(ADA)).toBe(false);
  });

  it('S1.9 logs spawns and shutdowns with the fields of the specification', async () => {
    await spawn('ada');
    await spawn('bob', { content: content({ closes: 'fails' }) });
    await here.lifecycle.shutdown(ADA);
    await codeOf(here.lifecycle.shutdown({ ...ADA, name: 'bob' }));
    const namespace = NAMESPACE;
    expect(logged).toEqual([
      { event: 'agent.spawned', namespace, name: 'ada', agentType: 'in-process', provider: 'fake' },
      { event: 'agent.spawned', namespace, name: 'bob', agentType: 'in-process', provider: 'fake' },
      { event: 'agent.shutdown', namespace, name: 'ada' },
      { event: 'agent.shutdown_failed', namespace, name: 'bob', error: 'bob cannot be closed' },
    ]);
  });
});

describe('all replicas', () => {
  it('S0.2 S0.6 a replica renews its agents when another one changes their definition', async () => {
    await define('ada');
    const lazy = await there.lifecycle.use(ADA);
    await spawn('bob', { definition: 'ada', content: undefined }, there);
    lazy.release();
    await replace('ada');
    await until('the registry has the revision', async () => (await here.agents.get('bob')).definition === 'ada@2');
    expect(await there.lifecycle.use(ADA)).toMatchObject({ revision: 2 });
    await here.definitions.unregister({ ...ADA, source: 'rest', by: BY });
    await until('bob has left', async () => !(await here.lifecycle.has({ ...ADA, name: 'bob' })));
    expect(await codeOf(there.lifecycle.use(ADA))).toBe('DEFINITION_NOT_FOUND');
  });

  it('S1.5 an agent of another replica is shut down there, and its error is thrown here', async () => {
    await spawn('ada', {}, there);
    await here.lifecycle.shutdown(ADA, 5_000);
    expect(there.fake.open).toHaveLength(0);
    await spawn('ada', { content: content({ closes: 'fails' }) }, there);
    const failed = here.lifecycle.shutdown(ADA, 5_000);
    await expect(failed).rejects.toThrow('ada cannot be closed');
    expect(await here.lifecycle.has(ADA)).toBe(false);
  });

  it('S1.5 an agent whose replica does not answer is removed from the registry, and closed with its next heartbeat', async () => {
    await spawn('ada', {}, there);
    await there.events.listener.stop();
    const result = await here.lifecycle.stop(ADA, 100);
    expect(result).toMatchObject({
      phase: 'kill',
      forced: true,
      error: expect.stringContaining('did not answer') as string,
    });
    expect(await here.lifecycle.has(ADA)).toBe(false);
    await there.beats.pass();
    expect(there.fake.open).toHaveLength(0);
  });

  it('a command whose notification was lost is found by the next pass', async () => {
    await spawn('ada', {}, there);
    const stopped = here.lifecycle.stop(ADA, 20_000);
    await until('it is executed', async () => {
      await there.commands.pass();
      return there.fake.open.length === 0;
    });
    await here.commands.pass();
    expect(await stopped).toMatchObject({ phase: 'stop', forced: false, error: null });
  });
});

describe('shutdownAll', () => {
  beforeAll(async () => {
    await there.events.stop();
    there = await replica();
    there.events.start();
  });

  it('S1.6 a hanging, a failing and a healthy agent on two replicas: one report, and nothing stops at a failure', async () => {
    await spawn('hangs', { content: content({ closes: 'hangs' }) });
    await spawn('fails', { content: content({ closes: 'fails' }) }, there);
    await spawn('healthy', {}, there);
    await spawn('busy');
    const { signal, release } = await here.lifecycle.use({ ...ADA, name: 'busy' });
    signal.addEventListener('abort', release);
    const report = await here.lifecycle.shutdownAll(NAMESPACE, 2_000);
    expect(report.succeeded).toEqual(['busy', 'healthy']);
    expect(Object.keys(report.failed)).toEqual(['fails', 'hangs']);
    expect(report.failed['fails']).toBe('fails cannot be closed');
    expect(report.details).toMatchObject({
      busy: { phase: 'drain', forced: false, error: null },
      fails: { phase: 'abort', forced: false },
      hangs: { phase: 'kill', forced: true },
      healthy: { phase: 'stop', forced: false, error: null },
    });
    expect(await here.lifecycle.list(NAMESPACE, 10)).toEqual([]);
    expect(logged.at(-1)).toEqual({ event: 'registry.shutdown_all', count: 4, succeeded: 2, failed: 2 });
  });

  it('S1.6 an agent that is spawned meanwhile is rejected or included', async () => {
    await spawn('hangs', { content: content({ closes: 'hangs' }) });
    const slow = codeOf(spawn('slow', { content: content({ builds: 'slow' }) }));
    await until('it is under construction', () => here.fake.attempts === 2);
    const stopping = here.lifecycle.shutdownAll(NAMESPACE, 1_000);
    expect(await codeOf(spawn('late'))).toBe('AGENTS_STOPPING');
    expect(await codeOf(spawn('elsewhere', {}, there))).toBe('succeeded');
    here.fake.proceed();
    expect(await slow).toBe('AGENTS_STOPPING');
    const report = await stopping;
    expect(Object.keys(report.details)).toContain('hangs');
    expect(here.fake.open.map(({ name }) => name)).toEqual(['hangs']);
    const live = (await here.lifecycle.list(NAMESPACE, 10)).map(({ name }) => name);
    expect([...live, ...report.succeeded]).toContain('elsewhere');
    expect(await codeOf(spawn('late'))).toBe('succeeded');
  });

  it('S1.6 a replica that stops closes its agents, and rejects new ones', async () => {
    const leaving = await replica();
    await spawn('ada', {}, leaving);
    await define('bob');
    await leaving.lifecycle.use({ ...ADA, name: 'bob' });
    leaving.shutdowns.stopSpawning();
    expect(await codeOf(spawn('cat', {}, leaving))).toBe('AGENTS_STOPPING');
    await leaving.shutdowns.stop();
    expect(leaving.fake.open).toHaveLength(0);
    expect(await here.lifecycle.has(ADA)).toBe(false);
    expect(logged.at(-1)).toEqual({ event: 'registry.shutdown_all', count: 1, succeeded: 1, failed: 0 });
  });
});

describe('heartbeats', () => {
  it('an agent that an operator removes from the registry is closed', async () => {
    await spawn('ada');
    await there.agents.remove('ada', 'quarantined');
    await here.beats.pass();
    expect(here.fake.open).toHaveLength(0);
    expect(here.host.spawned).toHaveLength(0);
  });

  it('an evicted agent registers again', async () => {
    await spawn('ada');
    await there.agents.remove('ada', 'evicted');
    expect(await there.lifecycle.has(ADA)).toBe(false);
    await here.beats.pass();
    expect(await there.lifecycle.get(ADA)).toMatchObject({ name: 'ada', replicaId: here.lifecycle.replicaId });
    expect(here.fake.open).toHaveLength(1);
  });

  it('an evicted agent is closed if another one has its name', async () => {
    await spawn('ada');
    await there.agents.remove('ada', 'evicted');
    await spawn('ada', {}, there);
    await here.beats.pass();
    expect([here.fake.open.length, there.fake.open.length]).toEqual([0, 1]);
    expect(await here.lifecycle.hostOf(ADA)).toBe(there.lifecycle.replicaId);
  });

  it('an idle instance is closed, stays registered, and is built again by the next call', async () => {
    await spawn('ada');
    here.host.reap(0);
    await until('it is closed', () => here.fake.open.length === 0);
    expect(await there.lifecycle.get(ADA)).toMatchObject({ state: 'idle' });
    await here.lifecycle.use(ADA);
    here.host.reap(0);
    expect(here.fake.open).toHaveLength(1);
  });
});
