import { once } from 'node:events';
import { until } from '#rollcall/test-support';
import { EgressPolicy } from '../../egress/egress.policy.js';
import { ProviderError } from '../../errors.js';
import { Secret } from '../../secrets/secret.js';
import { allExcept } from '../../testing/agent-contract.subject.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { startFakeHttpAgent } from '../../testing/fake-http.agent.js';
import { localEgress } from '../../testing/local-egress.js';
import { LocalServer } from '../../testing/local-server.js';
import type { Agent, AgentEvent } from '../agent.js';
import { type ContentPart, message, textPart } from '../content.part.js';
import { HttpAgentProvider } from './http.agent-provider.js';

const policy = new EgressPolicy({ allowLoopback: true });

for (const dialect of ['json', 'ndjson', 'sse'] as const) {
  describeAgentProviderContract(`http (${dialect})`, {
    agentType: 'api',
    supports: dialect === 'json' ? allExcept('streaming', 'artifacts') : undefined,
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
  const collect = async (agent: Agent): Promise<AgentEvent[]> => {
    const events: AgentEvent[] = [];
    for await (const event of agent.handle(message('hi', { a: 1 }), OPTIONS)) events.push(event);
    return events;
  };
  const OPTIONS = { callId: 'call-1', conversationId: 'talk-1', budget: { tokens: 500 } };

  it('sends the message with its call id, conversation id and budget, and the key in the Authorization header', async () => {
    const agent = await agentAt((_request, response) => response.end('{"text":"ok"}'), { env: 'AGENT_KEY' });
    await collect(agent);
    const [request] = servers.at(-1)?.requests ?? [];
    expect(request?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'idempotency-key': 'call-1' });
    expect(request?.body).toEqual({
      type: 'message',
      id: expect.any(String),
      callId: 'call-1',
      text: 'hi',
      data: { a: 1 },
      parts: [textPart('hi'), { type: 'data', data: { a: 1 } }],
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
  ])('converts status %i to %s, and the error does not contain the key', async (status, code, retryable) => {
    const agent = await agentAt((_request, response) => response.writeHead(status, { 'retry-after': '3' }).end(KEY), {
      env: 'AGENT_KEY',
    });
    const error = await collect(agent).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, retryable, status, retryAfterMs: 3_000 });
    expect(`${String(error)}${JSON.stringify(error)}`).not.toContain(KEY);
  });

  it('redacts its key in an error message of the remote agent', async () => {
    const body = JSON.stringify({ type: 'error', message: `bad ${KEY}` });
    const agent = await agentAt((_request, response) => response.end(body), { env: 'AGENT_KEY' });
    await expect(collect(agent)).rejects.toThrow('failed: bad [secret]');
  });

  it.each(['<html>', '{"text":5}', '"x"'])('rejects an invalid answer: %s', async (body) => {
    const agent = await agentAt((_request, response) => response.end(body));
    await expect(collect(agent)).rejects.toMatchObject({ code: 'AGENT_ANSWER_UNREADABLE' });
  });

  it('ignores unknown event types, and returns a question with the outcome input-required', async () => {
    const lines = [
      '{"type":"thought","text":"hm"}',
      '{"type":"progress","text":"reading"}',
      '{"type":"result","text":"Which one?","outcome":"input-required"}',
    ];
    const agent = await agentAt((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(lines.join('\n')),
    );
    const events = await collect(agent);
    expect(events.map((event) => event.type)).toEqual(['progress', 'finished']);
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'input-required', parts: [textPart('Which one?')] } });
  });

  it.each(['x-ndjson', 'event-stream'])('rejects a line that never ends: %s', async (kind) => {
    const chunk = 'x'.repeat(1 << 16);
    const agent = await agentAt(async (_request, response) => {
      response.writeHead(200, { 'content-type': kind === 'x-ndjson' ? 'application/x-ndjson' : 'text/event-stream' });
      response.write('data: ');
      while (!response.destroyed) if (!response.write(chunk)) await once(response, 'drain').catch(() => undefined);
    });
    await expect(collect(agent)).rejects.toMatchObject({ code: 'AGENT_ANSWER_UNREADABLE', fault: 'remote' });
    await until('the connection is closed', () => servers.at(-1)?.busyConnections === 0);
  });

  /** Creates an agent that answers with these lines. */
  const agentWithEvents = async (events: object[], credential?: object): Promise<Agent> =>
    await agentAt(
      (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'application/x-ndjson' })
          .end(events.map((event) => JSON.stringify(event)).join('\n')),
      credential,
    );
  const FILE: ContentPart = { type: 'file', bytes: 'AAEC', mediaType: 'image/png', name: 'a.png' };

  it.each([
    [[], { text: 'Hi', data: { a: 1 } }, [textPart('Hi'), { type: 'data', data: { a: 1 } }]],
    [[], { text: 'Hi', data: { a: 1 }, parts: [textPart('Hi'), { type: 'data', data: { a: 1 } }, FILE] }, undefined],
    [[], { text: 'Hi', parts: [FILE] }, [textPart('Hi'), FILE]],
    [['H', 'i'], { parts: [FILE] }, [textPart('Hi'), FILE]],
    [['H', 'i'], { parts: [textPart('Hi'), FILE] }, [textPart('Hi'), FILE]],
    [['H', 'i'], { text: '' }, []],
    [[], {}, []],
  ])('does not repeat text or data that an answer also contains as parts: %j %j', async (texts, result, parts) => {
    const pieces = texts.map((text) => ({ type: 'text', text }));
    const events = await collect(await agentWithEvents([...pieces, { type: 'result', ...result }]));
    expect(events.at(-1)).toMatchObject({ result: { parts: parts ?? result.parts } });
  });

  it('passes on the chunks of an artifact, and adds the artifact to the result', async () => {
    const artifact = { id: 'a', name: 'a.md', parts: [textPart('One')], append: true, last: false };
    const events = await collect(
      await agentWithEvents([
        { type: 'artifact', artifact },
        { type: 'artifact', artifact: { id: 'a', parts: [FILE], append: true, last: true } },
        { type: 'result', text: 'Done.' },
      ]),
    );
    expect(events).toEqual([
      { type: 'artifact', artifact },
      { type: 'artifact', artifact: { id: 'a', parts: [FILE], append: true, last: true } },
      {
        type: 'finished',
        result: { outcome: 'completed', parts: [textPart('Done.'), textPart('One'), FILE], usage: {} },
      },
    ]);
  });

  it('returns the outcome stopped with the reason unknown if the agent gives no reason', async () => {
    const events = await collect(await agentWithEvents([{ type: 'result', text: 'So far', outcome: 'stopped' }]));
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'stopped', reason: 'unknown', detail: '' } });
  });

  it.each([
    { type: 'result', parts: [{ type: 'picture' }] },
    { type: 'result', parts: [{ type: 'file', bytes: '?', mediaType: 'image/png' }] },
    { type: 'result', parts: 'none' },
    { type: 'result', outcome: 'waiting' },
    { type: 'artifact', artifact: { parts: [] } },
  ])('rejects an invalid event: %j', async (event) => {
    await expect(collect(await agentWithEvents([event]))).rejects.toMatchObject({ code: 'AGENT_ANSWER_UNREADABLE' });
  });

  it('redacts its key in files, artifacts, reasons, tool calls and error messages about the answer', async () => {
    const bytes = Buffer.from(`a file with ${KEY}`).toString('base64');
    const file = { type: 'file', bytes, mediaType: 'text/plain', name: KEY };
    const events = await collect(
      await agentWithEvents(
        [
          { type: 'artifact', artifact: { id: KEY, name: KEY, parts: [file, { type: 'data', data: { [KEY]: KEY } }] } },
          { type: 'tool-call', name: 'search', input: { [KEY]: [KEY] } },
          { type: 'result', outcome: 'stopped', reason: KEY, detail: KEY, conversationId: KEY, parts: [file] },
        ],
        { env: 'AGENT_KEY' },
      ),
    );
    const revealed = [KEY, Buffer.from(KEY).toString('base64').slice(0, -4), bytes];
    for (const text of revealed) expect(JSON.stringify(events)).not.toContain(text);
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'stopped', reason: '[secret]', detail: '[secret]' } });
    const invalid = agentWithEvents([{ type: 'result', outcome: KEY, text: [KEY] }], { env: 'AGENT_KEY' });
    await expect(collect(await invalid)).rejects.toThrow(expect.not.stringContaining(KEY));
  });

  it('rejects a file that is larger than the limit of an answer', async () => {
    const small = localEgress({ bytes: 10_000 });
    const server = await LocalServer.start((_request, response) =>
      response.end(JSON.stringify({ parts: [{ ...FILE, bytes: 'A'.repeat(20_000) }] })),
    );
    servers.push(server);
    const provider = new HttpAgentProvider({ fetch: small.fetch, policy, secrets: () => undefined });
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    await expect(collect(agent)).rejects.toMatchObject({ code: 'EGRESS_TOO_LARGE' });
    await small.close();
  });

  it('treats null as missing, and an invalid count as unknown', async () => {
    const body = {
      text: 'ok',
      data: null,
      outcome: null,
      conversationId: null,
      usage: { inputTokens: 3, outputTokens: -1, costMicroUsd: 1.5, cacheReadTokens: 0, reasoningTokens: null },
    };
    const agent = await agentAt((_request, response) => response.end(JSON.stringify(body)));
    const result = { outcome: 'completed', parts: [textPart('ok')], usage: { inputTokens: 3, cacheReadTokens: 0 } };
    expect(await collect(agent)).toEqual([{ type: 'finished', result }]);
    const withoutUsage = await agentAt((_request, response) => response.end('{"text":"ok","usage":null}'));
    expect(await collect(withoutUsage)).toMatchObject([{ result: { usage: {} } }]);
  });

  it('redacts a key that arrives in two parts', async () => {
    const lines = [KEY.slice(0, 8), KEY.slice(8)].map((text) => JSON.stringify({ type: 'text', text }));
    const agent = await agentAt(
      (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'Application/X-NDJSON' })
          .end([...lines, '{"type":"result"}'].join('\n')),
      { env: 'AGENT_KEY' },
    );
    expect((await collect(agent)).at(-1)).toMatchObject({ result: { parts: [textPart('[secret]')] } });
  });

  it('sends several data parts as one array, for agents that do not read parts', async () => {
    const agent = await agentAt((_request, response) => response.end('{"text":"ok"}'));
    const data = [1, null].map((value): ContentPart => ({ type: 'data', data: value }));
    for await (const event of agent.handle({ parts: [textPart('a'), ...data, textPart('b')] })) void event;
    expect(servers.at(-1)?.requests[0]?.body).toMatchObject({ text: 'ab', data: [1, null] });
  });

  it('accepts a call id that is not a valid header value', async () => {
    const agent = await agentAt((_request, response) => response.end('{"text":"ok"}'));
    for await (const event of agent.handle(message('hi'), { callId: 'a\r\nx-injected: 1 é' })) void event;
    const [request] = servers.at(-1)?.requests ?? [];
    expect(request?.headers['idempotency-key']).toBe('a%0D%0Ax-injected%3A%201%20%C3%A9');
    expect(request?.headers['x-injected']).toBeUndefined();
    expect(request?.body).toMatchObject({ callId: 'a\r\nx-injected: 1 é' });
  });

  it('rejects a URL or a key that is not allowed', async () => {
    const provider = new HttpAgentProvider({
      fetch: egress.fetch,
      policy: new EgressPolicy(),
      secrets: () => undefined,
    });
    const create = async (settings: unknown): Promise<string> =>
      await provider.createAgent({ name: 'ada', settings }).then(
        () => 'created',
        (error: ProviderError) => error.code,
      );
    expect(await create({ url: 'http://127.0.0.1:1/' })).toBe('EGRESS_DENIED');
    expect(await create({ url: 'https://example.com', credential: { env: 'DATABASE_URL' } })).toBe(
      'AGENT_SETTINGS_INVALID',
    );
    expect(await create({})).toBe('AGENT_SETTINGS_INVALID');
  });
});
