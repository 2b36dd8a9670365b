import { until } from '#rollcall/test-support';
import { AgentClient, type Registration } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { registrationBody } from '../support/given.js';
import { EventClient } from '../support/event-client.js';
import { rawHttp } from '../support/raw-http.js';

interface FieldError {
  field: string;
  message: string;
}

let api: TestApi;
beforeAll(async () => void (api = await startApi()));
afterAll(async () => await api.stop());

const keys = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));
const errorsOf = ({ body }: Answer): FieldError[] => body['errors'] as FieldError[];
const register = async (body: object): Promise<Answer> =>
  await api.call('POST', '/v1/agents', { body: registrationBody(body) });

describe('a body beyond the limits', () => {
  it('A1 rejects a capability with 120,000 blanks, even with an unknown lease token', async () => {
    const body = { generation: 1, capabilities: [`a${' '.repeat(120_000)}b`] };
    const answer = await api.call('PATCH', '/v1/agents/nosuch', { key: `rl_${'x'.repeat(43)}`, body });
    expect(answer.status).toBeLessThan(500);
    expect(answer.status).toBeGreaterThanOrEqual(400);
  });

  it('A4 rejects 22,000 unknown keys with a short answer', async () => {
    const answer = await api.call('POST', '/v1/keys', { body: keys(15_000) });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(answer.body['detail']).toBe('Please correct: body.');
    expect(errorsOf(answer)).toEqual([{ field: 'body', message: 'body must have at most 500 keys' }]);
    const more = await api.call('POST', '/v1/keys', { body: keys(22_000) });
    expect(more).toMatchObject({ status: 400, body: { code: 'MALFORMED_JSON' } });
    expect(more.body['detail']).toContain('more than 20000 keys and elements');
  });

  it('A4 reports at most 20 unknown fields, with short names, and how many more there are', async () => {
    const body = { ['x'.repeat(200)]: 1, ...keys(300) };
    const answer = await api.call('POST', '/v1/keys', { body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', moreErrors: 283 } });
    expect(errorsOf(answer)).toHaveLength(20);
    expect(answer.body['detail']).toContain('There are 283 more errors.');
    expect(JSON.stringify(answer.body).length).toBeLessThan(4_000);
  });

  it('A4 reports at most three errors of each heartbeat of a batch, with short names', async () => {
    const beat = { agentId: 'a'.repeat(500), generation: 0, leaseToken: '', ['x'.repeat(200)]: 1, ...keys(5) };
    const beats = Array.from({ length: 1_000 }, () => beat);
    const answer = await api.call<{ results: { detail: string }[] }>('POST', '/v1/heartbeats', { body: { beats } });
    expect(answer.status).toBe(200);
    expect(answer.body.results).toHaveLength(1_000);
    for (const { detail } of answer.body.results) expect(detail.length).toBeLessThan(300);
  });

  it.each([
    ['a string of more than 64 KB', { agentCard: { a: { b: 'x'.repeat(65_537) } } }, 'agentCard.a.b'],
    ['a key of more than 256 characters', { agentCard: { ['k'.repeat(257)]: 1 } }, `agentCard.${'k'.repeat(80)}…`],
    ['more than 500 keys in one object', { agentCard: { a: keys(501) } }, 'agentCard.a'],
    [
      'more than 5,000 elements in one list',
      { agentCard: { a: Array.from({ length: 5_001 }, () => 1) } },
      'agentCard.a',
    ],
  ])('A4 rejects %s, with the path to it', async (_what, body, field) => {
    const answer = await register(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(errorsOf(answer).map((error) => error.field)).toEqual([field]);
  });

  it('A4 reports only the first error of each field', async () => {
    const answer = await api.call('POST', '/v1/keys', { body: { name: 7, roles: 'x', expiresAt: 5 } });
    expect(
      errorsOf(answer)
        .map(({ field }) => field)
        .toSorted(),
    ).toEqual(['expiresAt', 'name', 'roles']);
  });

  it('A18 rejects an expiry of 60,000 characters', async () => {
    const answer = await api.call('POST', '/v1/keys', {
      body: { name: 'x', roles: ['viewer'], expiresAt: 'T'.repeat(60_000) },
    });
    expect(errorsOf(answer)).toEqual([
      { field: 'expiresAt', message: 'expiresAt must be shorter than or equal to 40 characters' },
    ]);
  });
});

describe('a name that every object inherits', () => {
  it.each(['valueOf', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__'])(
    'A14 rejects %s as a label in a registration, an update and a query',
    async (name) => {
      const labels = { [name]: 'x' };
      const answers = [
        await register({ labels }),
        await api.call('PATCH', '/v1/agents/any', { body: { labels } }),
        await api.call('POST', '/v1/agents/query', { body: { filter: { labels } } }),
      ];
      for (const answer of answers) expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    },
  );

  it('A14 rejects an inherited name at every depth, with its path', async () => {
    const answer = await register({ agentCard: { skills: [{ tags: { valueOf: 1 } }] } });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(errorsOf(answer)).toEqual([
      {
        field: 'agentCard.skills.0.tags.valueOf',
        message: 'agentCard.skills.0.tags.valueOf is a reserved name; use another',
      },
    ]);
  });

  it('A14 rejects an inherited name in a query string', async () => {
    for (const name of ['toString', 'constructor', '__proto__'])
      expect(await api.call('GET', `/v1/agents?${name}=1`)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED' },
      });
  });
});

describe('a URL beyond the limits', () => {
  it('A4 rejects a URL with more than 50 query parameters', async () => {
    const query = Array.from({ length: 51 }, (_, index) => `key${index}=1`).join('&');
    const answer = await api.call('GET', `/v1/agents?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { code: 'MALFORMED_REQUEST' } });
    expect(answer.body['detail']).toContain('at most 50 query parameters');
  });

  it('A4 rejects a query string of more than 8,192 characters', async () => {
    const answer = await api.call('GET', `/v1/agents?capability=${'x'.repeat(8_192)}`);
    expect(answer).toMatchObject({ status: 400, body: { code: 'MALFORMED_REQUEST' } });
  });

  it('accepts a URL with the longest allowed agentId', async () => {
    const agentId = 'a'.repeat(128);
    expect((await register({ agentId })).status).toBe(201);
    expect((await api.call('GET', `/v1/agents/${agentId}`)).status).toBe(200);
    const tooLong = await api.call('GET', `/v1/agents/${'a'.repeat(301)}`);
    expect(tooLong).toMatchObject({ status: 400, body: { code: 'MALFORMED_REQUEST' } });
  });
});

describe('capabilities of many levels', () => {
  const claims = (count: number): string[] =>
    Array.from({ length: count }, (_, claim) =>
      Array.from({ length: 16 }, (__, level) => `${claim}x${level.toString(16)}`).join('.'),
    );

  it('A6 rejects capabilities with more than 256 entries in the hierarchy', async () => {
    expect((await register({ capabilities: claims(16) })).status).toBe(201);
    const answer = await register({ capabilities: claims(17) });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(errorsOf(answer)[0]).toMatchObject({ field: 'capabilities' });
    expect(errorsOf(answer)[0]?.message).toContain('272 entries in the hierarchy, and at most 256 are allowed');
  });

  it('A6 counts a shared entry of the hierarchy once', async () => {
    const capabilities = Array.from({ length: 200 }, (_, index) => `code.build.c${index}`);
    expect((await register({ capabilities })).status).toBe(201);
  });

  it('A6 rejects an update with too many entries in the hierarchy', async () => {
    const { body } = await register({ agentId: 'deep' });
    const answer = await api.call('PATCH', '/v1/agents/deep', {
      key: String(body['leaseToken']),
      body: { generation: 1, capabilities: claims(17) },
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });
});

describe('a frame on a WebSocket', () => {
  it.each([
    ['a NUL character', { agentIds: ['a\0b'] }, 'MALFORMED_JSON'],
    ['an inherited name', { valueOf: 1 }, 'VALIDATION_FAILED'],
    ['an unknown field inside a list', { agentIds: [{ toString: 1 }] }, 'VALIDATION_FAILED'],
    ['501 keys', keys(501), 'VALIDATION_FAILED'],
    ['10,000 names', { agentIds: Array.from({ length: 10_000 }, () => 'a') }, 'VALIDATION_FAILED'],
  ])('A4 A14 answers a frame with %s with an error, and the socket stays open', async (_what, data, code) => {
    const client = await EventClient.connect(api.url, { key: api.adminKey });
    client.send('subscribe', data);
    await until('an error is received', () => client.count('error') === 1);
    expect(client.frames[0]?.data).toMatchObject({ status: 400, code });
    await client.subscribe();
    client.socket.close();
  });

  it('A4 rejects a frame of more than 4 KB on the socket of an agent', async () => {
    const { body } = await register({ agentId: 'verbose' });
    const agent = await AgentClient.connect(api.url, body as unknown as Registration);
    agent.send('beat', keys(2_000));
    expect(await agent.received('error')).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
    agent.send('beat', { note: 'x'.repeat(5_000) });
    expect(await agent.received('error', 2)).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
    agent.send('beat');
    await agent.received('beaten');
    agent.socket.close();
  });
});

describe('an endpoint', () => {
  it('A13 stores an endpoint in normal form', async () => {
    const endpoint = 'https://Agent.invalid:443/a/../b#part';
    const { body } = await register({ agentId: 'normal', endpoint });
    expect(body['agent']).toMatchObject({ endpoint: 'https://agent.invalid/b' });
    const changed = await api.call('PATCH', '/v1/agents/normal', { body: { endpoint: 'HTTPS://agent.invalid:8443/' } });
    expect(changed.body).toMatchObject({ endpoint: 'https://agent.invalid:8443' });
  });

  it.each(['https://1.1.1.1\\@169.254.169.254/', 'https://agent.invalid/a\u0001b', 'https://agent.invalid/\n'])(
    'A13 rejects the endpoint %j in a registration, an update and a webhook',
    async (endpoint) => {
      await register({ agentId: 'steady' });
      const answers = [
        await register({ endpoint }),
        await api.call('PATCH', '/v1/agents/steady', { body: { endpoint } }),
        await api.call('POST', '/v1/webhooks', { body: { url: endpoint } }),
      ];
      for (const answer of answers) expect(answer).toMatchObject({ status: 400, body: { code: 'EGRESS_DENIED' } });
    },
  );

  it('A19 the audit log contains an endpoint without its query string', async () => {
    await register({ agentId: 'audited' });
    const endpoint = 'https://agent.invalid/a?token=hunter2';
    expect((await api.call('PATCH', '/v1/agents/audited', { body: { endpoint } })).body).toMatchObject({ endpoint });
    const audit = await api.call<{ items: { details: object }[] }>('GET', '/v1/audit?target=audited');
    expect(audit.body.items[0]?.details).toEqual({ endpoint: 'https://agent.invalid/a?…' });
  });

  it('A13 stores the endpoint of a webhook in normal form', async () => {
    const body = { url: 'https://Hooks.invalid:443/a/../b' };
    expect((await api.call('POST', '/v1/webhooks', { body })).body).toMatchObject({ url: 'https://hooks.invalid/b' });
  });
});

describe('the documentation page', () => {
  it('A17 returns 404 for files that it does not need and for paths outside its folder', async () => {
    for (const path of [
      '/docs/../../package.json',
      '/docs/../package.json',
      '/docs/..%2f..%2fpackage.json',
      '/docs/%2e%2e/package.json',
      '/docs/package.json',
      '/%64ocs/package.json',
      '/docs/absolute-path.js',
      '/docs/swagger-ui.js.map',
      '/docs//etc/passwd',
    ])
      expect({ path, status: await statusOf(path) }).toEqual({ path, status: 404 });
  });

  it('A17 serves the files that the page needs', async () => {
    for (const path of [
      '/docs',
      '/docs/',
      '/docs/swagger-ui.css',
      '/docs/swagger-ui-bundle.js',
      '/docs/swagger-ui-init.js',
    ])
      expect({ path, status: await statusOf(path) }).toEqual({ path, status: 200 });
  });

  it('A21 allows no inline script and stores no key in the browser', async () => {
    const page = await fetch(`${api.url}/docs`);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self';");
    expect(await page.text()).not.toMatch(/<script(?![^>]*src)/);
    expect(await (await fetch(`${api.url}/docs/swagger-ui-init.js`)).text()).toContain('"persistAuthorization": false');
  });
});

/** Sends the path unchanged; `fetch` would normalise it. */
async function statusOf(path: string): Promise<number> {
  const answer = await rawHttp(api.url, `GET ${path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`);
  return Number(answer.split(' ')[1]);
}
