import { gzipSync } from 'node:zlib';
import { ProviderError } from '../errors.js';
import { expectNoOpenResources, openResources } from '../testing/open-resources.js';
import { LocalServer } from '../testing/local-server.js';
import { until } from '#rollcall/test-support';
import { EgressClient, SHORT_CALL_LIMITS, type EgressLimits } from './egress.client.js';
import { EgressPolicy, type EgressRules } from './egress.policy.js';

const LITERALS = [
  '127.0.0.1',
  '[::1]',
  '[::ffff:7f00:1]',
  '2130706433',
  '0x7f.1',
  '0.0.0.0',
  '017700000001',
  'localhost',
  'a.localhost',
  'localhost.',
];

describe('S1.7 the egress policy', () => {
  const strict = new EgressPolicy();

  it.each(LITERALS)('denies this machine when it is written as %s', (host) => {
    expect(() => strict.checkUrl(`https://${host}:8443/`)).toThrow(/is not allowed/);
  });

  it.each([
    ['file:///etc/passwd', /not http or https/],
    ['https://user:hunter22@example.com/', /must not contain a user/],
    ['https://example.com:22/', /port 22 is not allowed/],
    ['http://8.8.8.8/', /Use https/],
    ['nonsense', /not a URL/],
  ])('rejects %s', (url, reason) => {
    expect(() => strict.checkUrl(url)).toThrow(reason);
  });

  it('does not repeat a password in the error', () => {
    expect(() => strict.checkUrl('https://user:hunter22@example.com/')).not.toThrow(/hunter22/);
  });

  it('allows the networks, ports and protocols of its rules', () => {
    const policy = new EgressPolicy({ allow: ['10.0.0.0/8'], ports: [8443], plainHttp: true });
    expect(policy.checkUrl('http://10.1.1.1:8443/x').pathname).toBe('/x');
    expect(() => policy.checkUrl('http://10.1.1.1:8444/')).toThrow(/port 8444/);
    expect(strict.checkUrl('https://example.com/').host).toBe('example.com');
  });
});

