import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { WebSocket } from 'ws';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { call } from '../support/call.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const KEY = 'k'.repeat(40);

interface Span {
  name: string;
  traceId: string;
  attributes: { key: string }[];
}

let collector: Server;
let folder: string;
let url: string;
const spans: Span[] = [];

beforeAll(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  collector = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += String(chunk)));
    request.on('end', () => {
      const { resourceSpans = [] } = JSON.parse(text) as { resourceSpans?: { scopeSpans: { spans: Span[] }[] }[] };
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  collector.close();
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

function start(environment: Record<string, string>): RollcallProcess {
  return new RollcallProcess({ DATABASE_URL: url, ROLLCALL_DATA_DIR: folder, ROLLCALL_ADMIN_KEY: KEY, ...environment });
}

describe('traces', () => {
  it('sends traces of requests and their statements to the endpoint of the standard variables', async () => {
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    const traced = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
    }).ready();
    await call(traced.url, 'GET', '/v1/keys', { key: KEY });
    expect(await traced.end()).toBe(0);
    await until('spans are received', () => spans.length > 0);
    const request = spans.find(({ name }) => name === 'GET /v1/keys');
    const statement = spans.find(({ name, traceId }) => name.startsWith('pg.query') && traceId === request?.traceId);
    expect(request).toBeDefined();
    expect(statement).toBeDefined();
    expect(JSON.stringify(spans)).not.toContain(KEY);
  });
});

describe('logs', () => {
  it('logs are JSON lines with the request id, and contain no credentials, bodies or query strings', async () => {
    const logged = await start({ LOG_REQUESTS: 'all' }).ready();
    const body = { name: 'a-name-in-a-body', roles: ['viewer'] };
    await call(logged.url, 'POST', '/v1/keys', { key: KEY, body, headers: { 'x-request-id': 'req-1' } });
    await call(logged.url, 'GET', '/v1/keys?limit=7', { key: KEY });
    expect(await logged.end()).toBe(0);
    const lines = logged.output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const requests = lines.filter(({ event }) => event === 'http.request');
    expect(requests[0]).toMatchObject({
      level: 'info',
      requestId: 'req-1',
      method: 'POST',
      path: '/v1/keys',
      status: 201,
    });
    expect(requests[1]).toMatchObject({ method: 'GET', path: '/v1/keys', status: 200 });
    for (const hidden of [KEY, 'a-name-in-a-body', 'limit=7']) expect(logged.output).not.toContain(hidden);
  });

  it('logs contain no line for successful or rejected requests by default', async () => {
    const quiet = await start({}).ready();
    await call(quiet.url, 'GET', '/v1/keys', { key: KEY });
    await call(quiet.url, 'GET', '/v1/keys', { key: 'wrong' });
    expect(await quiet.end()).toBe(0);
    expect(quiet.output).not.toContain('http.request');
  });

  it('F2 logs contain no error for an invalid WebSocket frame of a client', async () => {
    const quiet = await start({}).ready();
    const address = `${quiet.url.replace('http', 'ws')}/v1/events/ws`;
    const socket = new WebSocket(address, { headers: { authorization: `Bearer ${KEY}` } });
    await once(socket, 'open');
    socket.send('x'.repeat(70_000));
    const [code] = (await once(socket, 'close')) as [number];
    expect(await quiet.end()).toBe(0);
    expect(code).toBe(1009);
    expect(quiet.output).not.toContain('"level":"error"');
  });
});
