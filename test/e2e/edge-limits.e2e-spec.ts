import { once } from 'node:events';
import { connect, Server, type Socket } from 'node:net';
import { Client } from 'pg';
import { until } from '#rollcall/test-support';
import { FairTurns } from '../../apps/api/src/limits/fair.turns.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { refusal } from '../support/socket-client.js';
import { EventClient } from '../support/event-client.js';
import { rawHttp } from '../support/raw-http.js';

let api: TestApi;
afterEach(async () => await api.stop());

/** Locks the table of API keys, so that requests for keys wait. Returns a function that releases the lock. */
async function lockKeys(): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: api.database.url });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE');
  return async () => {
    await client.query('COMMIT');
    await client.end();
  };
}

async function untilWaiting(count: number): Promise<void> {
  const sql = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  await until(`${count} statements wait for a lock`, async () => {
    const [row] = await api.database.db.query<{ count: number }>(sql);
    return (row?.count ?? 0) >= count;
  });
}

const codeOf = ({ status, body }: Answer): unknown[] => [status, body['code']];
const BUSY = [429, 'TOO_MANY_CONCURRENT_REQUESTS'];

describe('the size of a body', () => {
  beforeEach(async () => void (api = await startApi()));

  it('A1 rejects a body of more than 16 KB that is sent with a lease token, and the error contains the limit', async () => {
    const { agentId, leaseToken } = await api.given.agent();
    const body = { generation: 1, name: 'x'.repeat(17_000) };
    for (const [method, path] of [
      ['PATCH', `/v1/agents/${agentId}`],
      ['POST', `/v1/agents/${agentId}/heartbeat`],
    ] as const) {
      const answer = await api.call(method, path, { key: leaseToken, body });
      expect(answer).toMatchObject({ status: 413, body: { code: 'BODY_TOO_LARGE', limitBytes: 16_384 } });
      expect(answer.body['detail']).toContain('16384 bytes');
    }
    expect((await api.call('PATCH', `/v1/agents/${agentId}`, { body })).status).toBe(400);
  });

  it('A1 requires the length of a body that is sent with a lease token', async () => {
    const { agentId, leaseToken } = await api.given.agent();
    const head = `PATCH /v1/agents/${agentId} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${leaseToken}\r\n`;
    const chunked = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":';
    expect(await rawHttp(api.url, head + chunked)).toMatch(/^HTTP\/1\.1 411 [\s\S]*"code":"LENGTH_REQUIRED"/);
  });

  it('A1 the route limits the size of a body, even when it arrives in chunks', async () => {
    const head = `POST /v1/keys HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${api.adminKey}\r\n`;
    const chunk = `40001\r\n${'x'.repeat(0x40_001)}\r\n`;
    const chunked = `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`;
    expect(await rawHttp(api.url, head + chunked)).toMatch(/^HTTP\/1\.1 413 [\s\S]*262144 bytes/);
  });

  it('A1 accepts a batch of 1,000 heartbeats with the longest ids', async () => {
    const agentId = 'ü'.repeat(128);
    const one = { agentId, leaseToken: `rl_${'x'.repeat(43)}`, generation: Number.MAX_SAFE_INTEGER, inFlight: 1e6 };
    const full = { ...one, load: 999.999, latencyMs: 999_999.999, usedTokens: Number.MAX_SAFE_INTEGER };
    const body = JSON.stringify({ beats: Array.from({ length: 1_000 }, () => full) });
    expect(body.length).toBeGreaterThan(256 * 1_024);
    expect((await api.call('POST', '/v1/heartbeats', { body })).status).toBe(200);
    expect((await api.call('POST', '/v1/heartbeats', { body: `"${'x'.repeat(1 << 20)}"` })).status).toBe(413);
  });
});

