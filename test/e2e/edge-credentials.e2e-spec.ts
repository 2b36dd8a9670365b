import { randomBytes } from 'node:crypto';
import { WebSocket } from 'ws';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { AgentClient, type Registration } from '../support/agent-client.js';
import type { AgentSpec } from '../support/given.js';
import { refusal } from '../support/socket-client.js';
import { rawHttp, withoutBody } from '../support/raw-http.js';

let api: TestApi;
let agentKey: string;
beforeAll(async () => {
  api = await startApi();
  agentKey = await api.given.key('agent');
});
afterAll(async () => await api.stop());

const randomToken = (): string => `rl_${randomBytes(32).toString('base64url')}`;

const register = async (spec: AgentSpec = {}): Promise<Registration> => await api.given.agent(spec, agentKey);

async function beat({ agentId, generation, leaseToken }: Registration, at = api): Promise<[number, unknown]> {
  const path = `/v1/agents/${agentId}/heartbeat`;
  const { status, body } = await at.call('POST', path, { key: leaseToken, body: { generation } });
  return [status, body['code']];
}

/** Sends requests concurrently, and returns whether one of them was limited. */
async function concurrently(count: number, isLimited: (index: number) => Promise<boolean>): Promise<boolean> {
  const results = await Promise.all(Array.from({ length: count }, async (_, index) => await isLimited(index)));
  return results.includes(true);
}

describe('a credential is verified before the body is read', () => {
  const bearer = (credential: string): Record<string, string> => ({ authorization: `Bearer ${credential}` });

  it('A1 an unknown lease token is answered with 401 before the body arrives', async () => {
    const request = withoutBody('PATCH', '/v1/agents/nosuch', bearer(randomToken()));
    expect(await rawHttp(api.url, request)).toMatch(/^HTTP\/1\.1 401 [\s\S]*"code":"UNAUTHENTICATED"/);
  });

  it('A1 a missing credential, a missing permission and an unknown route are answered before the body arrives', async () => {
    const status = async (path: string, headers: Record<string, string>): Promise<string | undefined> =>
      /^HTTP\/1\.1 (\d+)/.exec(await rawHttp(api.url, withoutBody('POST', path, headers)))?.[1];
    expect(await status('/v1/keys', {})).toBe('401');
    expect(await status('/v1/keys', bearer(agentKey))).toBe('403');
    expect(await status('/v1/nothing-here', {})).toBe('404');
  });

  it('A1 the body of a request with an unknown lease token is not parsed', async () => {
    const patch = async (key: string): Promise<Answer> =>
      await api.call('PATCH', '/v1/agents/nosuch', { key, body: '{"generation":' });
    const { leaseToken } = await register();
    expect(await patch(leaseToken)).toMatchObject({ status: 400, body: { code: 'MALFORMED_JSON' } });
    expect(await patch(randomToken())).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  });
});

describe('an Authorization header', () => {
  it('A21 two Authorization headers are rejected, even if both are valid', async () => {
    const header = `Authorization: Bearer ${api.adminKey}\r\n`;
    const send = async (headers: string): Promise<string> =>
      await rawHttp(api.url, `GET /v1/me HTTP/1.1\r\nHost: here\r\nConnection: close\r\n${headers}\r\n`);
    expect(await send(header)).toMatch(/^HTTP\/1.1 200 /);
    expect(await send(header + header)).toMatch(/^HTTP\/1.1 401 /);
  });
});

