import { until } from '#rollcall/test-support';
import { EgressPolicy } from '../../egress/egress.policy.js';
import { Secret } from '../../secrets/secret.js';
import { cardWith } from '../../testing/a2a-wires/odd-card.js';
import { FakeA2aServer } from '../../testing/fake-a2a.server.js';
import { localEgress } from '../../testing/local-egress.js';
import { LocalServer } from '../../testing/local-server.js';
import { message, textPart } from '../content.part.js';
import { A2aAgentProvider } from './a2a.agent-provider.js';

const KEY = 'a2a-key-0123456789';

describe('S1.10 an a2a agent with a card', () => {
  const policy = new EgressPolicy({ allowLoopback: true });
  const egress = localEgress();
  const provider = new A2aAgentProvider({ fetch: egress.fetch, policy, secrets: () => new Secret(KEY) });
  const closing: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(closing.splice(0).map(async (server) => await server.close()));
    expect(egress.inFlight).toBe(0);
  });
  afterAll(async () => await egress.close());

  const serve = async (answer: Parameters<typeof LocalServer.start>[0]): Promise<LocalServer> => {
    const server = await LocalServer.start(answer);
    closing.push(server);
    return server;
  };

  it.each([
    [
      'only gRPC',
      [{ url: 'https://a.example', protocolBinding: 'GRPC', protocolVersion: '1.0' }],
      /offers GRPC 1\.0; Rollcall supports/,
    ],
    [
      'only a later version',
      [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '2.0' }],
      /offers JSONRPC 2\.0/,
    ],
    ['no interface', [], /lists no interface/],
    ['an invalid list', 'everything', /lists no interface/],
  ])(
    'rejects a card that offers %s, with an error that names the reason',
    async (_what, supportedInterfaces, reason) => {
      const server = await serve((_request, response) => response.end(cardWith(supportedInterfaces)));
      const created = provider.createAgent({ name: 'ada', settings: { url: server.url } });
      await expect(created).rejects.toMatchObject({
        code: 'AGENT_ANSWER_UNREADABLE',
        message: expect.stringMatching(reason),
      });
    },
  );

  it('uses the first interface of its card that is supported', async () => {
    const server = await FakeA2aServer.start();
    closing.push(server);
    const interfaces = [
      { url: 'https://a.example', protocolBinding: 'GRPC', protocolVersion: '1.0' },
      { url: `${server.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ];
    const cardServer = await serve((_request, response) => response.end(cardWith(interfaces)));
    const agent = await provider.createAgent({ name: 'ada', settings: { url: `${cardServer.url}/some/card.json` } });
    const text = JSON.stringify({ does: 'answer', pieces: ['x'] });
    for await (const event of agent.handle(message(text)))
      if (event.type === 'finished') expect(event.result.parts).toEqual([textPart('x')]);
    expect(server.executor.begun).toBe(1);
    expect(cardServer.requests.map(({ path }) => path)).toEqual(['/some/card.json']);
  });

  it('rejects a card with an address that is not allowed', async () => {
    const internal = [{ url: 'http://10.0.0.1/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
    const server = await serve((_request, response) => response.end(cardWith(internal)));
    const created = provider.createAgent({ name: 'ada', settings: { url: server.url } });
    await expect(created).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
  });

  it('rejects a card that does not arrive in time, which is a fault of the remote side', async () => {
    const server = await serve(() => undefined);
    const impatient = new A2aAgentProvider({
      fetch: egress.fetch,
      policy,
      secrets: () => undefined,
      cardTimeoutMs: 50,
    });
    const created = impatient.createAgent({ name: 'ada', settings: { url: server.url } });
    await expect(created).rejects.toMatchObject({ code: 'AGENT_UNREACHABLE', fault: 'remote' });
    await until('the request is closed', () => server.busyConnections === 0);
  });

  it('the error for an invalid card does not contain the key', async () => {
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
  ])('an answer with status %i and no card fails with %s', async (status, code) => {
    const server = await LocalServer.start((_request, response) => response.writeHead(status).end('no card'));
    closing.push(server);
    const created = provider.createAgent({ name: 'ada', settings: { url: server.url } });
    await expect(created).rejects.toMatchObject({ code });
  });

  it('rejects an address that is not allowed', async () => {
    const strict = new A2aAgentProvider({ fetch: egress.fetch, policy: new EgressPolicy(), secrets: () => undefined });
    const created = strict.createAgent({ name: 'ada', settings: { url: 'http://127.0.0.1:1/' } });
    await expect(created).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
  });
});
