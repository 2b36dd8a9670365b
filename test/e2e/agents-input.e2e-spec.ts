import type { Registration } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { registrationBody } from '../support/given.js';
import { refusal } from '../support/socket-client.js';

let api: TestApi;
let agentKey: string;
beforeAll(async () => {
  api = await startApi({ DATABASE_URL: 'postgresql://elsewhere/rollcall', ROLLCALL_EGRESS_ALLOW: '10.7.0.0/16' });
  agentKey = await api.given.key('agent');
});
afterAll(async () => await api.stop());

async function register(body: object = {}): Promise<Answer<Registration>> {
  return await api.call<Registration>('POST', '/v1/agents', { key: agentKey, body: registrationBody(body) });
}

async function beat(agent: Registration, body: object): Promise<Answer> {
  return await api.call('POST', `/v1/agents/${agent.agentId}/heartbeat`, { key: agent.leaseToken, body });
}

describe('a registration', () => {
  it.each([
    ['a blank name', { name: '   ' }],
    ['a name that is not a string', { name: 7 }],
    ['a capability in two spellings', { capabilities: ['code build', 'CODE_build'] }],
    ['a capability of punctuation only', { capabilities: ['__'] }],
    ['a capability that ends in a dot', { capabilities: ['code.'] }],
    ['a capability with a line break', { capabilities: ['a\nb'] }],
    ['a capability with a comma, which separates capabilities in events', { capabilities: ['build,deploy'] }],
    ['201 capabilities', { capabilities: Array.from({ length: 201 }, (_, index) => `c${index}`) }],
    ['a price that is too large', { costModel: { usdPer1kTokens: 1e300 } }],
    ['a price that is a string', { costModel: { usdPerTask: '1' } }],
    ['a negative budget', { budget: { totalTokens: -1 } }],
    ['a fraction of a token', { budget: { totalTokens: 0.5 } }],
    ['a capacity of 0', { capacity: 0 }],
    ['a card that is a list', { agentCard: [] }],
    ['an agentId of 129 characters', { agentId: 'a'.repeat(129) }],
    ['an agentId that is the name of a route', { agentId: 'query' }],
    ['an invalid lease token', { agentId: 'a', leaseToken: 'rk_x' }],
    ['an empty endpoint', { endpoint: '' }],
    ['a capability with a control character', { capabilities: ['\u0007build'] }],
    ['a capability of 17 levels', { capabilities: [many(17).join('.')] }],
  ])('S3.2 rejects a registration with %s', async (_what, body) => {
    expect(await register(body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it.each([
    'http://localhost:5091',
    'http://agent.localhost/',
    'http://127.0.0.1:5091',
    'http://[::1]/',
    'http://2130706433/',
    'https://user:secret@agent.example/',
    'https://agent.example:22/',
    'javascript:alert(1)',
  ])('S3.2 rejects a registration with the endpoint %s when an external Postgres is used', async (endpoint) => {
    const answer = await register({ endpoint });
    expect(answer).toMatchObject({ status: 400, body: { code: 'EGRESS_DENIED' } });
    expect(JSON.stringify(answer.body)).not.toContain('secret');
  });

  it('S3.2 rejects an endpoint in a forbidden network, and the error names the setting that allows the network', async () => {
    const { body } = await register({ endpoint: 'http://10.8.0.1:5091' });
    expect(JSON.stringify(body)).toContain('ROLLCALL_EGRESS_ALLOW');
    expect((await register({ endpoint: 'http://10.7.0.1:5091' })).status).toBe(201);
  });

  it('S3.2 accepts an endpoint whose host name does not resolve yet', async () => {
    expect((await register({ endpoint: 'https://not-yet.invalid:5091' })).status).toBe(201);
  });
});

describe('a heartbeat', () => {
  it.each([
    ['without a generation', {}],
    ['with a timestamp', { generation: 1, at: '2099-01-01T00:00:00Z' }],
    ['with generation 0', { generation: 0 }],
    ['with a generation that is too large', { generation: 1e300 }],
    ['with a negative load', { generation: 1, load: -1 }],
    ['with a fraction of a task', { generation: 1, inFlight: 1.5 }],
    ['that is a list', []],
  ])('S3.4 rejects a heartbeat %s', async (_what, body) => {
    const { body: agent } = await register();
    expect(await beat(agent, body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it('S3.4 a heartbeat with a generation that does not exist yet is rejected with GENERATION_AHEAD', async () => {
    const { body: agent } = await register();
    const { status, body } = await beat(agent, { generation: 2 });
    expect({ status, code: body['code'] }).toEqual({ status: 409, code: 'GENERATION_AHEAD' });
    expect(body['detail']).toContain('no generation 2 yet');
  });

  it('S3.4 a heartbeat with the smallest numbers does not make other heartbeats of the same batch fail', async () => {
    const agents = await Promise.all(Array.from({ length: 5 }, async () => (await register()).body));
    const tiny = { generation: 1, load: 1e-60, latencyMs: 5e-324 };
    const answers = await Promise.all(
      agents.map(async (agent, index) => await beat(agent, index === 0 ? tiny : { generation: 1 })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  it('S3.4 rejects a heartbeat of an unknown or evicted agent, with the token of another agent or with an old generation, each with its own code', async () => {
    const { body: agent } = await register({ agentId: 'known' });
    const { body: next } = await register({ agentId: 'known', leaseToken: agent.leaseToken });
    const { body: evicted } = await register({ agentId: 'evicted' });
    await api.call('POST', '/v1/agents/evicted/evict');
    const answers = [
      await beat({ ...agent, agentId: 'unknown' }, { generation: 1 }),
      await beat(evicted, { generation: 1 }),
      await beat({ ...next, leaseToken: evicted.leaseToken }, { generation: 2 }),
      await beat(agent, { generation: 1 }),
      await beat(next, { generation: 2 }),
    ];
    expect(answers.map(({ status, body }) => [status, body['code']])).toEqual([
      [404, 'REGISTER_AGAIN'],
      [404, 'REGISTER_AGAIN'],
      [403, 'LEASE_TOKEN_REFUSED'],
      [409, 'STALE_GENERATION'],
      [200, undefined],
    ]);
  });
});

describe('an earlier generation', () => {
  it('B4 an earlier generation cannot repeat any of its requests after the agent has registered again', async () => {
    const { body: first } = await register({ agentId: 'phoenix' });
    const path = '/v1/agents/phoenix';
    const recorded = [
      ...Array.from(
        { length: 20 },
        (_, inFlight) => ['POST', `${path}/heartbeat`, { generation: 1, inFlight }] as const,
      ),
      ['PATCH', path, { generation: 1, name: 'ghost' }] as const,
      ['PATCH', path, { generation: 1, capabilities: ['haunt'] }] as const,
      ['DELETE', `${path}?generation=1`, undefined] as const,
      ['DELETE', `${path}?generation=1&reason=shutdown`, undefined] as const,
    ];
    await register({ agentId: 'phoenix', leaseToken: first.leaseToken });
    const before = await api.call('GET', path);
    for (const [method, address, body] of recorded) {
      const answer = await api.call(method, address, { key: first.leaseToken, body });
      expect(answer).toMatchObject({ status: 409, body: { code: 'STALE_GENERATION' } });
    }
    expect((await api.call('GET', path)).body).toEqual(before.body);
  });
});

describe('an update', () => {
  it('B4 rejects an update with a lease token but without a generation, whether the generation is missing or null', async () => {
    const { body: first } = await register({ agentId: 'amnesiac' });
    await register({ agentId: 'amnesiac', leaseToken: first.leaseToken });
    for (const body of [{ name: 'ghost' }, { generation: null, name: 'ghost' }]) {
      const answer = await api.call('PATCH', '/v1/agents/amnesiac', { key: first.leaseToken, body });
      expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    }
    expect((await api.call('PATCH', '/v1/agents/amnesiac', { body: { generation: null, name: 'x' } })).status).toBe(
      200,
    );
  });

  it('S3.2 rejects an update with an empty endpoint', async () => {
    const { body: agent } = await register();
    const answer = await api.call('PATCH', `/v1/agents/${agent.agentId}`, { body: { endpoint: '' } });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });
});

describe('a batch of heartbeats', () => {
  it.each([
    ['without items', { beats: [] }],
    [
      'of 1,001 items',
      { beats: Array.from({ length: 1_001 }, () => ({ agentId: 'a', generation: 1, leaseToken: 'rl_x' })) },
    ],
    ['without the list', {}],
  ])('S3.4 rejects a batch of heartbeats %s', async (_what, body) => {
    const answer = await api.call('POST', '/v1/heartbeats', { key: agentKey, body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it('S3.4 rejects each invalid heartbeat of a batch and accepts the others, with the results in their order', async () => {
    const [{ body: one }, { body: other }] = [await register(), await register()];
    const beatOf = ({ agentId, generation, leaseToken }: Registration): object => ({ agentId, generation, leaseToken });
    const beats = [null, beatOf(one), { ...beatOf(one), generation: '1', mood: 'fine' }, beatOf(other), {}, 7, []];
    const answer = await api.call<{ results: object[] }>('POST', '/v1/heartbeats', { key: agentKey, body: { beats } });
    expect(answer.status).toBe(200);
    const rejected = { ok: false, code: 'VALIDATION_FAILED' };
    expect(answer.body.results).toMatchObject([
      rejected,
      { agentId: one.agentId, ok: true },
      {
        ...rejected,
        agentId: one.agentId,
        detail: expect.stringMatching(/generation must be .*; mood is not a known/),
      },
      { agentId: other.agentId, ok: true },
      { ...rejected, agentId: '' },
      rejected,
      rejected,
    ]);
  });
});

describe('a query', () => {
  it.each([
    ['an unknown strategy', { prefer: 'prettiest' }, 'UNKNOWN_STRATEGY'],
    ['a limit of 0', { limit: 0 }, 'VALIDATION_FAILED'],
    ['a limit of 101', { limit: 101 }, 'VALIDATION_FAILED'],
    ['an empty capability', { capabilities: [''] }, 'VALIDATION_FAILED'],
    ['a capability of punctuation only', { capabilities: ['..'] }, 'INVALID_QUERY'],
    ['40 capabilities in three lists', { capabilities: many(20), any: many(10), none: many(10) }, 'INVALID_QUERY'],
    ['a negative price', { filter: { maxUsdPerTask: -1 } }, 'VALIDATION_FAILED'],
    ['a minimum above the maximum', { filter: { sandboxLevel: { min: 3, max: 2 } } }, 'VALIDATION_FAILED'],
    ['an empty range', { filter: { sandboxLevel: {} } }, 'VALIDATION_FAILED'],
    ['a fraction of a level', { filter: { sandboxLevel: 1.5 } }, 'VALIDATION_FAILED'],
    ['an unknown filter', { filter: { colour: 'red' } }, 'VALIDATION_FAILED'],
    ['labels that are not strings', { filter: { labels: { team: 7 } } }, 'VALIDATION_FAILED'],
    ['an unknown consistency', { consistency: 'eventual' }, 'VALIDATION_FAILED'],
  ])('S3.6 rejects a query with %s', async (_what, body, code) => {
    expect(await api.call('POST', '/v1/agents/query', { body })).toMatchObject({ status: 400, body: { code } });
  });

  it.each([
    ['every list', { capabilities: null, any: null, none: null }],
    ['the filter', { filter: null }],
    ['the provider', { filter: { provider: null } }],
    ['every part of a provider', { filter: { provider: { adapter: null, type: null, plan: null } } }],
    ['the sandbox level', { filter: { sandboxLevel: null } }],
    ['the limits of price and budget', { filter: { maxUsdPerTask: null, minRemainingTokens: null } }],
    ['the labels', { filter: { labels: null } }],
    ['every single value', { prefer: null, limit: null, explain: null, fuzzy: null, consistency: null }],
  ])('S3.6 in a query, null for %s has the same effect as no value', async (_what, body) => {
    const strong = { consistency: 'strong' };
    const without = await api.call('POST', '/v1/agents/query', { body: strong });
    const withNull = await api.call('POST', '/v1/agents/query', { body: { ...strong, ...body } });
    expect(withNull.status).toBe(200);
    expect(withNull.body).toEqual(without.body);
  });
});

describe('an invalid agentId', () => {
  it('S3.1 rejects an invalid agentId as a cursor of the list of agents', async () => {
    const cursor = Buffer.from('agents:\0').toString('base64url');
    expect(await api.call('GET', `/v1/agents?cursor=${cursor}`)).toMatchObject({
      status: 400,
      body: { code: 'CURSOR_INVALID' },
    });
  });

  it('B4 the WebSocket of agents rejects an invalid agentId', async () => {
    const { body: agent } = await register();
    const key = agent.leaseToken;
    const refused = await refusal(api.url, '/v1/agents/ws?agentId=%00&generation=1', { key });
    expect(refused).toEqual({ status: 400, code: 'VALIDATION_FAILED' });
  });
});

describe('a deregistration', () => {
  it('S3.3 a deregistration gets 404 if the agent is unknown, and 400 if the reason is unknown or the generation is missing', async () => {
    const { body: agent } = await register();
    const leave = async (id: string, query: string): Promise<Answer> =>
      await api.call('DELETE', `/v1/agents/${id}${query}`, { key: agent.leaseToken });
    expect(await leave('nobody', '?generation=1')).toMatchObject({ status: 404, body: { code: 'AGENT_NOT_FOUND' } });
    expect((await leave(agent.agentId, '?generation=1&reason=bored')).status).toBe(400);
    expect((await leave(agent.agentId, '')).status).toBe(400);
    expect((await leave(agent.agentId, '?generation=1&reason=shutdown')).status).toBe(204);
    expect((await api.call('GET', `/v1/agents/${agent.agentId}`)).body).toMatchObject({ leaveReason: 'shutdown' });
  });
});

function many(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `c${index}`);
}
