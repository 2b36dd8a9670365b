import { once } from 'node:events';
import { CuttableProxy, proxyPostgres } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { ExampleRunner, type RunningExample } from '../support/doc-example.js';

const AGENT = '/v1/agents/builder-02';

let api: TestApi;
let examples: ExampleRunner;
let database: CuttableProxy;
let gateway: CuttableProxy;

/** The agent reaches a replica through a gateway, and the replica reaches its database through a proxy. */
beforeEach(async () => {
  const direct = await startApi({ ROLLCALL_HEARTBEAT_EVERY: '2s' });
  const proxied = await proxyPostgres(direct.database.url);
  database = proxied.proxy;
  const replica = await direct.replica({}, proxied.url);
  gateway = await CuttableProxy.start({ host: '127.0.0.1', port: Number(new URL(replica.url).port) });
  const stop = async (): Promise<void> => {
    await replica.stop();
    await direct.stop();
  };
  api = { ...direct, stop };
  examples = new ExampleRunner({
    ROLLCALL_URL: `http://127.0.0.1:${gateway.port}`,
    ROLLCALL_KEY: await api.given.key('agent'),
  });
});
afterEach(async () => {
  examples.stop();
  database.heal();
  await gateway.stop();
  await api.stop();
  await database.stop();
});

async function record(): Promise<Record<string, unknown>> {
  return (await api.call('GET', AGENT)).body;
}

/** Beats that count from now on. */
async function beats(agent: RunningExample): Promise<void> {
  const before = agent.output().match(/^beaten$/gm)?.length ?? 0;
  await until('it beats', () => (agent.output().match(/^beaten$/gm)?.length ?? 0) > before);
}

describe('the agent of docs/agents.md', () => {
  it('S3.2 S3.4 B4 joins, beats, and registers again when it was evicted', async () => {
    const agent = examples.program('agent.js');
    await until('it has beaten', () => agent.output() === 'registered builder-02, generation 1\nwelcome\nbeaten\n');
    await api.call('POST', `${AGENT}/evict`);
    await until('it is back', () => agent.output().includes('control register\nregistered builder-02, generation 2\n'));
    await beats(agent);
    expect(await record()).toMatchObject({ status: 'active', generation: 2 });
  });

  it('D2 leaves when an operator drains it, and ends normally', async () => {
    const agent = examples.program('agent.js');
    const exit = once(agent.child, 'exit');
    await beats(agent);
    await api.call('POST', `${AGENT}/drain`);
    expect(await exit).toEqual([0, null]);
    expect(agent.output()).toMatch(/control drain\nleft\n$/);
    expect(await record()).toMatchObject({ status: 'left', leaveReason: 'drained' });
  });

  it('D2 ends normally when it is deregistered in its place', async () => {
    const agent = examples.program('agent.js');
    const exit = once(agent.child, 'exit');
    await beats(agent);
    await api.call('DELETE', AGENT);
    expect(await exit).toEqual([0, null]);
    expect(agent.output()).toContain('control stop\n');
    expect(await record()).toMatchObject({ status: 'left', leaveReason: 'deregistered' });
  });

  it('D2 registers again after an eviction and ends after a deregistration over plain HTTP, too', async () => {
    const agent = examples.program('agent.js', { TRANSPORT: 'http' });
    const exit = once(agent.child, 'exit');
    await until('it is there', () => agent.output().includes('registered builder-02, generation 1\n'));
    await api.call('POST', `${AGENT}/evict`);
    await until('it is back', () => agent.output().includes('REGISTER_AGAIN\nregistered builder-02, generation 2\n'));
    await api.call('DELETE', AGENT);
    expect(await exit).toEqual([0, null]);
    expect(await record()).toMatchObject({ status: 'left', leaveReason: 'deregistered', generation: 2 });
  });

  it('D2 deregisters when it receives SIGTERM', async () => {
    const agent = examples.program('agent.js');
    const exit = once(agent.child, 'exit');
    await beats(agent);
    agent.child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    expect(await record()).toMatchObject({ status: 'left', leaveReason: 'shutdown' });
  });

  it('D2 waits for the lease of the process before it, which crashed', async () => {
    const crashed = examples.program('agent.js');
    await beats(crashed);
    crashed.child.kill('SIGKILL');
    const agent = examples.program('agent.js');
    await until('it waits', () => agent.output().includes('not registered yet: AGENT_ALREADY_REGISTERED\n'));
    await api.call('POST', `${AGENT}/evict`);
    await beats(agent);
    expect(await record()).toMatchObject({ status: 'active', generation: 2 });
  });

  it('D2 beats again after its database, its gateway and its registration failed', async () => {
    database.cut();
    const agent = examples.program('agent.js');
    await until('it was refused', () => agent.output().includes('not registered yet: DATABASE_UNAVAILABLE\n'));
    database.heal();
    await beats(agent);
    database.stall();
    await until('a beat failed', () => agent.output().includes('beat failed: '));
    database.heal();
    await beats(agent);
    gateway.cut();
    gateway.heal();
    await beats(agent);
    gateway.stall();
    await until('it gave the connection up', () => agent.output().includes('TimeoutError'));
    gateway.heal();
    await beats(agent);
    expect(await record()).toMatchObject({ status: 'active', generation: 1 });
  }, 120_000);
});