describe('S1.7 the egress client', () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  type Answer = Parameters<typeof LocalServer.start>[0];
  const serve = async (answer: Answer): Promise<LocalServer> => {
    const server = await LocalServer.start(answer);
    closing.push(async () => await server.close());
    return server;
  };
  const client = (
    limits: Partial<EgressLimits> = {},
    rules: EgressRules = { allowLoopback: true },
    addresses?: string[],
  ) => {
    const egress = new EgressClient({
      policy: new EgressPolicy(rules),
      limits: { ...SHORT_CALL_LIMITS, ...limits },
      resolve:
        addresses &&
        ((_host, _options, done) =>
          done(
            null,
            addresses.map((address) => ({ address, family: 4 })),
          )),
    });
    closing.push(async () => await egress.close());
    return egress;
  };
  const codeOf = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ProviderError);
    return (error as ProviderError).code;
  };

  it('behaves like fetch for URLs that the policy allows', async () => {
    const server = await serve((request, response) =>
      response.writeHead(201, { 'x-a': 'b' }).end(`got ${JSON.stringify(request.body)}`),
    );
    const response = await client().fetch(server.url, { method: 'POST', body: '{"a":1}' });
    expect([response.status, response.headers.get('x-a'), await response.text()]).toEqual([201, 'b', 'got {"a":1}']);
    const request = new Request(server.url, { method: 'PUT', body: '"whole"' });
    expect(await (await client().fetch(request)).text()).toBe('got "whole"');
  });

  it('checks the addresses of a host name when it connects', async () => {
    const server = await serve((_request, response) => response.end('inside'));
    const strict = client({}, {}, ['127.0.0.1']);
    expect(await codeOf(strict.fetch(`https://rebound.example:${server.port}/`))).toBe('EGRESS_DENIED');
    expect(await codeOf(strict.fetch(`http://rebound.example:${server.port}/`))).toBe('EGRESS_DENIED');
    const permissive = client({}, { allowLoopback: true }, ['10.0.0.1', '127.0.0.1']);
    expect(await (await permissive.fetch(`http://inside.example:${server.port}/`)).text()).toBe('inside');
    expect(server.requests).toHaveLength(1);
  });

  it('does not follow redirects', async () => {
    const server = await serve((_request, response) => response.writeHead(302, { location: '/elsewhere' }).end());
    expect(await codeOf(client().fetch(server.url))).toBe('EGRESS_REDIRECTED');
    expect(server.requests).toHaveLength(1);
  });

  it('stops reading a response that is too large, even when it is compressed', async () => {
    const plain = await serve((_request, response) => response.end('x'.repeat(5_000)));
    const zipped = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(5_000)));
    });
    for (const server of [plain, zipped]) {
      const response = await client({ bytes: 1_000 }).fetch(server.url);
      expect(await codeOf(response.text())).toBe('EGRESS_TOO_LARGE');
      await until('the connection is closed', () => server.busyConnections === 0);
    }
  });

  it('limits the time until the response starts, the time between its parts, and the total time', async () => {
    const silent = await serve(() => undefined);
    expect(await codeOf(client({ headersMs: 50 }).fetch(silent.url))).toBe('EGRESS_TIMED_OUT');
    const stuck = await serve((_request, response) => response.write('a'));
    for (const limits of [{ idleMs: 50 }, { totalMs: 50 }]) {
      const answer = client(limits)
        .fetch(stuck.url)
        .then(async (response) => await response.text());
      expect(await codeOf(answer)).toBe('EGRESS_TIMED_OUT');
    }
  });

  it('ignores the proxy variables of the environment', async () => {
    const [server, proxy] = [
      await serve((_request, response) => response.end('direct')),
      await serve((_request, response) => response.end('through a proxy')),
    ];
    const before = { ...process.env };
    Object.assign(process.env, { HTTP_PROXY: proxy.url, http_proxy: proxy.url, NODE_USE_ENV_PROXY: '1' });
    try {
      expect(await (await client().fetch(server.url)).text()).toBe('direct');
    } finally {
      process.env = before;
    }
    expect(proxy.requests).toEqual([]);
  });

  it.each(['http+unix://%2Fvar%2Frun%2Fdocker.sock/x', 'unix:/var/run/docker.sock', 'file:///etc/passwd', 'data:,x'])(
    'denies URLs that are not http or https: %s',
    async (url) => {
      expect(await codeOf(client().fetch(url))).toBe('EGRESS_DENIED');
    },
  );

  it('checks every connection, even for a host name that was allowed before', async () => {
    const server = await serve((_request, response) => response.setHeader('connection', 'close').end('inside'));
    const addresses = ['127.0.0.1'];
    const egress = client({}, { allowLoopback: true }, addresses);
    expect(await (await egress.fetch(`http://moves.example:${server.port}/`)).text()).toBe('inside');
    addresses.splice(0, 1, '169.254.169.254');
    expect(await codeOf(egress.fetch(`http://moves.example:${server.port}/`))).toBe('EGRESS_DENIED');
  });

  it('reports a refused connection as EGRESS_UNREACHABLE', async () => {
    const server = await serve(() => undefined);
    const { url } = server;
    await server.close();
    const error = await client()
      .fetch(url)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'EGRESS_UNREACHABLE',
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('checks IPv6 literals', async () => {
    expect(await codeOf(client().fetch('http://[::1]:1024/'))).toBe('EGRESS_UNREACHABLE');
    expect(await codeOf(client().fetch('http://[fd00::1]:1024/'))).toBe('EGRESS_DENIED');
  });

  it('does not repeat a header in an error', async () => {
    const error = await client()
      .fetch('http://127.0.0.1:9999', { headers: { authorization: 'Bearer sk-broken\nkey' } })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ProviderError);
    expect(`${String(error)} ${JSON.stringify(error)} ${String((error as Error).stack)}`).not.toContain('sk-broken');
  });

  it('leaves no open socket and no timer when a call is aborted or the client is closed', async () => {
    const server = await serve((_request, response) => response.write('a'));
    const before = openResources();
    const egress = client();
    const caller = new AbortController();
    const aborted = await egress.fetch(server.url, { signal: caller.signal });
    caller.abort();
    expect(await codeOf(aborted.text())).toBe('CALL_ABORTED');
    await until('the connection of the aborted call is closed', () => server.openConnections === 0);
    const left = await egress.fetch(server.url);
    expect(egress.inFlight).toBe(1);
    await egress.close();
    expect(egress.inFlight).toBe(0);
    expect(await codeOf(left.text())).toBe('EGRESS_UNREACHABLE');
    await until('the connection of the closed client is closed', () => server.openConnections === 0);
    await expectNoOpenResources(before);
  });
});
