import { once } from 'node:events';
import { EgressPolicy } from '../../egress/egress.policy.js';
import { ProviderError } from '../../errors.js';
import { Secret } from '../../secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { localEgress } from '../../testing/local-egress.js';
import { LocalServer } from '../../testing/local-server.js';
import { startFakeHttpAgent } from '../../testing/fake-http.agent.js';
import { until } from '#rollcall/test-support';
import type { Agent, AgentEvent } from '../agent.js';
import { HttpAgentProvider } from './http.agent-provider.js';

const policy = new EgressPolicy({ allowLoopback: true });

for (const dialect of ['json', 'ndjson', 'sse'] as const) {
  describeAgentProviderContract(`http (${dialect})`, {
    agentType: 'api',
    streams: dialect !== 'json',
    make: async (name) => {
      const server = await startFakeHttpAgent(dialect);
      const egress = localEgress();
      const provider = new HttpAgentProvider({ fetch: egress.fetch, policy, secrets: () => undefined });
      return {
        agent: await provider.createAgent({ name, settings: { url: server.url } }),
        play: (scenario) => JSON.stringify(scenario),
        begunCalls: () => server.requests.length,
        busyCalls: () => server.busyConnections,
        close: async () => {
          expect(egress.inFlight).toBe(0);
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

  it.each(['x-ndjson', 'event-stream'])('refuses a piece without an end: %s', async (kind) => {
    const piece = 'x'.repeat(1 << 16);
    const agent = await agentAt(async (_request, response) => {
      response.writeHead(200, { 'content-type': kind === 'x-ndjson' ? 'application/x-ndjson' : 'text/event-stream' });
      response.write('data: ');
      while (!response.destroyed) if (!response.write(piece)) await once(response, 'drain').catch(() => undefined);
    });
    await expect(drain(agent)).rejects.toMatchObject({ code: 'AGENT_ANSWER_UNREADABLE', fault: 'remote' });
    await until('the connection is given up', () => servers.at(-1)?.busyConnections === 0);
  });

  it('takes null for what is not there, and a count that is none for not known', async () => {
    const body = {
      text: 'ok',
      data: null,
      outcome: null,
      conversationId: null,
      usage: { inputTokens: 3, outputTokens: -1, costMicroUsd: 1.5, cacheReadTokens: 0, reasoningTokens: null },
    };
    const agent = await agentAt((_request, response) => response.end(JSON.stringify(body)));
    const result = { outcome: 'completed', text: 'ok', usage: { inputTokens: 3, cacheReadTokens: 0 } };
    expect(await drain(agent)).toEqual([{ type: 'finished', result }]);
    const silent = await agentAt((_request, response) => response.end('{"text":"ok","usage":null}'));
    expect(await drain(silent)).toMatchObject([{ result: { usage: {} } }]);
  });

  it('takes a key out of what comes in two pieces', async () => {
    const lines = [KEY.slice(0, 8), KEY.slice(8)].map((text) => JSON.stringify({ type: 'text', text }));
    const agent = await agentAt(
      (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'Application/X-NDJSON' })
          .end([...lines, '{"type":"result"}'].join('\n')),
      { env: 'AGENT_KEY' },
    );
    expect((await drain(agent)).at(-1)).toMatchObject({ result: { text: '[secret]' } });
  });

  it('can be called with any id, also one that is no header', async () => {
    const agent = await agentAt((_request, response) => response.end('{"text":"ok"}'));
    for await (const event of agent.handle({ text: 'hi' }, { callId: 'a\r\nx-injected: 1 é' })) void event;
    const [request] = servers.at(-1)?.requests ?? [];
    expect(request?.headers['idempotency-key']).toBe('a%0D%0Ax-injected%3A%201%20%C3%A9');
    expect(request?.headers['x-injected']).toBeUndefined();
    expect(request?.body).toMatchObject({ callId: 'a\r\nx-injected: 1 é' });
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
