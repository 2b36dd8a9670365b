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

describe('all replicas', () => {
  it('S0.2 S0.6 a replica renews its agents when another replica changes their definition', async () => {
    await define(here, 'ada');
    const lazy = await there.lifecycle.use(ADA);
    await spawn(there, 'bob', { definition: 'ada', content: undefined });
    lazy.release();
    await replace(here, 'ada');
    await until('the registry has the revision', async () => (await here.agents.get('bob')).definition === 'ada@2');
    expect(await there.lifecycle.use(ADA)).toMatchObject({ revision: 2 });
    await here.definitions.unregister({ ...ADA, source: 'rest', by: BY });
    await until('bob has left', async () => !(await here.lifecycle.has({ ...ADA, name: 'bob' })));
    expect(await codeOf(there.lifecycle.use(ADA))).toBe('DEFINITION_NOT_FOUND');
  });

  it('S0.2 S0.6 a call can use an earlier revision after a change or a removal, and is aborted when the agent is shut down', async () => {
    const pinned = { name: 'ada', revision: 1 };
    const bob = { ...ADA, name: 'bob' };
    await define(here, 'ada');
    await spawn(here, 'bob', { definition: 'ada', content: undefined });
    const [before] = here.fake.built;
    const current = await here.lifecycle.use(bob, { pinned });
    expect(current).toMatchObject({ agent: before, revision: 1 });
    current.release();
    await replace(here, 'ada');
    const [old, other] = [await here.lifecycle.use(bob, { pinned }), await there.lifecycle.use(ADA, { pinned })];
    expect([old.revision, other.revision, (await here.lifecycle.use(bob)).revision]).toEqual([1, 1, 2]);
    old.signal.addEventListener('abort', old.release);
    await here.lifecycle.stop(bob, 100);
    expect([old.signal.aborted, other.signal.aborted]).toEqual([true, false]);
    expect(await codeOf(here.lifecycle.use(bob, { pinned }))).toBe('DEFINITION_NOT_FOUND');
    await here.definitions.unregister({ ...ADA, source: 'rest', by: BY });
    expect(await there.lifecycle.use(ADA, { pinned })).toMatchObject({ revision: 1 });
  });

  it('S1.5 an agent of another replica is shut down there, and its error is thrown here', async () => {
    await spawn(there, 'ada');
    await here.lifecycle.shutdown(ADA, 5_000);
    expect(there.fake.open).toHaveLength(0);
    await spawn(there, 'ada', { content: fakeContent({ closes: 'fails' }) });
    const failed = here.lifecycle.shutdown(ADA, 5_000);
    await expect(failed).rejects.toThrow('ada cannot be closed');
    expect(await here.lifecycle.has(ADA)).toBe(false);
  });

  it.each(['constructor', 'toString'])('S1.5 an agent with the name %s is shut down like any other', async (name) => {
    const key = { ...ADA, name };
    expect(await codeOf(here.lifecycle.stop(key, 5_000))).toBe('AGENT_NOT_FOUND');
    await spawn(there, name);
    expect(await here.lifecycle.stop(key, 5_000)).toMatchObject({ phase: 'stop', error: null });
    expect(there.fake.open).toHaveLength(0);
  });

  it('S1.5 an agent whose replica does not answer is removed from the registry, and closed with its next heartbeat', async () => {
    await spawn(there, 'ada');
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
    await spawn(there, 'ada');
    const stopped = here.lifecycle.stop(ADA, 20_000);
    await until('it is executed', async () => {
      await there.commands.pass();
      return there.fake.open.length === 0;
    });
    await here.commands.pass();
    expect(await stopped).toMatchObject({ phase: 'stop', forced: false, error: null });
  });
});

