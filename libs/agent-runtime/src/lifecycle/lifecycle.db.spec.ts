import { until } from '#rollcall/test-support';
import {
  BY,
  codeOf,
  define,
  fakeContent,
  NAMESPACE,
  replace,
  spawn,
  type TestHost,
  TestHosts,
} from '../testing/test-hosts.js';
import type { SpawnRequest } from './agent.spawner.js';

let hosts: TestHosts;
let here: TestHost;
let there: TestHost;
beforeAll(async () => {
  hosts = await TestHosts.start();
  here = await hosts.add();
  there = await hosts.add();
});
beforeEach(async () => await hosts.reset());
afterAll(async () => await hosts.stop());

const ADA = { namespace: NAMESPACE, name: 'ada' };

describe('spawn', () => {
  it('S1.1 S3.11 an agent of a definition is built by its provider and joins the registry', async () => {
    await define(here, 'ada', fakeContent({}, { capabilities: ['build'], maxConcurrency: 3 }));
    const info = await here.lifecycle.spawn({ namespace: NAMESPACE, definition: 'ada', by: BY });
    expect(info).toMatchObject({ ...ADA, agentType: 'in-process', provider: 'fake', state: 'idle', revision: 1 });
    const record = await there.agents.get('ada');
    expect(record).toMatchObject({ status: 'active', definition: 'ada@1', capabilities: ['build'], endpoint: null });
    expect(record).toMatchObject({ owner: BY, load: { capacity: 3 }, provider: { adapter: 'fake' } });
  });

  it('S1.1 an agent can be spawned without a definition, or under another name', async () => {
    await define(here, 'ada');
    expect(await spawn(here, 'bob')).toMatchObject({ name: 'bob', definition: null, revision: null });
    expect(await spawn(here, 'cat', { definition: 'ada', content: undefined })).toMatchObject({
      name: 'cat',
      definition: 'ada',
    });
  });

  it('S1.1 errors of the provider pass through unchanged, and nothing is registered', async () => {
    const failed = spawn(here, 'ada', { content: fakeContent({ builds: 'fails' }) });
    await expect(failed).rejects.toMatchObject({ code: 'AGENT_UNREACHABLE', message: 'ada cannot be built' });
    expect(await there.lifecycle.has(ADA)).toBe(false);
    expect(await codeOf(here.agents.get('ada'))).toBe('AGENT_NOT_FOUND');
  });

  it('S1.1 an unknown provider, an unknown definition and an unclear request each have their own error code', async () => {
    const spawned = async (request: Partial<SpawnRequest>): Promise<unknown> =>
      await codeOf(spawn(here, 'ada', request));
    expect(await spawned({ content: { ...fakeContent(), provider: 'fale' } })).toBe('DEFINITION_INVALID');
    expect(await spawned({ content: undefined, definition: 'ada' })).toBe('DEFINITION_NOT_FOUND');
    expect(await spawned({ definition: 'ada' })).toBe('SPAWN_INVALID');
    expect(await spawned({ name: undefined })).toBe('SPAWN_INVALID');
    expect(await spawned({ name: 'a b' })).toBe('DEFINITION_NAME_INVALID');
    await expect(spawn(here, 'a b')).rejects.toThrow('The name of an agent has 1 to 128 letters');
    await define(here, 'ada');
    expect(await spawned({})).toBe('AGENT_NAME_RESERVED');
  });

  it('S1.2 a taken name is rejected on every replica; names are case-sensitive', async () => {
    await spawn(here, 'ada');
    expect(await codeOf(spawn(here, 'ada'))).toBe('AGENT_ALREADY_EXISTS');
    expect(await codeOf(spawn(there, 'ada'))).toBe('AGENT_ALREADY_EXISTS');
    expect(await codeOf(spawn(there, 'Ada'))).toBe('succeeded');
    expect([here.fake.attempts, there.fake.attempts]).toEqual([1, 1]);
  });

  it('S1.2 if two replicas spawn one name at the same time, one spawn succeeds, and the others leave no agent behind', async () => {
    const slow = { content: fakeContent({ builds: 'slow' }) };
    const spawns = [here, there, here, there].map(async (on) => await codeOf(spawn(on, 'ada', slow)));
    await until('all agents are under construction', () => here.fake.attempts + there.fake.attempts === 4);
    here.fake.proceed();
    there.fake.proceed();
    const results = await Promise.all(spawns);
    expect(results.filter((code) => code === 'succeeded')).toHaveLength(1);
    expect(results.filter((code) => code === 'AGENT_ALREADY_EXISTS')).toHaveLength(3);
    expect(here.fake.built.length + there.fake.built.length).toBe(4);
    expect([...here.fake.open, ...there.fake.open]).toHaveLength(1);
    expect(here.host.spawned.length + there.host.spawned.length).toBe(1);
  });

  it('S1.8 S0.9 each replica has its own agents', async () => {
    await spawn(here, 'ada');
    expect(here.host.spawned).toHaveLength(1);
    expect(there.host.spawned).toHaveLength(0);
  });
});

