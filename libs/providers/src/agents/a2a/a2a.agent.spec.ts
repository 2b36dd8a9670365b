import { EgressPolicy } from '../../egress/egress.policy.js';
import { Secret } from '../../secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { localEgress } from '../../testing/local-egress.js';
import { LocalServer } from '../../testing/local-server.js';
import type { A2aWire } from '../../testing/a2a-wires/a2a.wire.js';
import { jsonRpcWire, legacyJsonRpcWire } from '../../testing/a2a-wires/json-rpc.wire.js';
import { restWire } from '../../testing/a2a-wires/rest.wire.js';
import { ObedientA2aServer } from '../../testing/obedient-a2a.server.js';
import { until } from '../../testing/until.js';
import type { Agent, AgentEvent, HandleOptions } from '../agent.js';
import { A2aAgentProvider } from './a2a.agent-provider.js';

const policy = new EgressPolicy({ allowLoopback: true });

for (const wire of [jsonRpcWire, restWire, legacyJsonRpcWire]) {
  for (const streaming of [true, false]) {
    describeAgentProviderContract(`a2a (${wire.name}, ${streaming ? 'streaming' : 'at once'})`, {
      agentType: 'remote',
      make: async (name) => {
        const server = await ObedientA2aServer.start({ wire, streaming });
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

  const startObedient = async (options?: { streaming?: boolean; wire?: A2aWire }): Promise<ObedientA2aServer> => {
    const server = await ObedientA2aServer.start(options);
    closing.push(server);
    return server;
  };
  const serve = async (answer: Parameters<typeof LocalServer.start>[0]): Promise<LocalServer> => {
    const server = await LocalServer.start(answer);
    closing.push(server);
    return server;
  };
  /** One whose calls are answered like this. */
  const answering = async (answer: Parameters<typeof LocalServer.start>[0], credential?: object): Promise<Agent> => {
    const server = await serve((request, response) =>
      request.method === 'GET'
        ? response.end(cardWith(jsonRpcAt(server.url), { streaming: true }))
        : answer(request, response),
    );
    return await provider.createAgent({ name: 'ada', settings: { url: server.url, credential } });
  };
  /** One that streams exactly these results; of its tasks it knows nothing afterwards. */
  const raw = async (results: object[], credential?: object): Promise<Agent> =>
    await answering(({ body }, response) => {
      const { id, method } = body as { id: unknown; method: string };
      if (method !== 'SendStreamingMessage') return response.destroy();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const result of results) response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
      return response.end();
    }, credential);
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

    const sly = await LocalServer.start((_request, response) => response.end(cardWith(jsonRpcAt(elsewhere.url))));
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
    ['TASK_STATE_FAILED', 'AGENT_FAILED', 'remote', 'failed: no'],
    ['TASK_STATE_REJECTED', 'AGENT_REQUEST_REFUSED', 'caller', 'declined: no'],
    ['TASK_STATE_CANCELED', 'AGENT_FAILED', 'remote', 'failed: no'],
  ])('ends as %s with %s, the fault of the %s', async (state, code, fault, message) => {
    const server = await startObedient();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const ended = drain(agent, { does: 'end as', state, says: 'no' });
    await expect(ended).rejects.toMatchObject({ code, fault, message: expect.stringContaining(message) });
    expect(agent.state).toBe(fault === 'remote' ? 'failed' : 'idle');
  });

  it('asks for an authorization as it asks for anything else', async () => {
    const server = await startObedient();
    const agent = await provider.createAgent({ name: 'ada', settings: { url: server.url } });
    const events = await drain(agent, { does: 'end as', state: 'TASK_STATE_AUTH_REQUIRED', says: 'Sign in at …' });
    expect(events.at(-1)).toMatchObject({ result: { outcome: 'input-required', text: 'Sign in at …' } });
  });

  it.each([restWire, jsonRpcWire, legacyJsonRpcWire])(
    'refuses to go on with a task nobody knows, as the fault of the caller: $name',
    async (wire) => {
      const server = await startObedient({ wire });
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

  it.each([
    [
      'only gRPC',
      [{ url: 'https://a.example', protocolBinding: 'GRPC', protocolVersion: '1.0' }],
      /offers GRPC 1\.0; spoken here/,
    ],
    [
      'a later version',
      [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '2.0' }],
      /offers JSONRPC 2\.0/,
    ],
    ['nothing', [], /names no interface/],
    ['nonsense', 'everything', /names no interface/],
  ])('is not made when its card offers %s, and says why', async (_what, supportedInterfaces, why) => {
    const server = await serve((_request, response) => response.end(cardWith(supportedInterfaces)));
    const made = provider.createAgent({ name: 'ada', settings: { url: server.url } });
    await expect(made).rejects.toMatchObject({ code: 'AGENT_ANSWER_UNREADABLE', message: expect.stringMatching(why) });
  });

  it('takes the first of the interfaces that can be spoken', async () => {
    const server = await startObedient();
    const interfaces = [
      { url: 'https://a.example', protocolBinding: 'GRPC', protocolVersion: '1.0' },
      { url: `${server.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ];
    const carded = await serve((_request, response) => response.end(cardWith(interfaces)));
    const agent = await provider.createAgent({ name: 'ada', settings: { url: `${carded.url}/some/card.json` } });
    expect((await drain(agent, { does: 'answer', pieces: ['x'] })).at(-1)).toMatchObject({ result: { text: 'x' } });
    expect(carded.requests.map(({ path }) => path)).toEqual(['/some/card.json']);
  });

  it('is not made when its card leads to where nothing may be called', async () => {
    const inside = [{ url: 'http://10.0.0.1/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
    const server = await serve((_request, response) => response.end(cardWith(inside)));
    const made = provider.createAgent({ name: 'ada', settings: { url: server.url } });
    await expect(made).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
  });

  it('is not made when its card does not come in time, which is no fault of the caller', async () => {
    const server = await serve(() => undefined);
    const hasty = new A2aAgentProvider({ fetch: egress.fetch, policy, secrets: () => undefined, cardWithinMs: 50 });
    const made = hasty.createAgent({ name: 'ada', settings: { url: server.url } });
    await expect(made).rejects.toMatchObject({ code: 'AGENT_UNREACHABLE', fault: 'remote' });
    await until('the request is given up', () => server.busyConnections === 0);
  });

  it('does not repeat a key that stands in a card', async () => {
    const server = await serve(({ headers }, response) => response.end(`no card for ${headers['authorization']}`));
    const settings = { url: server.url, credential: { env: 'A2A_KEY' } };
    const error = await provider.createAgent({ name: 'ada', settings }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'AGENT_ANSWER_UNREADABLE' });
    expect(String(error)).not.toContain(KEY.slice(4));
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

function jsonRpcAt(url: string): object[] {
  return [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
}

function cardWith(supportedInterfaces: unknown, capabilities: object = {}): string {
  const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] };
  const rest = { name: 'sly', description: '', version: '1', skills: [], ...modes };
  return JSON.stringify({ ...rest, capabilities, supportedInterfaces });
}
