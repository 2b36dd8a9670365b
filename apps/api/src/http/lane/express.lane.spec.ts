import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import type { AuthGuard } from '../../auth/auth.guard.js';
import type { Principal } from '../../auth/principal.js';
import { Lifecycle } from '../../health/lifecycle.js';
import { HttpMetrics } from '../../telemetry/http.metrics.js';
import { ExpressLane } from './express.lane.js';
import { LaneConnections } from './lane.connections.js';
import type { UnderWay } from './lanes.js';
import { Gateway } from '../gateway.js';
import { RequestLog } from '../request.log.js';

let server: Server;
let url: string;
let lifecycle: Lifecycle;
let connections: LaneConnections;

beforeEach(async () => {
  lifecycle = new Lifecycle();
  connections = new LaneConnections();
  server = createServer((request, response) => request.resume().on('end', () => response.end('ordinary')));
  const guard = { enter: () => ({ id: 'someone' }) as Principal } as unknown as AuthGuard;
  const log = new RequestLog(pino({ level: 'silent' }), 'errors');
  const parts = {
    guard,
    lifecycle,
    metrics: new HttpMetrics(() => 0),
    log,
    gateway: new Gateway([]),
    limitMs: 15_000,
    underWay: new Set<UnderWay>(),
  };
  const permission = 'agents:self';
  new ExpressLane(parts, connections, [
    { url: '/beat/:id/now', permission, handle: (id, _body, _principal, answer) => answer.ok(`"lane ${id}"`) },
    { url: '/ask', permission, handle: async () => await Promise.reject(new Error('unforeseen')) },
  ]).open(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  connections.close();
  server.close();
});

async function post(path: string, body = '{}', type = 'application/json', method = 'POST'): Promise<string> {
  const init: RequestInit = { method, headers: { 'content-type': type }, body };
  const response = await fetch(url + path, init);
  return await response.text();
}

describe('the express lane', () => {
  it('takes what is plain in every respect', async () => {
    expect(await post('/beat/a-1/now')).toBe('"lane a-1"');
  });

  it.each([
    ['another method', '/beat/a-1/now', '{}', 'application/json', 'PUT'],
    ['another address', '/beat/a-1/later'],
    ['an address that goes on', '/ask/more'],
    ['an address with a query', '/beat/a-1/now?x=1'],
    ['an id that is not plain', '/beat/a%201/now'],
    ['no id', '/beat//now'],
    ['an empty body', '/beat/a-1/now', ''],
    ['a large body', '/beat/a-1/now', `"${'x'.repeat(5_000)}"`],
    ['another content type', '/beat/a-1/now', '{}', 'text/plain'],
  ])(
    'leaves %s to the ordinary route',
    async (_what, path, body = '{}', type = 'application/json', method = 'POST') => {
      expect(await post(path, body, type, method)).toBe('ordinary');
    },
  );

  it('leaves everything to the ordinary route when the replica is closing', async () => {
    lifecycle.phase = 'closing';
    expect(await post('/beat/a-1/now')).toBe('ordinary');
  });

  it('answers what nobody foresaw without telling what it was', async () => {
    expect(JSON.parse(await post('/ask'))).toMatchObject({ status: 500, code: 'INTERNAL' });
    expect(await post('/ask')).not.toContain('unforeseen');
  });
});