describe('concurrent requests', () => {
  it('A8 limits the requests of one credential without limiting other credentials', async () => {
    api = await startApi({ ROLLCALL_CONCURRENT_REQUESTS: '3' });
    const other = await api.given.key('viewer');
    expect((await api.call('GET', '/v1/me')).status).toBe(200);
    expect((await api.call('GET', '/v1/me', { key: other })).status).toBe(200);
    const unlock = await lockKeys();
    const slow = Array.from({ length: 3 }, async () => await api.call('GET', '/v1/keys'));
    await untilWaiting(3);
    const refused = await api.call('GET', '/v1/agents');
    expect(codeOf(refused)).toEqual(BUSY);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await api.call('GET', '/v1/agents', { key: other })).status).toBe(200);
    await unlock();
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await api.call('GET', '/v1/keys')).status).toBe(200);
  });

  it('S-4 while the replica is busy, the requests of a namespace take turns, and all of them are answered', async () => {
    api = await startApi();
    const turns = api.app.nest.get(FairTurns, { strict: false });
    const keepBusy = (): void => {
      turns.note('another namespace');
      turns.apply(1, performance.now());
    };
    for (let round = 0; round < 10; round += 1) {
      const answers = Array.from({ length: 30 }, async () => await api.call('GET', '/v1/keys'));
      const strangers = Array.from({ length: 12 }, async () => await api.call('GET', '/openapi.json', { key: null }));
      const impatient = [ask(), ask(), ask()];
      keepBusy();
      for (const socket of impatient) socket.destroy();
      for (const { status } of await Promise.all([...answers, ...strangers])) expect(status).toBe(200);
    }
    await until('no request holds a turn', () => {
      keepBusy();
      const begun = Array.from({ length: 8 }, () => turns.begin('default'));
      const isFree = begun.every((wait) => wait === undefined);
      turns.apply(0, performance.now()); // those that wait begin
      for (const _ of begun) turns.end('default');
      return isFree;
    });
  });

  it('A8 a request counts as long as the server works on it, even if the client has disconnected', async () => {
    api = await startApi({ ROLLCALL_CONCURRENT_REQUESTS: '2' });
    expect((await api.call('GET', '/v1/me')).status).toBe(200);
    const unlock = await lockKeys();
    const disconnected = [ask(), ask()];
    await untilWaiting(2);
    for (const socket of disconnected) socket.destroy();
    expect(codeOf(await api.call('GET', '/v1/agents'))).toEqual(BUSY);
    await unlock();
    await until('the slots are free', async () => (await api.call('GET', '/v1/agents')).status === 200);
    expect((await Promise.all([api.call('GET', '/v1/keys'), api.call('GET', '/v1/keys')])).map(codeOf)).toEqual([
      [200, undefined],
      [200, undefined],
    ]);
  });

  it('S-12 sockets opened with tickets are counted together with all other streams of the credential', async () => {
    api = await startApi({ ROLLCALL_CONCURRENT_STREAMS: '3' });
    const [key, other] = [await api.given.key('viewer'), await api.given.key('viewer')];
    const ticket = async (by: string): Promise<string> =>
      (await api.call<{ ticket: string }>('POST', '/v1/events/tickets', { key: by })).body.ticket;
    const open = [await EventClient.connect(api.url, { key })];
    for (let n = 0; n < 2; n += 1) open.push(await EventClient.connect(api.url, { ticket: await ticket(key) }));
    const refused = { status: 429, code: BUSY[1] };
    expect(await refusal(api.url, '/v1/events/ws', { ticket: await ticket(key) })).toEqual(refused);
    expect(await refusal(api.url, '/v1/events/ws', { key })).toEqual(refused);
    open.push(await EventClient.connect(api.url, { ticket: await ticket(other) }));
    open[1]?.socket.close();
    await until('the slot is free', async () => {
      const status = (await api.call('GET', '/v1/events?after=0', { key })).status;
      return status === 200;
    });
    open.push(await EventClient.connect(api.url, { ticket: await ticket(key) }));
    for (const { socket } of open) socket.close();
  });

  it('S-12 a ticket contains no counters of the replica that issued it', async () => {
    api = await startApi();
    await api.call('POST', '/v1/events/tickets');
    await api.call('POST', '/v1/events/tickets');
    const rows = await api.database.db.query<{ field: string }>(
      'SELECT DISTINCT jsonb_object_keys(principal) AS field FROM event_ticket ORDER BY 1',
    );
    const who = ['expiresAt', 'fingerprint', 'hasAllNamespaces', 'id', 'kind', 'name', 'namespace', 'namespaces'];
    expect(rows.map(({ field }) => field)).toEqual([...who, 'owner', 'permissions', 'roles']);
  });

  it('A8 requests that stay open have a separate limit, and free their slot when they end', async () => {
    api = await startApi({ ROLLCALL_CONCURRENT_STREAMS: '2', ROLLCALL_CONCURRENT_REQUESTS: '2' });
    const poll = ask('/v1/events?after=latest&waitMs=20000');
    const stream = ask('/v1/events/stream?after=latest');
    await once(stream, 'data');
    await until('both requests are counted', async () => (await api.call('GET', '/v1/events?after=0')).status === 429);
    expect(codeOf(await api.call('GET', '/v1/events/snapshot'))).toEqual(BUSY);
    expect(await refusal(api.url, '/v1/events/ws', { key: api.adminKey })).toEqual({ status: 429, code: BUSY[1] });
    expect((await api.call('GET', '/v1/me')).status).toBe(200);
    poll.destroy();
    await until('one slot is free', async () => (await api.call('GET', '/v1/events?after=0')).status === 200);
    stream.destroy();
    const both = async (): Promise<number[]> =>
      (await Promise.all([api.call('GET', '/v1/events'), api.call('GET', '/v1/events')])).map(({ status }) => status);
    await until('both slots are free', async () => (await both()).join() === '200,200');
  });

  it('A8 limits requests without a verified credential by address', async () => {
    api = await startApi({}, { constants: { http: { concurrentUnauthenticated: 4 } } });
    expect((await api.call('GET', '/v1/me')).status).toBe(200);
    const unlock = await lockKeys();
    const slow = Array.from(
      { length: 4 },
      async (_, index) => await api.call('GET', '/v1/me', { key: `unknown-${index}` }),
    );
    await untilWaiting(4);
    expect(codeOf(await api.call('GET', '/v1/me', { key: 'unknown-5' }))).toEqual(BUSY);
    expect(codeOf(await api.call('GET', '/openapi.json', { key: null }))).toEqual(BUSY);
    expect((await api.call('GET', '/health/live', { key: null })).status).toBe(200); // probes are never limited
    await unlock();
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect((await api.call('GET', '/health/live', { key: null })).status).toBe(200);
  });

  it('A3 answers a request for a snapshot with 429 if the replica already reads the maximum number of snapshots', async () => {
    api = await startApi();
    const refused: Answer[] = [];
    await until('a request is rejected', async () => {
      const read = async (): Promise<Answer> => await api.call('GET', '/v1/events/snapshot');
      const answers = await Promise.all(Array.from({ length: 24 }, read));
      refused.push(...answers.filter(({ status }) => status !== 200));
      return refused.length > 0;
    });
    for (const answer of refused) {
      expect(codeOf(answer)).toEqual([429, 'SNAPSHOTS_BUSY']);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
  });

  function ask(path = '/v1/keys'): Socket {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${api.adminKey}\r\n\r\n`);
    return socket;
  }
});

describe('a stopping replica', () => {
  it('D8 keeps connections until its port is closed, and then closes each after its answer, so that no proxy sends another request on it', async () => {
    api = await startApi();
    const { hostname, port } = new URL(api.url);
    const sockets = Array.from({ length: 3 }, () => connect(Number(port), hostname));
    const answer = async (socket: Socket | undefined, path: string): Promise<string> => {
      if (!socket) throw new Error('no connection');
      socket.write(`GET ${path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${api.adminKey}\r\n\r\n`);
      return String((await once(socket, 'data'))[0]).toLowerCase();
    };
    api.app.lifecycle.phase = 'draining';
    for (const socket of sockets) expect(await answer(socket, '/v1/me')).not.toContain('connection: close');
    Server.prototype.close.call(api.app.nest.getHttpServer());
    expect(await answer(sockets[0], '/v1/me')).toContain('connection: close');
    expect(await answer(sockets[1], '/v1/nothing')).toContain('connection: close');
    api.app.lifecycle.phase = 'closing';
    expect(await answer(sockets[2], '/v1/me')).toContain('connection: close');
    for (const socket of sockets) socket.destroy();
  });
});
