import { EgressPolicy } from '../../egress/egress.policy.js';
import { Secret } from '../../secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { localEgress } from '../../testing/local-egress.js';
import { LocalServer } from '../../testing/local-server.js';
import { ObedientA2aServer } from '../../testing/obedient-a2a.server.js';
import { until } from '../../testing/until.js';
import type { Agent, AgentEvent, HandleOptions } from '../agent.js';
import { A2aAgentProvider } from './a2a.agent-provider.js';

const policy = new EgressPolicy({ allowLoopback: true });

describeAgentProviderContract('a2a', {
  agentType: 'remote',
  make: async (name) => {
    const server = await ObedientA2aServer.start();
    const egress = localEgress();
    const provider = new A2aAgentProvider({ fetch: egress.fetch, policy, secrets: () => undefined });
    return {
      agent: await provider.createAgent({ name, settings: { url: server.url } }),
      play: (scenario) => JSON.stringify(scenario),
      begunCalls: () => server.executor.begun,
      busyCalls: () => server.executor.busy,
      close: async () => {
        await egress.close();
        await server.close();
      },
    };
  },
});

describe('S1.10 an a2a agent', () => {
  const KEY = 'a2a-key-0123456789';
  const egress = localEgress();
  const provider = new A2aAgentProvider({
    fetch: egress.fetch,
    policy,
    secrets: (name) => (name === 'A2A_KEY' ? new Secret(KEY) : undefined),
  });
  const closing: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(closing.splice(0).map(async (server) => await server.close()));
  });
  afterAll(async () => {
    await egress.close();
  });

  const startObedient = async (options?: { streaming: boolean }): Promise<ObedientA2aServer> => {
    const server = await ObedientA2aServer.start(options);
    closing.push(server);
    return server;
  };
  const drain = async (agent: Agent, scenario: object, options?: HandleOptions): Promise<AgentEvent[]> => {
    const events: AgentEvent[] = [];
    for await (const event of agent.handle({ text: JSON.stringify(scenario) }, options)) events.push(event);
    return events;
  };

  it('sends the key to the agent and to nobody its card may name', async () => {
    const [server, elsewhere] = [await startObedient(), await startObedient()];
    const settings = { url: server.url, credential: { env: 'A2A_KEY' } };
    await drain(await provider.createAgent({ name: 'ada', settings }), { does: 'answer', pieces: ['x'] });
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);

    const sly = await LocalServer.start((_request, response) => response.end(slyCard(elsewhere.url)));
    closing.push(sly);
    const agent = await provider.createAgent({ name: 'sly', settings: { ...settings, url: sly.url } });
    await drain(agent, { does: 'answer', pieces: ['x'] });
    expect(elsewhere.requests.map(({ headers }) => headers['authorization'])).toEqual([undefined]);
  });

  it('does not repeat the key that the other side quotes', async () => {
    const server = await startObedient();
    const settings = { url: server.url, credential: { env: 'A2A_KEY' } };
    const failed = drain(await provider.createAgent({ name: 'ada', settings }), {
      does: 'fail',
      message: `bad ${KEY}`,
    });
    await expect(failed).rejects.toThrow('failed: bad [secret]');
  });

  it('is called without streaming when its card says it cannot', async () => {
    const server = await startObedient({ streaming: false });
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const events = await drain(agent, { does: 'answer', pieces: ['Hel', 'lo'] });
    expect(events.at(-1)).toMatchObject({ type: 'finished', result: { text: 'Hello' } });
    expect(server.methods[0]).toBe('SendMessage');
    expect(new Set(server.methods.slice(1))).toEqual(new Set(['GetTask']));
  });

  it('asks back, and goes on with the same task', async () => {
    const server = await startObedient();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const asked = (await drain(agent, { does: 'ask back', question: 'Which one?' })).at(-1);
    expect(asked).toMatchObject({ result: { outcome: 'input-required', text: 'Which one?' } });
    const { conversationId } = (asked as Extract<AgentEvent, { type: 'finished' }>).result;
    const events = await drain(agent, { does: 'answer', pieces: ['that one'] }, { conversationId });
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'completed', text: 'that one' } });
    const [first, second] = server.requests.slice(1).map(({ body }) => (body as Sent).params.message);
    expect(first?.taskId).toBeFalsy();
    expect(second?.taskId).toBeTruthy();
  });

  it('tells the other side that its task is cancelled', async () => {
    const server = await startObedient();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const caller = new AbortController();
    const call = drain(agent, { does: 'hang', pieces: ['x'] }, { signal: caller.signal });
    await until('it has begun', () => server.executor.busy === 1);
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    await until('it was told', () => server.executor.busy === 0, 1_000);
    expect(server.methods).toEqual(['SendStreamingMessage', 'CancelTask']);
  });

  it.each([
    [401, 'AGENT_CREDENTIAL_REFUSED'],
    [404, 'AGENT_UNREACHABLE'],
    [503, 'AGENT_UNREACHABLE'],
    [200, 'AGENT_ANSWER_UNREADABLE'],
  ])('is not made when its card is answered with %i: %s', async (status, code) => {
    const server = await LocalServer.start((_request, response) => response.writeHead(status).end('no card'));
    closing.push(server);
    const made = provider.createAgent({ name: 'ada', settings: { url: server.url } });
    await expect(made).rejects.toMatchObject({ code });
  });

  it('is not made for an address that may not be called', async () => {
    const strict = new A2aAgentProvider({ fetch: egress.fetch, policy: new EgressPolicy(), secrets: () => undefined });
    const made = strict.createAgent({ name: 'ada', settings: { url: 'http://127.0.0.1:1/' } });
    await expect(made).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
  });
});

interface Sent {
  params: { message: { taskId?: string } };
}

function slyCard(url: string): string {
  const supportedInterfaces = [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] };
  return JSON.stringify({
    name: 'sly',
    description: '',
    version: '1',
    capabilities: {},
    skills: [],
    ...modes,
    supportedInterfaces,
  });
}
