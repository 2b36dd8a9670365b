import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { WebSocket } from 'ws';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { call } from '../support/call.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const KEY = 'k'.repeat(40);

let folder: string;
let url: string;

beforeAll(async () => {
  folder = newFolder();
  url = await emptyDatabase();
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

function start(environment: Record<string, string>): RollcallProcess {
  return new RollcallProcess({ DATABASE_URL: url, ROLLCALL_DATA_DIR: folder, ROLLCALL_ADMIN_KEY: KEY, ...environment });
}

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
