import { until } from '#rollcall/test-support';
import { EgressPolicy } from '../../egress/egress.policy.js';
import { Secret } from '../../secrets/secret.js';
import type { A2aWire } from '../../testing/a2a-wires/a2a.wire.js';
import { jsonRpcWire, legacyJsonRpcWire } from '../../testing/a2a-wires/json-rpc.wire.js';
import { cardWith, jsonRpcAt } from '../../testing/a2a-wires/odd-card.js';
import { restWire } from '../../testing/a2a-wires/rest.wire.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { FakeA2aServer } from '../../testing/fake-a2a.server.js';
import { localEgress } from '../../testing/local-egress.js';
import { LocalServer } from '../../testing/local-server.js';
import type { Agent, AgentEvent, HandleOptions } from '../agent.js';
import { message, textPart } from '../content.part.js';
import { A2aAgentProvider } from './a2a.agent-provider.js';

const policy = new EgressPolicy({ allowLoopback: true });

for (const wire of [jsonRpcWire, restWire, legacyJsonRpcWire]) {
  for (const streaming of [true, false]) {
    describeAgentProviderContract(`a2a (${wire.name}, ${streaming ? 'streaming' : 'without streaming'})`, {
      agentType: 'remote',
      make: async (name) => {
        const server = await FakeA2aServer.start({ wire, streaming });
        const egress = localEgress();
        const provider = new A2aAgentProvider({ fetch: egress.fetch, policy, secrets: () => undefined });
        return {
          agent: await provider.createAgent({ name, settings: { url: server.url } }),
          play: (scenario) => JSON.stringify(scenario),
          begunCalls: () => server.executor.begun,
          busyCalls: () => server.executor.busy,
          close: async () => {
            expect(egress.inFlight).toBe(0);
            await egress.close();
            await server.close();
          },
        };
      },
    });
  }
}

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

  const startServer = async (options?: { streaming?: boolean; wire?: A2aWire }): Promise<FakeA2aServer> => {
    const server = await FakeA2aServer.start(options);
    closing.push(server);
    return server;
  };
  const serve = async (answer: Parameters<typeof LocalServer.start>[0]): Promise<LocalServer> => {
    const server = await LocalServer.start(answer);
    closing.push(server);
    return server;
  };
  /** Creates an agent whose server answers calls with `answer`. */
  const agentWithAnswer = async (
    answer: Parameters<typeof LocalServer.start>[0],
    { credential, streaming = true }: { credential?: object; streaming?: boolean } = {},
  ): Promise<Agent> => {
    const server = await serve((request, response) =>
      request.method === 'GET'
        ? response.end(cardWith(jsonRpcAt(server.url), { streaming }))
        : answer(request, response),
    );
    return await provider.createAgent({ name: 'ada', settings: { url: server.url, credential } });
  };
  /** Creates an agent whose server streams exactly these results, and closes the connection of every other request. */
  const agentWithResults = async (results: object[], credential?: object): Promise<Agent> =>
    await agentWithAnswer(
      ({ body }, response) => {
        const { id, method } = body as { id: unknown; method: string };
        if (method !== 'SendStreamingMessage') return response.destroy();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const result of results) response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
        return response.end();
      },
      { credential },
    );
  const collect = async (agent: Agent, scenario: object, options?: HandleOptions): Promise<AgentEvent[]> => {
    const events: AgentEvent[] = [];
    for await (const event of agent.handle(message(JSON.stringify(scenario)), options)) events.push(event);
    return events;
  };

  it('sends its key to its own server, but not to another server that its card names', async () => {
    const [server, otherServer] = [await startServer(), await startServer()];
    const settings = { url: server.url, credential: { env: 'A2A_KEY' } };
    await collect(await provider.createAgent({ name: 'ada', settings }), { does: 'answer', pieces: ['x'] });
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);

    const redirecting = await LocalServer.start((_request, response) =>
      response.end(cardWith(jsonRpcAt(otherServer.url))),
    );
    closing.push(redirecting);
    const agent = await provider.createAgent({ name: 'redirected', settings: { ...settings, url: redirecting.url } });
    await collect(agent, { does: 'answer', pieces: ['x'] });
    expect(otherServer.requests.map(({ headers }) => headers['authorization'])).toEqual([undefined]);
  });

  it('redacts its key in an error message of the remote agent', async () => {
    const server = await startServer();
    const settings = { url: server.url, credential: { env: 'A2A_KEY' } };
    const failed = collect(await provider.createAgent({ name: 'ada', settings }), {
      does: 'fail',
      message: `bad ${KEY}`,
    });
    await expect(failed).rejects.toThrow('failed: bad [secret]');
  });

  it('calls an agent without streaming if its card does not offer streaming', async () => {
    const server = await startServer({ streaming: false });
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const events = await collect(agent, { does: 'answer', pieces: ['Hel', 'lo'] });
    expect(events.at(-1)).toMatchObject({ type: 'finished', result: { parts: [textPart('Hello')] } });
    expect(server.methods[0]).toBe('SendMessage');
    expect(new Set(server.methods.slice(1))).toEqual(new Set(['GetTask']));
  });

  it('returns a question as input-required, and continues the same task with the answer', async () => {
    const server = await startServer();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const asked = (
      await collect(agent, {
        does: 'end as',
        state: 'TASK_STATE_INPUT_REQUIRED',
        says: 'Which one?',
      })
    ).at(-1);
    expect(asked).toMatchObject({ result: { outcome: 'input-required', parts: [textPart('Which one?')] } });
    const { conversationId } = (asked as Extract<AgentEvent, { type: 'finished' }>).result;
    const events = await collect(agent, { does: 'answer', pieces: ['that one'] }, { conversationId });
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'completed', parts: [textPart('that one')] } });
    const [first, second] = server.requests.slice(1).map(({ body }) => (body as SentMessage).params.message);
    expect(first?.taskId).toBeFalsy();
    expect(second?.taskId).toBeTruthy();
  });

  it('sends CancelTask when the caller aborts the call', async () => {
    const server = await startServer();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const caller = new AbortController();
    const call = collect(agent, { does: 'hang', pieces: ['x'] }, { signal: caller.signal });
    await until('the task has started', () => server.executor.busy === 1);
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    await until('the task has stopped', () => server.executor.busy === 0);
    expect(server.methods).toEqual(['SendStreamingMessage', 'CancelTask']);
  });

  it.each([true, false])(
    'cancels a task whose id arrives after the call was aborted (streaming: %s)',
    async (streaming) => {
      const [answer, received] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const methods: string[] = [];
      const agent = await agentWithAnswer(
        async ({ body }, response) => {
          const { id, method } = body as { id: unknown; method: string };
          methods.push(method);
          if (method === 'CancelTask') return; // gets no answer: the caller must not wait for one
          received.resolve();
          await answer.promise;
          const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };
          const frame = JSON.stringify({ jsonrpc: '2.0', id, result: { task } });
          if (streaming) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${frame}\n\n`);
          else response.writeHead(200, { 'content-type': 'application/json' }).end(frame);
        },
        { streaming },
      );
      const caller = new AbortController();
      const call = collect(agent, {}, { signal: caller.signal });
      await received.promise;
      caller.abort();
      await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
      answer.resolve();
      await until('the task is cancelled', () => methods.includes('CancelTask'));
      await agent.shutdown();
      expect(egress.inFlight).toBe(0);
    },
  );

  it.each(['TASK_STATE_FAILED', 'TASK_STATE_CANCELED'])('converts the task state %s to AGENT_FAILED', async (state) => {
    const server = await startServer();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const ended = collect(agent, { does: 'end as', state, says: 'no' });
    await expect(ended).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      fault: 'remote',
      message: expect.stringContaining('failed: no'),
    });
    expect(agent.state).toBe('failed');
  });

  it('returns a rejected task as refused, with a conversation that does not continue the task', async () => {
    const server = await startServer();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const events = await collect(agent, { does: 'end as', state: 'TASK_STATE_REJECTED', says: 'no' });
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'refused', parts: [textPart('no')] } });
    const { conversationId } = (events.at(-1) as Extract<AgentEvent, { type: 'finished' }>).result;
    expect(conversationId).not.toContain('task=');
    expect(agent.state).toBe('idle');
  });

  it.each([restWire, jsonRpcWire])(
    'P-2 reports that a task needs an authorization, and listens until the task continues: $name',
    async (wire) => {
      const server = await startServer({ wire });
      const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
      const events: AgentEvent[] = [];
      for await (const event of agent.handle(message(JSON.stringify({ does: 'authorize', says: 'Sign in at …' })))) {
        events.push(event);
        if (event.type === 'authorization') server.executor.authorize();
      }
      expect(events.filter(({ type }) => type !== 'accepted')).toMatchObject([
        { type: 'authorization', required: true, parts: [textPart('Sign in at …')] },
        { type: 'finished', result: { outcome: 'completed' } },
      ]);
    },
  );

  it.each([restWire, jsonRpcWire, legacyJsonRpcWire])(
    'rejects the continuation of an unknown task as the fault of the caller: $name',
    async (wire) => {
      const server = await startServer({ wire });
      const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
      const lost = collect(agent, { does: 'answer', pieces: ['x'] }, { conversationId: 'talk#task=lost' });
      await expect(lost).rejects.toMatchObject({ code: 'AGENT_REQUEST_REFUSED', fault: 'caller' });
    },
  );

  it('returns the text of an artifact once, although it arrives three times: in parts, as a whole, and with the task', async () => {
    const part = (text: string, append: boolean): object => ({
      artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text }] }, append },
    });
    const status = { state: 'TASK_STATE_COMPLETED' };
    const whole = {
      task: { id: 't', contextId: 'c', status, artifacts: [{ artifactId: 'a', parts: [{ text: 'Hello you' }] }] },
    };
    const agent = await agentWithResults([part('Hel', false), part('lo', true), part('Hello', false), whole]);
    const events = await collect(agent, {});
    expect(events.flatMap((event) => (event.type === 'text' ? [event.text] : []))).toEqual(['Hel', 'lo', ' you']);
    expect(events.at(-1)).toMatchObject({ result: { parts: [textPart('Hello you')], conversationId: 'c' } });
  });

  it('redacts the key in text and data, even if the key arrives in two parts', async () => {
    const [begin, end] = [KEY.slice(0, 5), KEY.slice(5)];
    const parts = [{ text: `got ${KEY} ${begin}` }, { text: end }, { data: { echo: [KEY] } }];
    const working = {
      state: 'TASK_STATE_WORKING',
      message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: KEY }] },
    };
    const agent = await agentWithResults(
      [
        { statusUpdate: { taskId: 't', contextId: 'c', status: working } },
        {
          task: {
            id: 't',
            contextId: 'c',
            status: { state: 'TASK_STATE_COMPLETED' },
            artifacts: [{ artifactId: 'a', parts }],
          },
        },
      ],
      { env: 'A2A_KEY' },
    );
    const events = await collect(agent, {});
    expect(JSON.stringify(events)).not.toContain(KEY);
    expect(events.at(-1)).toMatchObject({
      result: {
        parts: [textPart('got [secret] [secret]'), { type: 'data', data: { echo: ['[secret]'] } }],
      },
    });
  });

  it('reports a retryable fault of the remote side when the stream ends before the task is finished', async () => {
    const agent = await agentWithResults([
      { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } },
    ]);
    const error = await collect(agent, {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ fault: 'remote', retryable: true });
  });

  it.each([401, 403, 429, 502, 503])('reports status %i, not the error in the body', async (status) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: `bad ${KEY}` } });
    const agent = await agentWithAnswer((_request, response) =>
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '2' }).end(body),
    );
    const error = await collect(agent, {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status, retryAfterMs: 2_000 });
    expect(String(error)).not.toContain(KEY);
  });
});

interface SentMessage {
  params: { message: { taskId?: string } };
}
