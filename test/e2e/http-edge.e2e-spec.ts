import { once } from 'node:events';
import { connect, type Server } from 'node:net';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

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

describe('bad input is a problem+json with a stable code', () => {
  it.each([
    ['malformed JSON', '{"name": ', 'MALFORMED_JSON', 400],
    ['JSON with a poisoned prototype', '{"__proto__": {"admin": true}}', 'MALFORMED_JSON', 400],
    ['JSON with a poisoned constructor', '{"constructor": {"prototype": {"admin": true}}}', 'MALFORMED_JSON', 400],
    ['JSON nested too deep', '['.repeat(100_000) + ']'.repeat(100_000), 'MALFORMED_JSON', 400],
    ['half of a surrogate pair', String.raw`{"name": "a\ud800", "roles": ["viewer"]}`, 'MALFORMED_JSON', 400],
    ['a field every object inherits', '{"name": "a", "roles": ["viewer"], "toString": 1}', 'VALIDATION_FAILED', 400],
    ['bytes that are not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 'MALFORMED_JSON', 400],
    ['a body of 10 MB', `"${'x'.repeat(10 * 1024 * 1024)}"`, 'BODY_TOO_LARGE', 413],
    ['a body that is no object', '"text"', 'VALIDATION_FAILED', 400],
    ['an array for an object', '[]', 'VALIDATION_FAILED', 400],
  ])('%s', async (_what, body, code, status) => {
    expectProblem(await api.call('POST', '/v1/keys', { body }), status, code);
  });

  it('names every field that is not right, and refuses unknown ones', async () => {
    const answer = await api.call('POST', '/v1/keys', { body: { name: ' ', roles: ['king'], colour: 'red' } });
    expectProblem(answer, 400, 'VALIDATION_FAILED');
    const fields = (answer.body['errors'] as { field: string }[]).map((error) => error.field);
    expect(new Set(fields)).toEqual(new Set(['name', 'roles', 'colour']));
  });

  it('a content type we do not read', async () => {
    const answer = await api.call('POST', '/v1/keys', {
      body: '<name/>',
      headers: { 'content-type': 'application/xml' },
    });
    expectProblem(answer, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('an unknown route', async () => {
    expectProblem(await api.call('GET', '/v1/nothing-here'), 404, 'ROUTE_NOT_FOUND');
    expectProblem(await api.call('GET', '/v1/nothing-here', { key: null }), 404, 'ROUTE_NOT_FOUND');
    expectProblem(await api.call('GET', '/v1/me/'), 404, 'ROUTE_NOT_FOUND');
  });

  it('the wrong method, with those that are right', async () => {
    const answer = await api.call('PUT', '/v1/keys/abc');
    expectProblem(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe('DELETE, GET, HEAD');
  });

  it('a query that is not right', async () => {
    expectProblem(await api.call('GET', '/v1/keys?limit=0'), 400, 'VALIDATION_FAILED');
    expectProblem(await api.call('GET', '/v1/keys?limit=many'), 400, 'VALIDATION_FAILED');
    expectProblem(await api.call('GET', '/v1/keys?color=red'), 400, 'VALIDATION_FAILED');
    expectProblem(await api.call('GET', '/v1/keys?cursor=nonsense'), 400, 'CURSOR_INVALID');
  });

  it('an address that cannot be decoded', async () => {
    expectProblem(await api.call('GET', '/v1/keys/%E0%A4%A'), 400, 'MALFORMED_REQUEST');
  });

  it('text that Postgres cannot store', async () => {
    const answer = await api.call('POST', '/v1/keys', { body: { name: 'a\u0000b', roles: ['viewer'] } });
    expectProblem(answer, 400, 'MALFORMED_JSON');
    expectProblem(await api.call('GET', '/v1/keys/a%00b'), 400, 'MALFORMED_REQUEST');
    const escaped = await api.call('POST', '/v1/keys', {
      body: String.raw`{"name": "a\\u0000b", "roles": ["viewer"]}`,
    });
    expect(escaped).toMatchObject({ status: 201, body: { name: String.raw`a\u0000b` } });
  });

  it('a client that hangs up before it has sent all is no fault of ours', async () => {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    const head = `Host: x\r\nAuthorization: Bearer ${api.adminKey}\r\nContent-Type: application/json\r\nContent-Length: 100`;
    socket.write(`POST /v1/keys HTTP/1.1\r\n${head}\r\n\r\n{`);
    await until('the request is being read', async () =>
      /in_flight 2/.test((await api.call<string>('GET', '/metrics')).body),
    );
    socket.destroy();
    const seen = /status="400"\} \d/;
    await until('it is over', async () => seen.test((await api.call<string>('GET', '/metrics')).body));
    expect((await api.call<string>('GET', '/metrics')).body).not.toContain('status="500"');
  });

  it('something that is not HTTP', async () => {
    const text = await raw('HELLO\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('"code":"MALFORMED_REQUEST"');
  });

  it.each([
    ['If-Match', '"another"'],
    ['If-Unmodified-Since', 'Mon, 01 Jan 2001 00:00:00 GMT'],
    ['Range', 'bytes=99999999-'],
  ])('F3 a file of the documentation with the condition %s: %s that it does not meet', async (name, value) => {
    const answer = await api.call('GET', '/docs/swagger-ui.css', { key: null, headers: { [name]: value } });
    expectProblem(answer, 400, 'MALFORMED_REQUEST');
  });

  it('F1 ignores an Expect header it does not know, as HTTP allows', async () => {
    const text = await raw('GET /v1/me HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nConnection: close\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    expect(text).toContain('"code":"UNAUTHENTICATED"');
  });

  it('headers that are too large', async () => {
    const text = await raw(`GET /v1/me HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(40_000)}\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 431 /);
    expect(text).toContain('"code":"HEADERS_TOO_LARGE"');
  });
});

describe('every answer', () => {
  it('carries a request id: the one it was given, if that is acceptable, else a new one', async () => {
    const given = await api.call('GET', '/v1/me', { headers: { 'x-request-id': 'abc-123' } });
    expect(given.headers.get('x-request-id')).toBe('abc-123');
    const bad = await api.call('GET', '/v1/me', { headers: { 'x-request-id': 'a b"c' } });
    expect(bad.headers.get('x-request-id')).toMatch(/^[\w-]{12}-[0-9a-z]+$/);
  });

  it('forbids caching, embedding and guessing', async () => {
    const { headers } = await api.call('GET', '/v1/me');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('strict-transport-security')).toBeNull();
    expect(headers.get('server')).toBeNull();
    expect(headers.get('x-powered-by')).toBeNull();
  });
});

describe('operation', () => {
  it('alive and ready are told without a credential', async () => {
    expect(await api.call('GET', '/health/live', { key: null })).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await api.call('GET', '/health/ready', { key: null })).toMatchObject({
      status: 200,
      body: { status: 'ok', info: { database: { status: 'up' } } },
    });
  });

  it('metrics count by route, not by address', async () => {
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

  it('metrics need a credential', async () => {
    expectProblem(await api.call('GET', '/metrics', { key: null }), 401, 'UNAUTHENTICATED');
  });

  it('a replica that is leaving says so, and turns new requests away', async () => {
    const leaving = await api.replica();
    leaving.app.lifecycle.phase = 'draining';
    expectProblem(await leaving.call('GET', '/health/ready', { key: null }), 503, 'NOT_READY');
    expect((await leaving.call('GET', '/v1/me')).status).toBe(200);
    leaving.app.lifecycle.phase = 'closing';
    const answer = await leaving.call('GET', '/v1/me');
    expectProblem(answer, 503, 'SHUTTING_DOWN');
    expect(answer.headers.get('retry-after')).toBe('1');
    await leaving.stop();
  });

  it('a replica that is leaving does not wait for connections on which nobody has said anything', async () => {
    const leaving = await startApi();
    const { hostname, port } = new URL(leaving.url);
    const silent = connect(Number(port), hostname);
    const server = leaving.app.nest.getHttpServer() as Server;
    const open = async (): Promise<number> =>
      await new Promise((done) => server.getConnections((_fault, count) => done(count)));
    await until('it is open', async () => (await open()) > 0);
    const closed = once(silent, 'close');
    await leaving.stop();
    await closed;
  });

  it.each([
    ['half a head', 'POST /v1/agents/query HTTP/1.1\r\nHost: he'],
    ['a body of a query', `POST /v1/agents/query HTTP/1.1\r\n${JSON_OF_9_BYTES}\r\n\r\n{`],
    ['another body', `POST /v1/keys HTTP/1.1\r\n${JSON_OF_9_BYTES}\r\n\r\n{`],
  ])('a replica that is leaving does not wait for the rest of %s', async (_what, half) => {
    const leaving = await api.replica();
    const { hostname, port } = new URL(leaving.url);
    const [fresh, used] = [connect(Number(port), hostname), connect(Number(port), hostname)];
    used.write('GET /health/live HTTP/1.1\r\nHost: here\r\n\r\n');
    await once(used, 'data');
    const sent = half.replace('KEY', leaving.adminKey);
    for (const socket of [fresh, used]) socket.on('error', () => undefined).write(sent);
    await leaving.call('GET', '/health/live'); // when it is answered, what was sent before has come
    await leaving.stop();
    await until('they are closed', () => fresh.closed && used.closed);
  });
});

async function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined); // the server may close before all is sent; what it said still arrives
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

describe('behind a gateway', () => {
  it('HTTPS is asked for where it is spoken, and the address of the client is believed from the gateway alone', async () => {
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