describe('use', () => {
  it('S0.3 a definition gets one agent on first use, for any number of concurrent callers', async () => {
    await define(here, 'ada');
    const uses = await Promise.all(Array.from({ length: 100 }, async () => await here.lifecycle.use(ADA)));
    expect(here.fake.attempts).toBe(1);
    expect(new Set(uses.map(({ agent }) => agent)).size).toBe(1);
    expect(await here.lifecycle.has(ADA)).toBe(false);
  });

  it('S0.3 the slow construction of one agent does not delay another', async () => {
    await define(here, 'slow', fakeContent({ builds: 'slow' }));
    await define(here, 'ada');
    const waiting = here.lifecycle.use({ ...ADA, name: 'slow' });
    expect((await here.lifecycle.use(ADA)).agent.name).toBe('ada');
    await until('both have started', () => here.fake.attempts === 2);
    here.fake.proceed();
    expect((await waiting).agent.name).toBe('slow');
  });

  it('S0.4 the error for an unknown name is not cached: when its definition is registered, the next use succeeds', async () => {
    expect(await codeOf(here.lifecycle.use(ADA))).toBe('DEFINITION_NOT_FOUND');
    await define(here, 'ada');
    expect(await codeOf(here.lifecycle.use(ADA))).toBe('succeeded');
  });

  it('uses the spawned agent of this replica; another replica needs a definition', async () => {
    await spawn(here, 'ada');
    expect((await here.lifecycle.use(ADA)).agent).toBe(here.fake.built[0]);
    expect(await here.lifecycle.find(ADA)).toMatchObject({ replicaId: here.lifecycle.replicaId });
    expect(await there.lifecycle.find(ADA)).toMatchObject({ replicaId: here.lifecycle.replicaId });
    await expect(there.lifecycle.use(ADA)).rejects.toMatchObject({
      code: 'AGENT_HOSTED_ELSEWHERE',
      replicaId: here.lifecycle.replicaId,
    });
    await define(here, 'bob');
    await here.lifecycle.spawn({ namespace: NAMESPACE, definition: 'bob', by: BY });
    expect((await there.lifecycle.use({ ...ADA, name: 'bob' })).agent).toBe(there.fake.built[0]);
  });
});

