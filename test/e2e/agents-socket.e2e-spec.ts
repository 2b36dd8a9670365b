import type { AgentSpec } from '../support/given.js';
import { startApi, type TestApi } from '../support/api.js';
import { AgentClient, type Registration, pathOf } from '../support/agent-client.js';
import { refusal } from '../support/socket-client.js';

let api: TestApi;
let agentKey: string;
let operator: string;
beforeEach(async () => {
  api = await startApi();
  agentKey = await api.given.key('agent');
  operator = await api.given.key('operator');
});
afterEach(async () => await api.stop());

const register = async (spec: AgentSpec = {}): Promise<Registration> =>
  await api.given.agent({ agentId: 'builder-01', ...spec }, agentKey);

async function recordOf({ agentId }: Registration): Promise<Record<string, unknown>> {
  return (await api.call('GET', `/v1/agents/${agentId}`)).body;
}

async function operate(action: string, { agentId }: Registration, at: TestApi = api): Promise<void> {
  const { status } = await at.call('POST', `/v1/agents/${agentId}/${action}`, { key: operator });
  expect([200, 204]).toContain(status);
}

describe('the WebSocket of an agent', () => {
  it('S3.4 accepts heartbeats, answers when they are stored, and returns the time until the next heartbeat', async () => {
    const registration = await register();
    const agent = await AgentClient.connect(api.url, registration);
    expect(await agent.received('welcome')).toEqual({
      agentId: 'builder-01',
      generation: 1,
      desiredState: 'active',
      heartbeat: { intervalMs: 10_000, leaseMs: 31_000 },
    });
    agent.send('beat');
    agent.send('beat', { inFlight: 7, load: 0.5 });
    const { beatAt, nextIntervalMs } = await agent.received('beaten', 2);
    expect(nextIntervalMs).toBeGreaterThanOrEqual(9_000);
    expect(nextIntervalMs).toBeLessThanOrEqual(10_000);
    expect(await recordOf(registration)).toMatchObject({
      health: { lastHeartbeat: beatAt },
      load: { inFlight: 7, ratio: 0.5 },
    });
  });

  it('S3.4 the loss of a socket causes no eviction: only the lease counts', async () => {
    const registration = await register();
    const agent = await AgentClient.connect(api.url, registration);
    agent.socket.terminate();
    await agent.closed();
    expect(await recordOf(registration)).toMatchObject({ status: 'active' });
    await (await AgentClient.connect(api.url, registration)).received('welcome');
  });

  it('B4 opens only for the current generation of the agent, and each kind of rejection has its own code', async () => {
    const registration = await register();
    const other = await register({ agentId: 'other' });
    const refused = async (path: string, key?: string): Promise<unknown> => await refusal(api.url, path, { key });
    expect(await refused(pathOf(registration))).toEqual({ status: 401, code: 'UNAUTHENTICATED' });
    const keys = { stranger: await api.given.key('agent'), viewer: await api.given.key('viewer') };
    expect(await refused(pathOf(registration), keys.stranger)).toEqual({ status: 403, code: 'NOT_THE_OWNER' });
    expect(await refused(pathOf(registration), keys.viewer)).toEqual({ status: 403, code: 'FORBIDDEN' });
    expect(await refused(pathOf(registration), other.leaseToken)).toEqual({ status: 403, code: 'LEASE_TOKEN_REFUSED' });
    expect(await refused('/v1/agents/ws', registration.leaseToken)).toEqual({ status: 400, code: 'VALIDATION_FAILED' });
    expect(await refused(pathOf({ agentId: 'nobody', generation: 1 }), registration.leaseToken)).toEqual({
      status: 404,
      code: 'AGENT_NOT_FOUND',
    });
    await register({ leaseToken: registration.leaseToken });
    expect(await refused(pathOf(registration), registration.leaseToken)).toEqual({
      status: 409,
      code: 'STALE_GENERATION',
    });
  });

  it('answers an invalid frame with an error and stays open', async () => {
    const registration = await register();
    const agent = await AgentClient.connect(api.url, registration);
    agent.socket.send('not json');
    agent.send('dance');
    agent.send('beat', { inFlight: -1, mood: 'fine' });
    agent.socket.send(Buffer.from('{"event":"beat"}'), { binary: true });
    await agent.received('error', 4);
    expect(agent.of('error').map(({ code }) => code)).toEqual([
      'MALFORMED_REQUEST',
      'MALFORMED_REQUEST',
      'VALIDATION_FAILED',
      'MALFORMED_REQUEST',
    ]);
    agent.send('beat');
    await agent.received('beaten');
  });

  it('answers a heartbeat whose data is not an object with an error', async () => {
    const agent = await AgentClient.connect(api.url, await register());
    for (const data of [[], [{ inFlight: 3 }], 'idle', 3]) agent.send('beat', data);
    await agent.received('error', 4);
    expect(new Set(agent.of('error').map(({ code }) => code))).toEqual(new Set(['MALFORMED_REQUEST']));
  });

  it('B4 the socket of an agent receives the actions of operators from any replica', async () => {
    const other = await api.replica();
    const registration = await register();
    const agent = await AgentClient.connect(api.url, registration);
    await agent.received('welcome');
    await operate('drain', registration, other);
    expect(await agent.received('control')).toMatchObject({ action: 'drain' });
    await operate('quarantine', registration, other);
    expect(await agent.received('control', 2)).toMatchObject({ action: 'quarantine' });
    await operate('resume', registration);
    expect(await agent.received('control', 3)).toMatchObject({ action: 'resume' });
    await operate('drain', registration);
    const late = await AgentClient.connect(other.url, registration);
    expect(await late.received('welcome')).toMatchObject({ desiredState: 'draining' });
    await other.stop();
    expect(await late.closed()).toMatchObject({ code: 1001 });
    expect(await late.received('end')).toEqual({
      code: 'SHUTTING_DOWN',
      detail: 'This replica is shutting down. Connect again to reach another replica.',
    });
  });

  it('S3.5 sends `register` to an evicted agent and closes the connection', async () => {
    const registration = await register();
    const agent = await AgentClient.connect(api.url, registration);
    await agent.received('welcome');
    await operate('evict', registration);
    expect(await agent.received('control')).toEqual({ action: 'register', reason: 'evicted' });
    expect(await agent.closed()).toEqual({ code: 4404, reason: { code: 'REGISTER_AGAIN' } });
  });

  it('B4 closes the socket of a replaced generation, and the next generation can send heartbeats', async () => {
    const registration = await register();
    const before = await AgentClient.connect(api.url, registration);
    await before.received('welcome');
    const next = await register({ leaseToken: registration.leaseToken });
    expect(await before.closed()).toMatchObject({ code: 4409 });
    const after = await AgentClient.connect(api.url, next);
    after.send('beat');
    await after.received('beaten');
  });
});