describe('a lease token', () => {
  it('A7 a lease token that was never issued gets the same answer for a live, a former and an unknown agent', async () => {
    const alive = await register();
    const left = await register();
    await api.call('POST', `/v1/agents/${left.agentId}/evict`);
    for (const agentId of [alive.agentId, left.agentId, 'nosuch']) {
      const registration = { agentId, generation: 1, leaseToken: randomToken() };
      expect(await beat(registration)).toEqual([401, 'UNAUTHENTICATED']);
      for (const method of ['PATCH', 'DELETE'])
        expect(
          (await api.call(method, `/v1/agents/${agentId}?generation=1`, { key: registration.leaseToken })).status,
        ).toBe(401);
      const path = `/v1/agents/ws?agentId=${agentId}&generation=1`;
      expect(await refusal(api.url, path, { key: registration.leaseToken })).toEqual({
        status: 401,
        code: 'UNAUTHENTICATED',
      });
    }
  });

  it('A7 the lease token of an evicted agent gets REGISTER_AGAIN, and that of an old generation gets STALE_GENERATION, on every replica', async () => {
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

  it('A7 a caller cannot choose the lease token of a new agent, nor use the lease token of another agent', async () => {
    const other = await register();
    for (const chosen of [randomToken(), other.leaseToken]) {
      const agent = await register({ leaseToken: chosen });
      expect(agent.leaseToken).not.toBe(chosen);
      expect(await beat(agent)).toEqual([200, undefined]);
    }
    const left = await register({ agentId: 'returning' });
    await api.call('POST', '/v1/agents/returning/evict');
    const back = await register({ agentId: 'returning', leaseToken: left.leaseToken });
    expect(back.leaseToken).toBe(left.leaseToken);
    await api.call('POST', '/v1/agents/returning/evict');
    const chosen = await register({ agentId: 'returning', leaseToken: other.leaseToken });
    expect([left.leaseToken, other.leaseToken]).not.toContain(chosen.leaseToken);
    expect(await beat({ ...chosen, leaseToken: other.leaseToken })).toEqual([403, 'LEASE_TOKEN_REFUSED']);
  });

  it('A7 limits the rate of unknown lease tokens by address, and does not block known agents', async () => {
    const known = await register();
    const attacked = await api.replica();
    expect(await beat(known, attacked)).toEqual([200, undefined]);
    const statuses = new Set<number>();
    const attack = async (): Promise<boolean> => {
      const [status] = await beat({ ...known, leaseToken: randomToken() }, attacked);
      return statuses.add(status).has(429);
    };
    await until('the limit is reached', async () => await concurrently(400, attack));
    expect(statuses).toEqual(new Set([401, 429]));
    expect(await beat(known, attacked)).toEqual([200, undefined]);
    await attacked.stop();
  });

  it('A21 accepts a lease token with the scheme Bearer only', async () => {
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

  it('A2 answers an upgrade request to a path without a WebSocket with an HTTP response', async () => {
    const answerOf = async (path: string): Promise<string> =>
      await rawHttp(api.url, upgrade(path, KEY, 'Sec-WebSocket-Version: 13', 'Connection: close'));
    expect(await answerOf('/')).toMatch(/^HTTP\/1\.1 302 /); // leads to /docs
    for (const path of ['/health/nothing', '/v1/nothing', '/%', '//']) {
      const answer = await answerOf(path);
      expect({ path, answer }).toEqual({ path, answer: expect.stringMatching(/^HTTP\/1\.1 40[04] /) as string });
      expect(answer).toContain('application/problem+json');
    }
  });

  it('A2 answers a malformed upgrade request with an HTTP response', async () => {
    const registration = await register();
    const path = `/v1/agents/ws?agentId=${registration.agentId}&generation=1`;
    const authorization = `Authorization: Bearer ${registration.leaseToken}`;
    expect(await rawHttp(api.url, upgrade(path, authorization))).toMatch(/^HTTP\/1\.1 400 [\s\S]*MALFORMED_REQUEST/);
    const version = 'Sec-WebSocket-Version: 99';
    expect(await rawHttp(api.url, upgrade(path, authorization, KEY, version))).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('A2 answers a plain request to a WebSocket path with 426', async () => {
    for (const path of ['/v1/agents/ws', '/v1/events/ws']) {
      const answer = await api.call('GET', path, { key: null });
      expect(answer).toMatchObject({ status: 426, body: { code: 'UPGRADE_REQUIRED' } });
      expect(answer.headers.get('upgrade')).toBe('websocket');
    }
  });

  it('A21 the answer to a rejected upgrade has one Content-Type', async () => {
    const answer = await rawHttp(api.url, upgrade('/v1/events/ws', KEY, 'Sec-WebSocket-Version: 13'));
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer.match(/^content-type:/gim)).toHaveLength(1);
    expect(answer).toMatch(/^content-type: application\/problem\+json/im);
    expect(answer).toMatch(/^www-authenticate: Bearer/im);
  });

  it('A11 limits the rate of upgrades by the address of the client, not of the proxy', async () => {
    const proxied = await startApi({ ROLLCALL_TRUSTED_PROXIES: '127.0.0.1' });
    const key = await proxied.given.key('viewer');
    const open = async (credential: string, address: string): Promise<number | undefined> =>
      await new Promise((done) => {
        const headers = { authorization: `Bearer ${credential}`, 'x-forwarded-for': address };
        const socket = new WebSocket(`${proxied.url.replace('http', 'ws')}/v1/events/ws`, { headers });
        socket.on('error', () => undefined);
        socket.on('unexpected-response', (_request, { statusCode }) => done(statusCode));
        socket.on('open', () => done(101));
      });
    const attack = async (index: number): Promise<boolean> => (await open(`unknown-${index}`, '203.0.113.6')) === 429;
    await until('the limit is reached', async () => await concurrently(400, attack));
    expect(await open(key, '203.0.113.7')).toBe(101);
    await proxied.stop();
  });

  it('A7 a valid lease token opens the socket of the agent', async () => {
    const agent = await AgentClient.connect(api.url, await register());
    await agent.received('welcome');
    agent.socket.terminate();
  });
});

describe('X-Forwarded-For', () => {
  it('A20 ignores an X-Forwarded-For that is not an address', async () => {
    const proxied = await startApi({ ROLLCALL_TRUSTED_PROXIES: '127.0.0.1' });
    const recorded = async (forwarded: string): Promise<string | undefined> => {
      const headers = { 'x-forwarded-for': forwarded };
      await proxied.call('POST', '/v1/keys', { body: { name: 'x', roles: ['viewer'] }, headers });
      return (await proxied.call<{ items: { ip: string }[] }>('GET', '/v1/audit?limit=1')).body.items[0]?.ip;
    };
    expect(await recorded('<b>hello</b>')).toBe('127.0.0.1');
    expect(await recorded('x'.repeat(3_000))).toBe('127.0.0.1');
    expect(await recorded('nonsense, 203.0.113.7')).toBe('203.0.113.7');
    expect(await recorded('2001:db8::7')).toBe('2001:db8::7');
    await proxied.stop();
  });
});
