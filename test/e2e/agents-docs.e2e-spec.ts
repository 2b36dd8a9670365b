import { once } from 'node:events';
import { CuttableProxy, proxyPostgres } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { SHORT_DATABASE_TIMEOUT, startApi, type TestApi } from '../support/api.js';
import { ExampleRunner, type RunningExample } from '../support/doc-example.js';

const AGENT = '/v1/agents/builder-02';

let api: TestApi;
let examples: ExampleRunner;
let database: CuttableProxy;
let proxy: CuttableProxy;

/** The agent connects to a replica through one proxy, and the replica connects to its database through another. */
beforeEach(async () => {
  const direct = await startApi({ ...SHORT_DATABASE_TIMEOUT, ROLLCALL_HEARTBEAT_EVERY: '2s' });
  const proxied = await proxyPostgres(direct.database.url);
  database = proxied.proxy;
  const replica = await direct.replica({}, { databaseUrl: proxied.url });
  proxy = await CuttableProxy.start({ host: '127.0.0.1', port: Number(new URL(replica.url).port) });
  const stop = async (): Promise<void> => {
    await replica.stop();
    await direct.stop();
  };
  api = { ...direct, stop };
  examples = new ExampleRunner({
    ROLLCALL_URL: `http://127.0.0.1:${proxy.port}`,
    ROLLCALL_KEY: await api.given.key('agent'),
  });
});
afterEach(async () => {
  examples.stop();
  database.heal();
  await proxy.stop();
  await api.stop();
  await database.stop();
});

async function record(): Promise<Record<string, unknown>> {
  return (await api.call('GET', AGENT)).body;
}

/** Waits for the next accepted heartbeat. */
async function nextBeat(agent: RunningExample): Promise<void> {
  const before = agent.output().match(/^beaten$/gm)?.length ?? 0;
  await until('a heartbeat is accepted', () => (agent.output().match(/^beaten$/gm)?.length ?? 0) > before);
}

describe('the agent of docs/agents.md', () => {
  it('S3.2 S3.4 B4 N10 the documented agent registers, sends heartbeats, and registers again after an eviction', async () => {
    const agent = examples.program('agent.js');
    await until(
      'a heartbeat is accepted',
      () => agent.output() === 'registered builder-02, generation 1\nwelcome\nbeaten\n',
    );
    await api.call('POST', `${AGENT}/evict`);
    await until('the agent is registered again', () =>
      agent.output().includes('control register\nregistered builder-02, generation 2\n'),
    );
    await nextBeat(agent);
    expect(await record()).toMatchObject({ status: 'active', generation: 2 });
  });

  it('N3 the demo agents stay registered, can be found, and deregister at the end', async () => {
    const demo = examples.program('agents.js');
    const exit = once(demo.child, 'exit');
    const query = { capabilities: ['build'], consistency: 'strong' };
    const found = async (): Promise<string[]> => {
      const { body } = await api.call<{ candidates: { agent: { agentId: string } }[] }>('POST', '/v1/agents/query', {
        body: query,
      });
      return body.candidates.map(({ agent }) => agent.agentId).toSorted();
    };
    await until('both builders are found', async () => (await found()).join() === 'builder,builder-free');
    await api.call('POST', '/v1/agents/builder/evict');
    await until('the agent has registered again', () =>
      demo.output().includes('builder: registered builder, generation 2'),
    );
    demo.child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    expect((await api.call('GET', '/v1/agents/tester')).body).toMatchObject({ leaveReason: 'shutdown' });
  });

  it('D2 the documented agent deregisters and exits with 0 when an operator drains it', async () => {
    const agent = examples.program('agent.js');
    const exit = once(agent.child, 'exit');
    await nextBeat(agent);
    await api.call('POST', `${AGENT}/drain`);
    expect(await exit).toEqual([0, null]);
    expect(agent.output()).toMatch(/control drain\nleft\n$/);
    expect(await record()).toMatchObject({ status: 'left', leaveReason: 'drained' });
  });

  it('D2 the documented agent exits with 0 when an operator deregisters it', async () => {
    const agent = examples.program('agent.js');
    const exit = once(agent.child, 'exit');
    await nextBeat(agent);
    await api.call('DELETE', AGENT);
    expect(await exit).toEqual([0, null]);
    expect(agent.output()).toContain('control stop\n');
    expect(await record()).toMatchObject({ status: 'left', leaveReason: 'deregistered' });
  });

  it('D2 the documented agent registers again after an eviction and exits after a deregistration over HTTP', async () => {
    const agent = examples.program('agent.js', { TRANSPORT: 'http' });
    const exit = once(agent.child, 'exit');
    await until('the agent is registered', () => agent.output().includes('registered builder-02, generation 1\n'));
    await api.call('POST', `${AGENT}/evict`);
    await until('the agent is registered again', () =>
      agent.output().includes('REGISTER_AGAIN\nregistered builder-02, generation 2\n'),
    );
    await api.call('DELETE', AGENT);
    expect(await exit).toEqual([0, null]);
    expect(await record()).toMatchObject({ status: 'left', leaveReason: 'deregistered', generation: 2 });
  });

  it('D2 the documented agent deregisters when it receives SIGTERM', async () => {
    const agent = examples.program('agent.js');
    const exit = once(agent.child, 'exit');
    await nextBeat(agent);
    agent.child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    expect(await record()).toMatchObject({ status: 'left', leaveReason: 'shutdown' });
  });

  it('D2 the documented agent is listed again immediately when it starts after a crash', async () => {
    const crashed = examples.program('agent.js');
    await nextBeat(crashed);
    crashed.child.kill('SIGKILL');
    const agent = examples.program('agent.js');
    await nextBeat(agent);
    expect(agent.output()).toMatch(/^registered builder-02, generation 2\n/);
    expect(await record()).toMatchObject({ status: 'active', generation: 2 });
  });

  it('D2 the documented agent does not take over again when another process has replaced it, and waits until that process leaves', async () => {
    const first = examples.program('agent.js');
    await nextBeat(first);
    const second = examples.program('agent.js');
    await until('the first process is rejected', () =>
      first.output().includes('not registered yet: AGENT_ALREADY_REGISTERED\n'),
    );
    await nextBeat(second);
    expect(await record()).toMatchObject({ status: 'active', generation: 2 });
    second.child.kill('SIGTERM');
    await until('the first process is registered again', () =>
      first.output().includes('registered builder-02, generation 3\n'),
    );
    await nextBeat(first);
  });

  it('D2 the documented agent sends heartbeats again after failures of the database, of the proxy and of its registration', async () => {
    database.cut();
    const agent = examples.program('agent.js');
    await until('the registration fails', () => agent.output().includes('not registered yet: DATABASE_UNAVAILABLE\n'));
    database.heal();
    await nextBeat(agent);
    database.stall();
    await until('a heartbeat fails', () => agent.output().includes('beat failed: '));
    database.heal();
    await nextBeat(agent);
    proxy.cut();
    proxy.heal();
    await nextBeat(agent);
    proxy.stall();
    await until('the agent closes the connection', () => agent.output().includes('TimeoutError'));
    proxy.heal();
    await nextBeat(agent);
    expect(await record()).toMatchObject({ status: 'active', generation: 1 });
  }, 120_000);
});
