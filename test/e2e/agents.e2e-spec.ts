import { until } from '#rollcall/test-support';
import type { Registration } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

interface RegistrationAnswer extends Registration {
  heartbeat: { intervalMs: number; leaseMs: number };
}

interface Candidate {
  marks: string[];
  agent: { agentId: string };
}

interface Ranking {
  candidates: Candidate[];
  retryAfterMs: number | null;
  excluded?: { agentId: string; exclusions: { code: string }[] }[];
}

let api: TestApi;
let agentKey: string;
let callerKey: string;
beforeEach(async () => {
  api = await startApi();
  agentKey = await api.given.key('agent');
  callerKey = await api.given.key('caller');
});
afterEach(async () => await api.stop());

const BUILDER = {
  name: 'swarm-builder',
  capabilities: ['build'],
  provider: { adapter: 'copilot', type: 'subscription', plan: 'business' },
  costModel: { usdPerTask: 0 },
  budget: { totalTokens: 500_000, usedTokens: 123_456, source: 'langfuse' },
};

async function register(body: object = {}, at: TestApi = api): Promise<Answer<RegistrationAnswer>> {
  return await at.call<RegistrationAnswer>('POST', '/v1/agents', { key: agentKey, body: { ...BUILDER, ...body } });
}

async function beat(
  { agentId, generation, leaseToken }: Registration,
  body: object = {},
  at: TestApi = api,
): Promise<Answer> {
  return await at.call('POST', `/v1/agents/${agentId}/heartbeat`, { key: leaseToken, body: { generation, ...body } });
}

async function ask(body: object, at: TestApi = api): Promise<Ranking> {
  return (await at.call<Ranking>('POST', '/v1/agents/query', { body })).body;
}

const idsOf = ({ candidates }: Ranking): string[] => candidates.map(({ agent }) => agent.agentId);

