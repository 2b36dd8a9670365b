import { EgressPolicy } from '../../egress/egress.policy.js';
import { Secret } from '../../secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { localEgress } from '../../testing/local-egress.js';
import { LocalServer } from '../../testing/local-server.js';
import type { A2aWire } from '../../testing/a2a-wires/a2a.wire.js';
import { jsonRpcWire, legacyJsonRpcWire } from '../../testing/a2a-wires/json-rpc.wire.js';
import { cardWith, jsonRpcAt } from '../../testing/a2a-wires/odd-card.js';
import { restWire } from '../../testing/a2a-wires/rest.wire.js';
import { FakeA2aServer } from '../../testing/fake-a2a.server.js';
import { until } from '#rollcall/test-support';
import type { Agent, AgentEvent, HandleOptions } from '../agent.js';
import { A2aAgentProvider } from './a2a.agent-provider.js';

const policy = new EgressPolicy({ allowLoopback: true });

for (const wire of [jsonRpcWire, restWire, legacyJsonRpcWire]) {
  for (const streaming of [true, false]) {
    describeAgentProviderContract(`a2a (${wire.name}, ${streaming ? 'streaming' : 'at once'})`, {
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
  /** One whose calls are answered like this. */
  const answering = async (
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
  /** One that streams exactly these results; of its tasks it knows nothing afterwards. */
  const raw = async (results: object[], credential?: object): Promise<Agent> =>
    await answering(
      ({ body }, response) => {
        const { id, method } = body as { id: unknown; method: string };
        if (method !== 'SendStreamingMessage') return response.destroy();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const result of results) response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
        return response.end();
      },
      { credential },
    );
  const drain = async (agent: Agent, scenario: object, options?: HandleOptions): Promise<AgentEvent[]> => {
    const events: AgentEvent[] = [];
    for await (const event of agent.handle({ text: JSON.stringify(scenario) }, options)) events.push(event);
    return events;
  };

  it('sends the key to the agent and to nobody its card may name', async () => {
    const [server, elsewhere] = [await startServer(), await startServer()];
    const settings = { url: server.url, credential: { env: 'A2A_KEY' } };
    await drain(await provider.createAgent({ name: 'ada', settings }), { does: 'answer', pieces: ['x'] });
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);

    const sly = await LocalServer.start((_request, response) => response.end(cardWith(jsonRpcAt(elsewhere.url))));
    closing.push(sly);
    const agent = await provider.createAgent({ name: 'sly', settings: { ...settings, url: sly.url } });
    await drain(agent, { does: 'answer', pieces: ['x'] });
    expect(elsewhere.requests.map(({ headers }) => headers['authorization'])).toEqual([undefined]);
  });

  it('does not repeat the key that the other side quotes', async () => {
    const server = await startServer();
    const settings = { url: server.url, credential: { env: 'A2A_KEY' } };
    const failed = drain(await provider.createAgent({ name: 'ada', settings }), {
      does: 'fail',
      message: `bad ${KEY}`,
    });
    await expect(failed).rejects.toThrow('failed: bad [secret]');
  });

  it('is called without streaming when its card says it cannot', async () => {
    const server = await startServer({ streaming: false });
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const events = await drain(agent, { does: 'answer', pieces: ['Hel', 'lo'] });
    expect(events.at(-1)).toMatchObject({ type: 'finished', result: { text: 'Hello' } });
    expect(server.methods[0]).toBe('SendMessage');
    expect(new Set(server.methods.slice(1))).toEqual(new Set(['GetTask']));
  });

  it('asks back, and goes on with the same task', async () => {
    const server = await startServer();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const asked = (
      await drain(agent, {
        does: 'end as',
        state: 'TASK_STATE_INPUT_REQUIRED',
        says: 'Which one?',
      })
    ).at(-1);
    expect(asked).toMatchObject({ result: { outcome: 'input-required', text: 'Which one?' } });
    const { conversationId } = (asked as Extract<AgentEvent, { type: 'finished' }>).result;
    const events = await drain(agent, { does: 'answer', pieces: ['that one'] }, { conversationId });
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'completed', text: 'that one' } });
    const [first, second] = server.requests.slice(1).map(({ body }) => (body as Sent).params.message);
    expect(first?.taskId).toBeFalsy();
    expect(second?.taskId).toBeTruthy();
  });

  it('tells the other side that its task is cancelled', async () => {
    const server = await startServer();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const caller = new AbortController();
    const call = drain(agent, { does: 'hang', pieces: ['x'] }, { signal: caller.signal });
    await until('it has begun', () => server.executor.busy === 1);
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    await until('it was told', () => server.executor.busy === 0);
    expect(server.methods).toEqual(['SendStreamingMessage', 'CancelTask']);
  });

  it.each([true, false])('takes back a task that it does not know yet (streaming: %s)', async (streaming) => {
    const [answer, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const methods: string[] = [];
    const agent = await answering(
      async ({ body }, response) => {
        const { id, method } = body as { id: unknown; method: string };
        methods.push(method);
        if (method === 'CancelTask') return; // and never answers: nobody may wait for it
        held.resolve();
        await answer.promise;
        const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };
        const frame = JSON.stringify({ jsonrpc: '2.0', id, result: { task } });
        if (streaming) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${frame}\n\n`);
        else response.writeHead(200, { 'content-type': 'application/json' }).end(frame);
      },
      { streaming },
    );
    const caller = new AbortController();
    const call = drain(agent, {}, { signal: caller.signal });
    await held.promise;
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    answer.resolve();
    await until('it is taken back', () => methods.includes('CancelTask'));
    await agent.shutdown();
    expect(egress.inFlight).toBe(0);
  });

  it.each([
    ['TASK_STATE_FAILED', 'AGENT_FAILED', 'remote', 'failed: no'],
    ['TASK_STATE_REJECTED', 'AGENT_REQUEST_REFUSED', 'caller', 'rejected the request: no'],
    ['TASK_STATE_CANCELED', 'AGENT_FAILED', 'remote', 'failed: no'],
  ])('ends as %s with %s, the fault of the %s', async (state, code, fault, message) => {
    const server = await startServer();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const ended = drain(agent, { does: 'end as', state, says: 'no' });
    await expect(ended).rejects.toMatchObject({ code, fault, message: expect.stringContaining(message) });
    expect(agent.state).toBe(fault === 'remote' ? 'failed' : 'idle');
  });

  it('asks for an authorization as it asks for anything else', async () => {
    const server = await startServer();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const events = await drain(agent, { does: 'end as', state: 'TASK_STATE_AUTH_REQUIRED', says: 'Sign in at …' });
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'input-required', text: 'Sign in at …' } });
  });

  it.each([restWire, jsonRpcWire, legacyJsonRpcWire])(
    'refuses to go on with a task nobody knows, as the fault of the caller: $name',
    async (wire) => {
      const server = await startServer({ wire });
      const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
      const lost = drain(agent, { does: 'answer', pieces: ['x'] }, { conversationId: 'talk#task=lost' });
      await expect(lost).rejects.toMatchObject({ code: 'AGENT_REQUEST_REFUSED', fault: 'caller' });
    },
  );

  it('counts an artifact once, though it comes in pieces, anew and with the whole task', async () => {
    const piece = (text: string, append: boolean): object => ({
      artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text }] }, append },
    });
    const status = { state: 'TASK_STATE_COMPLETED' };
    const whole = {
      task: { id: 't', contextId: 'c', status, artifacts: [{ artifactId: 'a', parts: [{ text: 'Hello you' }] }] },
    };
    const agent = await raw([piece('Hel', false), piece('lo', true), piece('Hello', false), whole]);
    const events = await drain(agent, {});
    expect(events.flatMap((event) => (event.type === 'text' ? [event.text] : []))).toEqual(['Hel', 'lo', ' you']);
    expect(events.at(-1)).toMatchObject({ result: { text: 'Hello you', conversationId: 'c' } });
  });

  it('takes the key out of all that is said, data included, also when it comes in two pieces', async () => {
    const [begin, end] = [KEY.slice(0, 5), KEY.slice(5)];
    const parts = [{ text: `got ${KEY} ${begin}` }, { text: end }, { data: { echo: [KEY] } }];
    const working = {
      state: 'TASK_STATE_WORKING',
      message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: KEY }] },
    };
    const agent = await raw(
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
    const events = await drain(agent, {});
    expect(JSON.stringify(events)).not.toContain(KEY);
    expect(events.at(-1)).toMatchObject({ result: { text: 'got [secret] [secret]', data: { echo: ['[secret]'] } } });
  });

  it('calls it a crash when the stream ends in good order, but the task does not', async () => {
    const agent = await raw([{ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } }]);
    const error = await drain(agent, {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ fault: 'remote', retryable: true });
  });

  it.each([401, 403, 429, 502, 503])('believes status %i more than what its body says', async (status) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: `odd ${KEY}` } });
    const agent = await answering((_request, response) =>
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '2' }).end(body),
    );
    const error = await drain(agent, {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status, retryAfterMs: 2_000 });
    expect(String(error)).not.toContain(KEY);
  });
});

interface Sent {
  params: { message: { taskId?: string } };
}
