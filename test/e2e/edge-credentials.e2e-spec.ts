import { randomBytes } from 'node:crypto';
import { WebSocket } from 'ws';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { AgentClient, type Registration } from '../support/agent-client.js';
import type { AgentSpec } from '../support/given.js';
import { refusal } from '../support/socket-client.js';
import { rawHttp, withoutItsBody } from '../support/raw-http.js';

let api: TestApi;
let agentKey: string;
beforeAll(async () => {
  api = await startApi();
  agentKey = await api.given.key('agent');
});
afterAll(async () => await api.stop());

const madeUpToken = (): string => `rl_${randomBytes(32).toString('base64url')}`;

const register = async (spec: AgentSpec = {}): Promise<Registration> => await api.given.agent(spec, agentKey);

async function beat({ agentId, generation, leaseToken }: Registration, at = api): Promise<[number, unknown]> {
  const path = `/v1/agents/${agentId}/heartbeat`;
  const { status, body } = await at.call('POST', path, { key: leaseToken, body: { generation } });
  return [status, body['code']];
}

describe('a credential is proven before the body is read', () => {
  const bearer = (credential: string): Record<string, string> => ({ authorization: `Bearer ${credential}` });

  it('A1 answers 401 to a made-up lease token without waiting for the body', async () => {
    const request = withoutItsBody('PATCH', '/v1/agents/nosuch', bearer(madeUpToken()));
    expect(await rawHttp(api.url, request)).toMatch(/^HTTP\/1\.1 401 [\s\S]*"code":"UNAUTHENTICATED"/);
  });

  it('A1 answers 401 without a credential, 403 without the permission and 404 without a route before the body', async () => {
    const status = async (path: string, headers: Record<string, string>): Promise<string | undefined> =>
      /^HTTP\/1\.1 (\d+)/.exec(await rawHttp(api.url, withoutItsBody('POST', path, headers)))?.[1];
    expect(await status('/v1/keys', {})).toBe('401');
    expect(await status('/v1/keys', bearer(agentKey))).toBe('403');
    expect(await status('/v1/nothing-here', {})).toBe('404');
  });

  it('A1 does not parse the body of a made-up lease token', async () => {
    const patch = async (key: string): Promise<Answer> =>
      await api.call('PATCH', '/v1/agents/nosuch', { key, body: '{"generation":' });
    const { leaseToken } = await register();
    expect(await patch(leaseToken)).toMatchObject({ status: 400, body: { code: 'MALFORMED_JSON' } });
    expect(await patch(madeUpToken())).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  });
});

describe('a lease token', () => {
  it('A7 that nobody ever had gets one answer, whether the agent is alive, left or unknown', async () => {
    const alive = await register();
    const left = await register();
    await api.call('POST', `/v1/agents/${left.agentId}/evict`);
    for (const agentId of [alive.agentId, left.agentId, 'nosuch']) {
      const registration = { agentId, generation: 1, leaseToken: madeUpToken() };
      expect(await beat(registration)).toEqual([401, 'UNAUTHENTICATED']);
      for (const method of ['PATCH', 'DELETE'])
        expect((await api.call(method, `/v1/agents/${agentId}?generation=1`, { key: registration.leaseToken })).status).toBe(
          401,
        );
      const path = `/v1/agents/ws?agentId=${agentId}&generation=1`;
      expect(await refusal(api.url, path, { key: registration.leaseToken })).toEqual({ status: 401, code: 'UNAUTHENTICATED' });
    }
  });

  it('A7 of an evicted agent still gets REGISTER_AGAIN, and of an old generation STALE_GENERATION, on every replica', async () => {
    const evicted = await register();
    await api.call('POST', `/v1/agents/${evicted.agentId}/evict`);
    const first = await register({ agentId: 'twice' });
    const second = await register({ agentId: 'twice', leaseToken: first.leaseToken });
    const other = await api.replica();
    for (const at of [api, other]) {
      expect(await beat(evicted, at)).toEqual([404, 'REGISTER_AGAIN']);
      expect(await beat(first, at)).toEqual([409, 'STALE_GENERATION']);
      expect(await beat(second, at)).toEqual([200, undefined]);
    }
    await other.stop();
  });

  it('A7 that is unknown is limited by address, and does not delay agents that are known', async () => {
    const known = await register();
    const attacked = await api.replica();
    expect(await beat(known, attacked)).toEqual([200, undefined]);
    const hostile = Array.from(
      { length: 400 },
      async () => await beat({ ...known, leaseToken: madeUpToken() }, attacked),
    );
    expect(new Set((await Promise.all(hostile)).map(([status]) => status))).toEqual(new Set([401, 429]));
    expect(await beat(known, attacked)).toEqual([200, undefined]);
    await attacked.stop();
  });

  it('A21 is accepted after the scheme Bearer alone', async () => {
    const registration = await register();
    const options = (authorization: string): object => ({
      key: null,
      headers: { authorization },
      body: { generation: 1 },
    });
    const status = async (authorization: string): Promise<number> =>
      (await api.call('POST', `/v1/agents/${registration.agentId}/heartbeat`, options(authorization))).status;
    expect(await status(`1234567${registration.leaseToken}`)).toBe(401);
    expect(await status(`Basic  ${registration.leaseToken}`)).toBe(401);
    expect(await status(`bearer ${registration.leaseToken}`)).toBe(200);
  });
});

