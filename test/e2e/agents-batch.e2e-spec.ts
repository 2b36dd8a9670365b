import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

interface Result {
  status: number;
  registration?: { agentId: string; generation: number; leaseToken: string; agent: { name: string } };
  problem?: { code: string; status: number; errors?: { field: string }[] };
}

let api: TestApi;
let key: string;
beforeAll(async () => void (api = await startApi({ ROLLCALL_QUOTAS: 'agents=1200' })));
beforeEach(async () => void (key = await api.given.key('agent')));
afterAll(async () => await api.stop());

const agent = (agentId: string, more: object = {}): object => ({
  agentId,
  name: agentId,
  capabilities: ['x'],
  ...more,
});

async function send(agents: unknown, headers: Record<string, string> = {}): Promise<Answer<{ results: Result[] }>> {
  return await api.call('POST', '/v1/agents/batch', { key, headers, body: { agents } });
}

async function register(...agents: object[]): Promise<Result[]> {
  const { status, body } = await send(agents);
  expect(status).toBe(200);
  return body.results;
}

const statuses = (results: readonly Result[]): number[] => results.map(({ status }) => status);
const codes = (results: readonly Result[]): (string | undefined)[] => results.map(({ problem }) => problem?.code);

describe('a batch of registrations', () => {
  it('registers each agent with a valid lease token and an event', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `many-${index}`);
    const results = await register(...names.map((name) => agent(name)));
    expect(results.map(({ registration }) => registration?.agentId)).toEqual(names);
    const beats = results.map(({ registration }) => ({
      agentId: registration?.agentId,
      generation: registration?.generation,
      leaseToken: registration?.leaseToken,
    }));
    const beaten = await api.call<{ results: { ok: boolean }[] }>('POST', '/v1/heartbeats', { key, body: { beats } });
    expect(beaten.body.results.every(({ ok }) => ok)).toBe(true);
    await until('all events are in the log', async () => {
      const { body } = await api.call<{ items: { subject: string }[] }>(
        'GET',
        '/v1/events?types=agent.joined&limit=500',
      );
      const joined = new Set(body.items.map(({ subject }) => subject));
      return names.every((name) => joined.has(name));
    });
  });

  it('returns the response of the single route for each registration, and a problem for each rejected registration', async () => {
    const [first] = await register(agent('taken'));
    key = await api.given.key('agent');
    const results = await register(
      agent('free'),
      agent('taken'),
      agent('taken', { leaseToken: first?.registration?.leaseToken }),
      agent('invalid', { capabilities: [], unknown: 1 }),
      agent('closed', { endpoint: 'https://169.254.169.254/latest' }),
      agent('batch'),
    );
    expect(statuses(results)).toEqual([201, 409, 201, 400, 400, 400]);
    expect(codes(results)).toEqual([
      undefined,
      'AGENT_ALREADY_REGISTERED',
      undefined,
      'VALIDATION_FAILED',
      'EGRESS_DENIED',
      'VALIDATION_FAILED',
    ]);
    expect(results[2]?.registration).toMatchObject({ agentId: 'taken', generation: 2, agent: { name: 'taken' } });
    expect(results[3]?.problem?.errors?.map(({ field }) => field).toSorted()).toEqual(['capabilities', 'unknown']);
    for (const id of ['invalid', 'closed']) expect((await api.call('GET', `/v1/agents/${id}`)).status).toBe(404);
  });

  it('processes registrations of one agentId in their order', async () => {
    const results = await register(
      agent('twice', { name: 'first' }),
      agent('other'),
      agent('twice', { name: 'second' }),
    );
    expect(codes(results)).toEqual([undefined, undefined, 'AGENT_ALREADY_REGISTERED']);
    expect((await api.call('GET', '/v1/agents/twice')).body).toMatchObject({ name: 'first', generation: 1 });
  });

  it('A6 registers up to the quota and rejects the rest', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => agent(`quota-${index}`));
    expect(new Set(statuses(await register(...names)))).toEqual(new Set([201]));
    const more = await register(...Array.from({ length: 300 }, (_, index) => agent(`more-${index}`)));
    const counted = Map.groupBy(codes(more), (code) => code ?? 'registered');
    expect(counted.get('registered')).toHaveLength(200);
    expect(counted.get('QUOTA_EXCEEDED')).toHaveLength(100);
    const single = await api.call('POST', '/v1/agents', { key, body: agent('single') });
    expect(single).toMatchObject({ status: 403, body: { code: 'QUOTA_EXCEEDED' } });
  });

  it('a batch has one effect for one Idempotency-Key, even with duplicates and invalid registrations', async () => {
    const agents = [agent('once'), agent('once'), agent('never', { capabilities: 'x' })];
    const headers = { 'idempotency-key': 'batch-1' };
    const first = await send(agents, headers);
    expect(codes(first.body.results)).toEqual([undefined, 'AGENT_ALREADY_REGISTERED', 'VALIDATION_FAILED']);
    const again = await send(agents, headers);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect((await api.call('GET', '/v1/agents/once')).body).toMatchObject({ generation: 1 });
    expect(await send([agent('else')], headers)).toMatchObject({
      status: 422,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
  });

  it('rejects a batch as a whole when it is not a list of 1 to 1,000 objects', async () => {
    const tooMany = Array.from({ length: 1_001 }, (_, index) => agent(`x-${index}`));
    for (const agents of [undefined, 'x', {}, [], [1], [agent('ok'), null], tooMany]) {
      expect(await send(agents)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    }
    expect((await api.call('GET', '/v1/agents/ok')).status).toBe(404);
  });

  it('requires the permission of a single registration, and has the body limit of a batch', async () => {
    const viewer = await api.given.key('viewer');
    const refused = await api.call('POST', '/v1/agents/batch', { key: viewer, body: { agents: [agent('no')] } });
    expect(refused).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    const large = await api.call('POST', '/v1/agents/batch', { key, body: `"${'x'.repeat(1 << 20)}"` });
    expect(large).toMatchObject({ status: 413, body: { code: 'BODY_TOO_LARGE' } });
  });
});