describe('a changed definition', () => {
  it('S0.2 the call in progress finishes on the old revision, and the next call and the registry use the new revision', async () => {
    await define(here, 'ada');
    await here.lifecycle.spawn({ namespace: NAMESPACE, definition: 'ada', by: BY });
    const old = await here.lifecycle.use(ADA);
    await replace(here, 'ada');
    const next = await here.lifecycle.use(ADA);
    expect([old.revision, next.revision, old.signal.aborted]).toEqual([1, 2, false]);
    old.release();
    await until('the old agent is closed', () => here.fake.built[0].isShutDown);
    expect(here.fake.open).toHaveLength(1);
    await until('the registry has the revision', async () => (await there.agents.get('ada')).definition === 'ada@2');
    expect((await there.agents.get('ada')).capabilities).toEqual(['review']);
    expect(await there.lifecycle.get(ADA)).toMatchObject({ revision: 2 });
  });

  it('S0.6 the agents of a removed definition leave the registry, and are closed when their calls have ended', async () => {
    await define(here, 'ada');
    await spawn(here, 'bob', { definition: 'ada', content: undefined });
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
  it('S1.3 an agent is found on every replica; an unknown name is rejected with AGENT_NOT_FOUND', async () => {
    const info = await spawn(here, 'ada');
    expect(await here.lifecycle.get(ADA)).toEqual(info);
    expect(await there.lifecycle.get(ADA)).toEqual(info);
    expect(await there.lifecycle.has(ADA)).toBe(true);
    expect(await codeOf(there.lifecycle.get({ ...ADA, name: 'bob' }))).toBe('AGENT_NOT_FOUND');
    expect(await there.lifecycle.has({ ...ADA, namespace: 'other' })).toBe(false);
  });

  it('S1.4 lists agents sorted by name, with filters and with the state that each agent reports', async () => {
    await spawn(there, 'bob');
    await spawn(here, 'ada');
    const names = async (on: TestHost, filter = {}): Promise<string[]> =>
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
    await spawn(here, 'ada');
    await here.lifecycle.shutdown(ADA);
    expect(here.fake.open).toHaveLength(0);
    expect(await there.lifecycle.has(ADA)).toBe(false);
    expect(await here.agents.get('ada')).toMatchObject({ status: 'left', leaveReason: 'shutdown' });
    expect(await codeOf(here.lifecycle.shutdown(ADA))).toBe('AGENT_NOT_FOUND');
    expect(await codeOf(spawn(there, 'ada'))).toBe('succeeded');
  });

  it('S1.5 an agent that fails to close is removed, then the error is thrown', async () => {
    await spawn(here, 'ada', { content: fakeContent({ closes: 'fails' }) });
    await expect(here.lifecycle.shutdown(ADA)).rejects.toMatchObject({
      code: 'AGENT_SHUTDOWN_FAILED',
      message: expect.stringContaining('ada cannot be closed') as string,
    });
    expect(await there.lifecycle.has(ADA)).toBe(false);
  });

  it('S1.5 an agent that does not close is removed at the deadline', async () => {
    await spawn(here, 'ada', { content: fakeContent({ closes: 'hangs' }) });
    expect(await here.lifecycle.stop(ADA)).toMatchObject({ phase: 'kill', forced: true });
    expect(await there.lifecycle.has(ADA)).toBe(false);
  });

  it('S1.9 logs spawns and shutdowns with the fields of the specification', async () => {
    await spawn(here, 'ada');
    await spawn(here, 'bob', { content: fakeContent({ closes: 'fails' }) });
    await here.lifecycle.shutdown(ADA);
    await codeOf(here.lifecycle.shutdown({ ...ADA, name: 'bob' }));
    const namespace = NAMESPACE;
    expect(hosts.logged).toEqual([
      { event: 'agent.spawned', namespace, name: 'ada', agentType: 'in-process', provider: 'fake' },
      { event: 'agent.spawned', namespace, name: 'bob', agentType: 'in-process', provider: 'fake' },
      { event: 'agent.shutdown', namespace, name: 'ada' },
      { event: 'agent.shutdown_failed', namespace, name: 'bob', error: 'bob cannot be closed' },
    ]);
  });
});

describe('heartbeats', () => {
  it('an agent that an operator removes from the registry is closed', async () => {
    await spawn(here, 'ada');
    await there.agents.remove('ada', 'quarantined');
    await here.beats.pass();
    expect(here.fake.open).toHaveLength(0);
    expect(here.host.spawned).toHaveLength(0);
  });

  it('an evicted agent registers again', async () => {
    await spawn(here, 'ada');
    await there.agents.remove('ada', 'evicted');
    expect(await there.lifecycle.has(ADA)).toBe(false);
    await here.beats.pass();
    expect(await there.lifecycle.get(ADA)).toMatchObject({ name: 'ada', replicaId: here.lifecycle.replicaId });
    expect(here.fake.open).toHaveLength(1);
  });

  it('an evicted agent is closed if another agent has its name', async () => {
    await spawn(here, 'ada');
    await there.agents.remove('ada', 'evicted');
    await spawn(there, 'ada');
    await here.beats.pass();
    expect([here.fake.open.length, there.fake.open.length]).toEqual([0, 1]);
    expect(await here.lifecycle.find(ADA)).toMatchObject({ replicaId: there.lifecycle.replicaId });
  });

  it('an idle instance is closed, but its agent stays registered, and the next call builds a new instance', async () => {
    await spawn(here, 'ada');
    here.host.reap(0);
    await until('it is closed', () => here.fake.open.length === 0);
    expect(await there.lifecycle.get(ADA)).toMatchObject({ state: 'idle' });
    await here.lifecycle.use(ADA);
    here.host.reap(0);
    expect(here.fake.open).toHaveLength(1);
  });
});
