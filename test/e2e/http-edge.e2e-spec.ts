import { once } from 'node:events';
import { connect, type Server } from 'node:net';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { rawHttp } from '../support/raw-http.js';

let api: TestApi;
beforeAll(async () => void (api = await startApi()));
afterAll(async () => await api.stop());

const JSON_OF_9_BYTES =
  'Host: here\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\nContent-Length: 9';

function expectProblem(answer: Answer, status: number, code: string): void {
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  expect(answer).toMatchObject({ status, body: { status, code, requestId: answer.headers.get('x-request-id') } });
  expect(answer.body['type']).toBe(`urn:rollcall:problem:${code.toLowerCase().replaceAll('_', '-')}`);
  expect(JSON.stringify(answer.body)).not.toContain('    at ');
}

describe('invalid input is answered with problem+json and a stable code', () => {
  it.each([
    ['malformed JSON', '{"name": ', 'MALFORMED_JSON', 400],
    ['JSON with a poisoned prototype', '{"__proto__": {"admin": true}}', 'MALFORMED_JSON', 400],
    ['JSON with a poisoned constructor', '{"constructor": {"prototype": {"admin": true}}}', 'MALFORMED_JSON', 400],
    ['JSON that is nested too deeply', '['.repeat(100_000) + ']'.repeat(100_000), 'MALFORMED_JSON', 400],
    ['half of a surrogate pair', String.raw`{"name": "a\ud800", "roles": ["viewer"]}`, 'MALFORMED_JSON', 400],
    [
      'a field that every object inherits',
      '{"name": "a", "roles": ["viewer"], "toString": 1}',
      'VALIDATION_FAILED',
      400,
    ],
    ['bytes that are not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 'MALFORMED_JSON', 400],
    ['a body of 10 MB', `"${'x'.repeat(10 * 1024 * 1024)}"`, 'BODY_TOO_LARGE', 413],
    ['a body that is not an object', '"text"', 'VALIDATION_FAILED', 400],
    ['an array instead of an object', '[]', 'VALIDATION_FAILED', 400],
  ])('rejects %s', async (_what, body, code, status) => {
    expectProblem(await api.call('POST', '/v1/keys', { body }), status, code);
  });

  it('names every invalid and every unknown field', async () => {
    const answer = await api.call('POST', '/v1/keys', { body: { name: ' ', roles: ['king'], colour: 'red' } });
    expectProblem(answer, 400, 'VALIDATION_FAILED');
    const fields = (answer.body['errors'] as { field: string }[]).map((error) => error.field);
    expect(new Set(fields)).toEqual(new Set(['name', 'roles', 'colour']));
  });

  it('rejects an unsupported content type', async () => {
    const answer = await api.call('POST', '/v1/keys', {
      body: '<name/>',
      headers: { 'content-type': 'application/xml' },
    });
    expectProblem(answer, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('rejects an unknown route', async () => {
    expectProblem(await api.call('GET', '/v1/nothing-here'), 404, 'ROUTE_NOT_FOUND');
    expectProblem(await api.call('GET', '/v1/nothing-here', { key: null }), 404, 'ROUTE_NOT_FOUND');
    expectProblem(await api.call('GET', '/v1/me/'), 404, 'ROUTE_NOT_FOUND');
  });

  it('rejects a method that the route does not have, with the allowed methods', async () => {
    const answer = await api.call('PUT', '/v1/keys/abc');
    expectProblem(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe('DELETE, GET, HEAD');
  });

  it('S-15 rejects other methods on the path of an action, whatever the body is', async () => {
    const bodies = ['{}', '{"limit":{"toString":{}}}', '{', '['.repeat(100), '"\\ud800"'];
    const types = ['application/json', 'application/xml'];
    for (const path of ['/v1/agents/query', '/v1/agents/batch', '/v1/budgets/reservations', '/v1/budgets/runs'])
      for (const body of bodies)
        for (const type of types) {
          const answer = await api.call('PUT', path, { body, headers: { 'content-type': type } });
          expectProblem(answer, 405, 'METHOD_NOT_ALLOWED');
          expect(answer.headers.get('allow')).toBe('POST');
        }
  });

  it('rejects an invalid query string', async () => {
    expectProblem(await api.call('GET', '/v1/keys?limit=0'), 400, 'VALIDATION_FAILED');
    expectProblem(await api.call('GET', '/v1/keys?limit=many'), 400, 'VALIDATION_FAILED');
    expectProblem(await api.call('GET', '/v1/keys?color=red'), 400, 'VALIDATION_FAILED');
    expectProblem(await api.call('GET', '/v1/keys?cursor=nonsense'), 400, 'CURSOR_INVALID');
  });

  it('rejects the cursor of another list, and text that is not a cursor', async () => {
    for (const name of ['a', 'b']) await api.call('POST', '/v1/keys', { body: { name, roles: ['viewer'] } });
    const { body } = await api.call<{ nextCursor: string }>('GET', '/v1/audit?limit=1');
    expect((await api.call('GET', `/v1/audit?limit=1&cursor=${body.nextCursor}`)).status).toBe(200);
    for (const cursor of [body.nextCursor, 'Mw', 'zzz'])
      for (const path of ['/v1/agents', '/v1/keys', '/v1/budgets', '/v1/webhooks'])
        expectProblem(await api.call('GET', `${path}?cursor=${cursor}`), 400, 'CURSOR_INVALID');
  });

  it('rejects a path that cannot be decoded', async () => {
    expectProblem(await api.call('GET', '/v1/keys/%E0%A4%A'), 400, 'MALFORMED_REQUEST');
  });

  it('rejects text that Postgres cannot store', async () => {
    const answer = await api.call('POST', '/v1/keys', { body: { name: 'a\u0000b', roles: ['viewer'] } });
    expectProblem(answer, 400, 'MALFORMED_JSON');
    expectProblem(await api.call('GET', '/v1/keys/a%00b'), 400, 'MALFORMED_REQUEST');
    const escaped = await api.call('POST', '/v1/keys', {
      body: String.raw`{"name": "a\\u0000b", "roles": ["viewer"]}`,
    });
    expect(escaped).toMatchObject({ status: 201, body: { name: String.raw`a\u0000b` } });
  });

  it('counts a request that the client aborts as 400, not as 500', async () => {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    const head = `Host: x\r\nAuthorization: Bearer ${api.adminKey}\r\nContent-Type: application/json\r\nContent-Length: 100`;
    socket.write(`POST /v1/keys HTTP/1.1\r\n${head}\r\n\r\n{`);
    await until('the request is being read', async () =>
      /in_flight 2/.test((await api.call<string>('GET', '/metrics')).body),
    );
    socket.destroy();
    const counted = /status="400"\} \d/;
    await until('the request is counted', async () => counted.test((await api.call<string>('GET', '/metrics')).body));
    expect((await api.call<string>('GET', '/metrics')).body).not.toContain('status="500"');
  });

  it('rejects a request that is not HTTP', async () => {
    const text = await rawHttp(api.url, 'HELLO\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('"code":"MALFORMED_REQUEST"');
  });

  it.each([
    ['If-Match', '"another"'],
    ['If-Unmodified-Since', 'Mon, 01 Jan 2001 00:00:00 GMT'],
    ['Range', 'bytes=99999999-'],
  ])('F3 rejects a request for a documentation file with the unmet condition %s: %s', async (name, value) => {
    const answer = await api.call('GET', '/docs/swagger-ui.css', { key: null, headers: { [name]: value } });
    expectProblem(answer, 400, 'MALFORMED_REQUEST');
  });

  it('rejects an HTTP/1.1 request without a Host header', async () => {
    const answer = await rawHttp(api.url, 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('The request has no Host header');
    const old = await rawHttp(api.url, 'GET /health/live HTTP/1.0\r\nConnection: close\r\n\r\n');
    expect(old).toMatch(/^HTTP\/1.1 200 /);
  });

  it('F1 ignores an unknown Expect header, as HTTP allows', async () => {
    const text = await rawHttp(
      api.url,
      'GET /v1/me HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nConnection: close\r\n\r\n',
    );
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    expect(text).toContain('"code":"UNAUTHENTICATED"');
  });

  it('rejects headers that are too large', async () => {
    const text = await rawHttp(api.url, `GET /v1/me HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(40_000)}\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 431 /);
    expect(text).toContain('"code":"HEADERS_TOO_LARGE"');
  });
});

describe('every answer', () => {
  it('every answer has the request id of its request, or a new request id if that one is invalid', async () => {
    const given = await api.call('GET', '/v1/me', { headers: { 'x-request-id': 'abc-123' } });
    expect(given.headers.get('x-request-id')).toBe('abc-123');
    const bad = await api.call('GET', '/v1/me', { headers: { 'x-request-id': 'a b"c' } });
    expect(bad.headers.get('x-request-id')).toMatch(/^[\w-]{12}-[0-9a-z]+$/);
  });

  it('every answer forbids caching, framing and content sniffing', async () => {
    const { headers } = await api.call('GET', '/v1/me');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('strict-transport-security')).toBeNull();
    expect(headers.get('server')).toBeNull();
    expect(headers.get('x-powered-by')).toBeNull();
  });
});

describe('the operation of a replica', () => {
  it('reports liveness and readiness without a credential', async () => {
    expect(await api.call('GET', '/health/live', { key: null })).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await api.call('GET', '/health/ready', { key: null })).toMatchObject({
      status: 200,
      body: { status: 'ok', info: { database: { status: 'up' } } },
    });
  });

  it('counts requests by route, not by path', async () => {
    await api.call('GET', '/v1/keys/one');
    await api.call('GET', '/v1/keys/two');
    const { body, headers } = await api.call<string>('GET', '/metrics');
    expect(headers.get('content-type')).toContain('text/plain');
    expect(body).toMatch(
      /rollcall_http_request_duration_seconds_count\{method="GET",route="\/v1\/keys\/:id",status="404"\} \d/,
    );
    expect(body).toMatch(/rollcall_http_request_duration_seconds_bucket\{[^}]*le="\+Inf"[^}]*\} \d/);
    const seconds = Number(
      /duration_seconds_sum\{method="GET",route="\/v1\/keys\/:id",status="404"\} (\S+)/.exec(body)?.[1],
    );
    expect(seconds).toBeGreaterThan(0);
    expect(body).toContain('rollcall_http_requests_in_flight');
    expect(body).not.toContain('/v1/keys/one');
  });

  it('requires a credential for metrics', async () => {
    expectProblem(await api.call('GET', '/metrics', { key: null }), 401, 'UNAUTHENTICATED');
  });

  it('a replica is not ready while it drains, and rejects new requests while it closes', async () => {
    const stopping = await api.replica();
    stopping.app.lifecycle.phase = 'draining';
    expectProblem(await stopping.call('GET', '/health/ready', { key: null }), 503, 'NOT_READY');
    expect((await stopping.call('GET', '/v1/me')).status).toBe(200);
    stopping.app.lifecycle.phase = 'closing';
    const answer = await stopping.call('GET', '/v1/me');
    expectProblem(answer, 503, 'SHUTTING_DOWN');
    expect(answer.headers.get('retry-after')).toBe('1');
    await stopping.stop();
  });

  it('stops without waiting for connections that have sent no request', async () => {
    const stopping = await startApi();
    const { hostname, port } = new URL(stopping.url);
    const silent = connect(Number(port), hostname);
    const server = stopping.app.nest.getHttpServer() as Server;
    const open = async (): Promise<number> =>
      await new Promise((done) => server.getConnections((_error, count) => done(count)));
    await until('the connection is open', async () => (await open()) > 0);
    const closed = once(silent, 'close');
    await stopping.stop();
    await closed;
  });

  it.each([
    ['a request head', 'POST /v1/agents/query HTTP/1.1\r\nHost: he'],
    ['the body of a query', `POST /v1/agents/query HTTP/1.1\r\n${JSON_OF_9_BYTES}\r\n\r\n{`],
    ['another body', `POST /v1/keys HTTP/1.1\r\n${JSON_OF_9_BYTES}\r\n\r\n{`],
  ])('stops without waiting for the rest of %s', async (_what, partial) => {
    const stopping = await api.replica();
    const { hostname, port } = new URL(stopping.url);
    const [fresh, used] = [connect(Number(port), hostname), connect(Number(port), hostname)];
    used.write('GET /health/live HTTP/1.1\r\nHost: here\r\n\r\n');
    await once(used, 'data');
    const sent = partial.replace('KEY', stopping.adminKey);
    for (const socket of [fresh, used]) socket.on('error', () => undefined).write(sent);
    await stopping.call('GET', '/health/live'); // its response shows that the server has received what was sent before
    await stopping.stop();
    await until('both connections are closed', () => fresh.closed && used.closed);
  });
});

describe('a replica behind a proxy', () => {
  it('sends Strict-Transport-Security over HTTPS, and trusts X-Forwarded-For from the proxy only', async () => {
    const behind = await startApi({ ROLLCALL_TRUSTED_PROXIES: '127.0.0.1' });
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' };
    const answer = await behind.call('POST', '/v1/keys', { body: { name: 'x', roles: ['viewer'] }, headers });
    expect(answer.headers.get('strict-transport-security')).toContain('max-age');
    const audit = await behind.call<{ items: { ip: string }[] }>('GET', '/v1/audit');
    expect(audit.body.items[0]?.ip).toBe('203.0.113.7');
    await behind.stop();
    await api.call('POST', '/v1/keys', { body: { name: 'y', roles: ['viewer'] }, headers });
    expect((await api.call<{ items: { ip: string }[] }>('GET', '/v1/audit?limit=1')).body.items[0]?.ip).toBe(
      '127.0.0.1',
    );
  });
});