describe('a replica without heartbeats', () => {
  const LONG = 60_000;
  let now = 0;

  /** Sweeps for a minute. The agents in `beating` send heartbeats. */
  async function sweepForLong(on: TestHost, beating: readonly string[], everyMs = 5_000): Promise<void> {
    const beat = 'UPDATE agent_lease SET last_beat_at = clock_timestamp() WHERE agent_id = ANY ($1)';
    const end = now + LONG;
    for (; now <= end; now += everyMs) {
      await hosts.database.db.query(beat, [beating]);
      await on.lostHosts.sweep(now);
    }
  }

  it('loses its agents, and the names are free again; agents of live replicas stay', async () => {
    const [survivor, live] = [await hosts.add(), await hosts.add()];
    await spawn(there, 'ada');
    await spawn(there, 'bob');
    await spawn(live, 'cat');
    await spawn(live, 'silent'); // one agent without heartbeats does not make its replica lost
    await sweepForLong(survivor, ['cat']);
    const names = (await here.lifecycle.list(NAMESPACE, 10)).map(({ name }) => name);
    expect(names).toEqual(['cat', 'silent']);
    expect(await here.agents.get('ada')).toMatchObject({ status: 'left', leaveReason: 'evicted' });
    expect(hosts.logged.at(-1)).toMatchObject({ event: 'agents.host_lost', agents: 2 });
    expect(await codeOf(spawn(survivor, 'ada'))).toBe('succeeded');
    await there.beats.pass(); // it was only cut off: one name is taken, and the other agent registers again
    expect(there.fake.open.map(({ name }) => name)).toEqual(['bob']);
  });

  it('keeps its agents if the heartbeats of all replicas are missing, or if the observing replica was paused', async () => {
    const survivor = await hosts.add();
    await spawn(there, 'ada');
    await sweepForLong(survivor, [], LONG);
    expect(await here.lifecycle.has(ADA)).toBe(true);
    await spawn(survivor, 'own');
    await sweepForLong(survivor, []);
    expect(await here.lifecycle.has(ADA)).toBe(true);
    await sweepForLong(survivor, ['own']);
    expect(await here.lifecycle.has(ADA)).toBe(false);
  });
});

describe('shutdownAll', () => {
  beforeAll(async () => void (there = await hosts.add())); // an earlier test has stopped the listener of the previous one

  it('S1.6 reports the hanging, failing and healthy agents of two replicas together, and continues after a failure', async () => {
    await spawn(here, 'hangs', { content: fakeContent({ closes: 'hangs' }) });
    await spawn(there, 'fails', { content: fakeContent({ closes: 'fails' }) });
    await spawn(there, 'healthy');
    await spawn(here, 'busy');
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
    expect(hosts.logged.at(-1)).toEqual({ event: 'registry.shutdown_all', count: 4, succeeded: 2, failed: 2 });
  });

  it('S1.6 an agent that is spawned during the shutdown is rejected or included', async () => {
    await spawn(here, 'hangs', { content: fakeContent({ closes: 'hangs' }) });
    const slow = codeOf(spawn(here, 'slow', { content: fakeContent({ builds: 'slow' }) }));
    await until('it is under construction', () => here.fake.attempts === 2);
    const stopping = here.lifecycle.shutdownAll(NAMESPACE, 1_000);
    expect(await codeOf(spawn(here, 'late'))).toBe('AGENTS_STOPPING');
    expect(await codeOf(spawn(there, 'elsewhere'))).toBe('succeeded');
    here.fake.proceed();
    expect(await slow).toBe('AGENTS_STOPPING');
    const report = await stopping;
    expect(Object.keys(report.details)).toContain('hangs');
    expect(here.fake.open.map(({ name }) => name)).toEqual(['hangs']);
    const live = (await here.lifecycle.list(NAMESPACE, 10)).map(({ name }) => name);
    expect([...live, ...report.succeeded]).toContain('elsewhere');
    expect(await codeOf(spawn(here, 'late'))).toBe('succeeded');
  });

  it('S1.6 a replica that stops closes its agents, and rejects new ones', async () => {
    const leaving = await hosts.add();
    await spawn(leaving, 'ada');
    await define(here, 'bob');
    await leaving.lifecycle.use({ ...ADA, name: 'bob' });
    leaving.shutdowns.stopSpawning();
    expect(await codeOf(spawn(leaving, 'cat'))).toBe('AGENTS_STOPPING');
    await leaving.shutdowns.stop();
    expect(leaving.fake.open).toHaveLength(0);
    expect(await here.lifecycle.has(ADA)).toBe(false);
    expect(hosts.logged.at(-1)).toEqual({ event: 'registry.shutdown_all', count: 1, succeeded: 1, failed: 0 });
  });
});