describe('an agent', () => {
  it('S3.2 S3.4 S3.3 an agent registers, sends heartbeats and deregisters with its lease token, and the feed has both events', async () => {
    const { status, body: agent } = await register({ agentId: 'builder-01' });
    expect({ status, ...agent.heartbeat }).toEqual({ status: 201, intervalMs: 10_000, leaseMs: 31_000 });
    const beaten = await beat(agent, { inFlight: 2, load: 0.5 });
    expect(beaten.status).toBe(200);
    expect(beaten.body['nextIntervalMs']).toBeLessThanOrEqual(10_000);
    expect((await api.call('GET', '/v1/agents/builder-01')).body).toMatchObject({
      status: 'active',
      load: { inFlight: 2, ratio: 0.5 },
    });
    expect((await api.call('DELETE', '/v1/agents/builder-01?generation=1', { key: agent.leaseToken })).status).toBe(
      204,
    );
    expect(await beat(agent)).toMatchObject({ status: 404, body: { code: 'REGISTER_AGAIN' } });
    await until('the feed has both events', async () => {
      const { body } = await api.call<{ items: { type: string }[] }>('GET', '/v1/events?after=0');
      return body.items.map(({ type }) => type.split('.').slice(-2).join('.')).join() === 'agent.joined,agent.left';
    });
  });

  it('S3.4 rejects the lease token of another agent, an old generation and the API key of another owner', async () => {
    const first = (await register({ agentId: 'mine' })).body;
    const second = (await register({ agentId: 'mine', leaseToken: first.leaseToken })).body;
    expect(second).toMatchObject({ generation: 2, leaseToken: first.leaseToken });
    expect(await beat(first)).toMatchObject({ status: 409, body: { code: 'STALE_GENERATION' } });
    const other = (await register({ agentId: 'other' })).body;
    expect(await beat({ ...second, leaseToken: other.leaseToken })).toMatchObject({
      status: 403,
      body: { code: 'LEASE_TOKEN_REFUSED' },
    });
    expect(await beat({ ...second, leaseToken: await api.given.key('agent') })).toMatchObject({
      status: 403,
      body: { code: 'NOT_THE_OWNER' },
    });
    expect((await beat({ ...second, leaseToken: await api.given.key('viewer') })).status).toBe(403);
    expect(await register({ agentId: 'mine' })).toMatchObject({
      status: 409,
      body: { code: 'AGENT_ALREADY_REGISTERED' },
    });
    expect((await api.call('GET', '/v1/keys', { key: second.leaseToken })).status).toBe(403);
  });

  it.each([
    ['an empty name', { name: '' }],
    ['a name of 10,000 characters', { name: 'x'.repeat(10_000) }],
    ['the same capability twice', { capabilities: ['build', 'Build'] }],
    ['no capability', { capabilities: [] }],
    ['a negative price', { costModel: { usdPerTask: -1 } }],
    ['an agentId with a slash', { agentId: 'a/b' }],
    ['labels that are not strings', { labels: { team: 7 } }],
    ['an unknown field', { colour: 'red' }],
  ])('S3.2 rejects a registration with %s', async (_what, body) => {
    expect(await register(body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it.each(['ftp://x.example/', 'not a url', 'http://169.254.169.254/latest', 'http://10.0.0.1:8080/'])(
    'S3.2 rejects a registration with the endpoint %s',
    async (endpoint) => {
      expect(await register({ endpoint })).toMatchObject({ status: 400, body: { code: 'EGRESS_DENIED' } });
    },
  );

  it('S3.4 an agent can send its heartbeat in a batch, which returns one result for each heartbeat', async () => {
    const one = (await register({ agentId: 'one' })).body;
    const beats = [
      { agentId: 'one', generation: 1, leaseToken: one.leaseToken },
      { agentId: 'ghost', generation: 1, leaseToken: one.leaseToken },
    ];
    const { status, body } = await api.call('POST', '/v1/heartbeats', { key: agentKey, body: { beats } });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      results: [
        { agentId: 'one', ok: true },
        { agentId: 'ghost', ok: false, code: 'REGISTER_AGAIN' },
      ],
    });
  });
});

describe('a query', () => {
  it('S3.6 returns the order of the specification, with the mark low_budget', async () => {
    await register({ agentId: 'builder-03', budget: { totalTokens: 500_000, usedTokens: 488_000 } });
    await register({
      agentId: 'builder-02',
      provider: { adapter: 'openai', type: 'api' },
      costModel: { usdPer1kTokens: 0.003 },
      budget: {},
    });
    await register({ agentId: 'builder-01' });
    await until('all agents are found', async () => (await ask({ capabilities: ['build'] })).candidates.length === 3);
    const ranking = await ask({ capabilities: ['build'], prefer: 'cheapest' });
    expect(idsOf(ranking)).toEqual(['builder-01', 'builder-02', 'builder-03']);
    expect(ranking.candidates[2]?.marks).toContain('low_budget');
  });

  it('S3.7 rejects an unknown strategy and names the known ones', async () => {
    const answer = await api.call('POST', '/v1/agents/query', { body: { prefer: 'prettiest' } });
    expect(answer).toMatchObject({ status: 400, body: { code: 'UNKNOWN_STRATEGY' } });
    expect(answer.body['detail']).toContain('least-loaded');
  });

  it('S3.8 B1 excludes an agent with an open circuit, and returns the reason and the time to retry', async () => {
    await register({ agentId: 'flaky' });
    await until('the agent is found', async () => (await ask({ capabilities: ['build'] })).candidates.length === 1);
    for (let failure = 0; failure < 5; failure++)
      await api.call('POST', '/v1/agents/flaky/outcomes', { key: callerKey, body: { ok: false } });
    await until('the agent is excluded', async () => (await ask({ capabilities: ['build'] })).candidates.length === 0);
    const { retryAfterMs, excluded } = await ask({ capabilities: ['build'], explain: true });
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(excluded).toMatchObject([{ agentId: 'flaky', exclusions: [{ code: 'circuit_open' }] }]);
  });

  it('N8 explains which agents left recently, and why (N3)', async () => {
    await register({ agentId: 'gone' });
    await register({ agentId: 'other', capabilities: ['test'] });
    for (const id of ['gone', 'other']) await api.call('POST', `/v1/agents/${id}/evict`);
    const { candidates, excluded } = await ask({ capabilities: ['build'], explain: true, consistency: 'strong' });
    expect(candidates).toEqual([]);
    expect(excluded).toMatchObject([
      { agentId: 'gone', exclusions: [{ code: 'left', eligibleWhen: { text: 'it registers again' } }] },
    ]);
    expect(JSON.stringify(excluded)).toMatch(/it left \d+ s ago \(evicted\)/);
    const left = await api.call('GET', '/v1/agents/gone');
    expect(left.body).toMatchObject({ status: 'left', health: { state: null } });
    await register({ agentId: 'gone' });
    const { candidates: found, excluded: rest } = await ask({
      capabilities: ['build'],
      explain: true,
      consistency: 'strong',
    });
    expect({ found: found.map(({ agent }) => agent.agentId), rest }).toEqual({ found: ['gone'], rest: [] });
  });

  it('B4 excludes a quarantined agent after it has registered again, and the audit log has the quarantine', async () => {
    const { body: agent } = await register({ agentId: 'bad' });
    const operator = await api.given.key('operator');
    expect(
      (await api.call('POST', '/v1/agents/bad/quarantine', { key: operator, body: { note: 'leaks' } })).status,
    ).toBe(200);
    await register({ agentId: 'bad', leaseToken: agent.leaseToken });
    expect(idsOf(await ask({ capabilities: ['build'], consistency: 'strong' }))).toEqual([]);
    expect((await api.call('POST', '/v1/agents/bad/resume', { key: operator })).body).toMatchObject({
      status: 'active',
    });
    const audit = await api.call<{ items: { action: string }[] }>('GET', '/v1/audit');
    expect(audit.body.items.map(({ action }) => action)).toEqual(['agent.resumed', 'agent.quarantined']);
    expect((await api.call('POST', '/v1/agents/bad/evict', { key: agentKey })).status).toBe(403);
  });
});

describe('replicas', () => {
  it('S3.11 two replicas find an agent that one of them registered, until one of them evicts it', async () => {
    const other = await api.replica();
    await register({ agentId: 'shared' });
    await until('the other replica finds the agent', async () =>
      idsOf(await ask({ capabilities: ['build'] }, other)).includes('shared'),
    );
    expect((await other.call('POST', '/v1/agents/shared/evict')).status).toBe(204);
    await until(
      'no replica finds the agent',
      async () =>
        [...idsOf(await ask({ capabilities: ['build'] })), ...idsOf(await ask({ capabilities: ['build'] }, other))]
          .length === 0,
    );
    await other.stop();
  });

  it('B5 a replica explains self-preservation, and applies the override of an operator', async () => {
    await until(
      'a sweep has run',
      async () => (await api.call('GET', '/v1/registry/protection')).body['explanation'] !== null,
    );
    expect((await api.call('GET', '/v1/registry/protection')).body).toMatchObject({
      override: 'auto',
      explanation: { state: 'normal' },
    });
    expect((await api.call('PUT', '/v1/registry/protection', { body: { override: 'protect' } })).status).toBe(200);
    await until(
      'self-preservation is active',
      async () =>
        ((await api.call('GET', '/v1/registry/protection')).body['explanation'] as { state: string }).state ===
        'protecting',
    );
  });
});
