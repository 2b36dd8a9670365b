import { EgressPolicy } from '../../egress/egress.policy.js';
import { ProviderError } from '../../errors.js';
import { Secret } from '../../secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { localEgress } from '../../testing/local-egress.js';
import { LocalServer } from '../../testing/local-server.js';
import { startObedientHttpServer } from '../../testing/obedient-http.server.js';
import type { Agent, AgentEvent } from '../agent.js';
import { HttpAgentProvider } from './http.agent-provider.js';

const policy = new EgressPolicy({ allowLoopback: true });

for (const dialect of ['json', 'ndjson', 'sse'] as const) {
  describeAgentProviderContract(`http (${dialect})`, {
    agentType: 'api',
    streams: dialect !== 'json',
    make: async (name) => {
      const server = await startObedientHttpServer(dialect);
      const egress = localEgress();
      const provider = new HttpAgentProvider({ fetch: egress.fetch, policy, secrets: () => undefined });
      return {
        agent: await provider.createAgent({ name, settings: { url: server.url } }),
        play: (scenario) => JSON.stringify(scenario),
        begunCalls: () => server.requests.length,
        busyCalls: () => server.busyConnections,
        close: async () => {
          await egress.close();
          await server.close();
        },
      };
    },
  });
}

describe('S1.10 an http agent', () => {
  const KEY = 'agent-key-0123456789';
  const egress = localEgress();
  const servers: LocalServer[] = [];
  afterAll(async () => {
    await egress.close();
    await Promise.all(servers.map(async (server) => await server.close()));
  });

  const agentAt = async (answer: Parameters<typeof LocalServer.start>[0], credential?: object): Promise<Agent> => {
    const server = await LocalServer.start(answer);
    servers.push(server);
    const secrets = (name: string): Secret | undefined => (name === 'AGENT_KEY' ? new Secret(KEY) : undefined);
    const provider = new HttpAgentProvider({ fetch: egress.fetch, policy, secrets });
    return await provider.createAgent({ name: 'ada', settings: { url: server.url, credential } });
  };
  const drain = async (agent: Agent): Promise<AgentEvent[]> => {
    const events: AgentEvent[] = [];
    for await (const event of agent.handle({ text: 'hi', data: { a: 1 } }, OPTIONS)) events.push(event);
    return events;
  };
  const OPTIONS = { callId: 'call-1', conversationId: 'talk-1', budget: { tokens: 500 } };

  it('is sent the message with its call, conversation and budget, and the key where it belongs', async () => {
    const agent = await agentAt((_request, response) => response.end('{"text":"ok"}'), { env: 'AGENT_KEY' });
    await drain(agent);
    const [request] = servers.at(-1)?.requests ?? [];
    expect(request?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'idempotency-key': 'call-1' });
    expect(request?.body).toEqual({
      type: 'message',
      id: expect.any(String),
      callId: 'call-1',
      text: 'hi',
      data: { a: 1 },
      conversationId: 'talk-1',
      budget: { tokens: 500 },
    });
  });

  it.each([
    [401, 'AGENT_CREDENTIAL_REFUSED', false],
    [400, 'AGENT_REQUEST_REFUSED', false],
    [404, 'AGENT_UNREACHABLE', false],
    [408, 'AGENT_UNREACHABLE', true],
    [429, 'AGENT_RATE_LIMITED', true],
    [500, 'AGENT_FAILED', false],
    [503, 'AGENT_UNREACHABLE', true],
  ])('turns status %i into %s without the key', async (status, code, retryable) => {
    const agent = await agentAt((_request, response) => response.writeHead(status, { 'retry-after': '3' }).end(KEY), {
      env: 'AGENT_KEY',
    });
    const error = await drain(agent).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, retryable, status, retryAfterMs: 3_000 });
    expect(`${String(error)}${JSON.stringify(error)}`).not.toContain(KEY);
  });

  it('does not repeat the key that the other side quotes', async () => {
    const body = JSON.stringify({ type: 'error', message: `bad ${KEY}` });
    const agent = await agentAt((_request, response) => response.end(body), { env: 'AGENT_KEY' });
    await expect(drain(agent)).rejects.toThrow('failed: bad [secret]');
  });

  it.each(['<html>', '{"text":5}', '"x"'])('refuses an answer it cannot read: %s', async (body) => {
    const agent = await agentAt((_request, response) => response.end(body));
    await expect(drain(agent)).rejects.toMatchObject({ code: 'AGENT_ANSWER_UNREADABLE' });
  });

  it('passes over events of a later version, and asks back', async () => {
    const lines = [
      '{"type":"thought","text":"hm"}',
      '{"type":"progress","text":"reading"}',
      '{"type":"result","text":"Which one?","outcome":"input-required"}',
    ];
    const agent = await agentAt((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(lines.join('\n')),
    );
    const events = await drain(agent);
    expect(events.map((event) => event.type)).toEqual(['progress', 'finished']);
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'input-required', text: 'Which one?' } });
  });

  it('is not made for an address or a key that may not be used', async () => {
    const provider = new HttpAgentProvider({
      fetch: egress.fetch,
      policy: new EgressPolicy(),
      secrets: () => undefined,
    });
    const make = async (settings: unknown): Promise<string> =>
      await provider.createAgent({ name: 'ada', settings }).then(
        () => 'made',
        (error: ProviderError) => error.code,
      );
    expect(await make({ url: 'http://127.0.0.1:1/' })).toBe('EGRESS_DENIED');
    expect(await make({ url: 'https://example.com', credential: { env: 'DATABASE_URL' } })).toBe(
      'AGENT_SETTINGS_INVALID',
    );
    expect(await make({})).toBe('AGENT_SETTINGS_INVALID');
  });
});