describe('a WebSocket upgrade', () => {
  const upgrade = (path: string, ...headers: string[]): string =>
    [`GET ${path} HTTP/1.1`, 'Host: here', 'Connection: Upgrade', 'Upgrade: websocket', ...headers, '', ''].join(
      '\r\n',
    );
  const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

  it('A2 of a path without a socket gets an HTTP answer', async () => {
    for (const path of ['/', '/health/nothing', '/v1/nothing', '/%', '//']) {
      const answer = await rawHttp(api.url, upgrade(path, KEY, 'Sec-WebSocket-Version: 13', 'Connection: close'));
      expect({ path, answer }).toEqual({ path, answer: expect.stringMatching(/^HTTP\/1\.1 40[04] /) as string });
      expect(answer).toContain('application/problem+json');
    }
  });

  it('A2 that is malformed gets an HTTP answer', async () => {
    const registration = await register();
    const path = `/v1/agents/ws?agentId=${registration.agentId}&generation=1`;
    const authorization = `Authorization: Bearer ${registration.leaseToken}`;
    expect(await rawHttp(api.url, upgrade(path, authorization))).toMatch(/^HTTP\/1\.1 400 [\s\S]*MALFORMED_REQUEST/);
    const version = 'Sec-WebSocket-Version: 99';
    expect(await rawHttp(api.url, upgrade(path, authorization, KEY, version))).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('A2 is required where a plain request is sent to a socket', async () => {
    for (const path of ['/v1/agents/ws', '/v1/events/ws']) {
      const answer = await api.call('GET', path, { key: null });
      expect(answer).toMatchObject({ status: 426, body: { code: 'UPGRADE_REQUIRED' } });
      expect(answer.headers.get('upgrade')).toBe('websocket');
    }
  });

  it('A21 that is refused carries one Content-Type', async () => {
    const answer = await rawHttp(api.url, upgrade('/v1/events/ws', KEY, 'Sec-WebSocket-Version: 13'));
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer.match(/^content-type:/gim)).toHaveLength(1);
    expect(answer).toMatch(/^content-type: application\/problem\+json/im);
    expect(answer).toMatch(/^www-authenticate: Bearer/im);
  });

  it('A11 is limited by the address of the client and not of the proxy', async () => {
    const behind = await startApi({ ROLLCALL_TRUSTED_PROXIES: '127.0.0.1' });
    const key = await behind.given.key('viewer');
    const open = async (credential: string, address: string): Promise<number | undefined> =>
      await new Promise((done) => {
        const headers = { authorization: `Bearer ${credential}`, 'x-forwarded-for': address };
        const socket = new WebSocket(`${behind.url.replace('http', 'ws')}/v1/events/ws`, { headers });
        socket.on('error', () => undefined);
        socket.on('unexpected-response', (_request, { statusCode }) => done(statusCode));
        socket.on('open', () => done(101));
      });
    const hostile = await Promise.all(
      Array.from({ length: 400 }, async (_, index) => await open(`made-up-${index}`, '203.0.113.6')),
    );
    expect(hostile).toContain(429);
    expect(await open(key, '203.0.113.7')).toBe(101);
    await behind.stop();
  });

  it('A7 of a proven agent opens its socket', async () => {
    const agent = await AgentClient.connect(api.url, await register());
    await agent.received('welcome');
    agent.socket.terminate();
  });
});

describe('X-Forwarded-For', () => {
  it('A20 is the address of a client only when it is an address', async () => {
    const behind = await startApi({ ROLLCALL_TRUSTED_PROXIES: '127.0.0.1' });
    const recorded = async (forwarded: string): Promise<string | undefined> => {
      const headers = { 'x-forwarded-for': forwarded };
      await behind.call('POST', '/v1/keys', { body: { name: 'x', roles: ['viewer'] }, headers });
      return (await behind.call<{ items: { ip: string }[] }>('GET', '/v1/audit?limit=1')).body.items[0]?.ip;
    };
    expect(await recorded('<b>hello</b>')).toBe('127.0.0.1');
    expect(await recorded('x'.repeat(3_000))).toBe('127.0.0.1');
    expect(await recorded('nonsense, 203.0.113.7')).toBe('203.0.113.7');
    expect(await recorded('2001:db8::7')).toBe('2001:db8::7');
    await behind.stop();
  });
});
