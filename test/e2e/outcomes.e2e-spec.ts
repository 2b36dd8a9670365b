import { type CloudEvent } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

interface Outcome {
  number: number;
  ok: boolean;
  latencyMs: number | null;
  reporter: { id: string; name: string };
}
interface OutcomePage {
  items: Outcome[];
  nextCursor: string | null;
}
interface Candidates {
  candidates: { agent: { agentId: string; latency: { observedMs: number | null } } }[];
}

let api: TestApi;
let other: TestApi;
let key: string;
let otherKey: string;

beforeAll(async () => {
  api = await startApi();
  other = await api.replica();
  [key, otherKey] = [await api.given.key('caller'), await api.given.key('caller', 'agent')];
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

const report = async (agentId: string, body: object, by: string | null = key, at = api): Promise<Answer> =>
  await at.call('POST', `/v1/agents/${agentId}/outcomes`, { key: by, body });
const list = async (agentId: string, query = '', at = api): Promise<Answer<OutcomePage>> =>
  await at.call<OutcomePage>('GET', `/v1/agents/${agentId}/outcomes${query}`, { key: otherKey });
const idOf = async (by: string): Promise<string> => String((await api.call('GET', '/v1/me', { key: by })).body['id']);

describe('the outcomes of an agent', () => {
  it('are listed with their reporters, newest first, in pages', async () => {
    await api.given.agent({ agentId: 'listed' });
    await report('listed', { ok: true, latencyMs: 12.5 });
    await report('listed', { ok: false, latencyMs: null }, otherKey, other);
    await report('listed', { ok: true });
    const [first, second] = [await idOf(key), await idOf(otherKey)];
    const page = await list('listed', '?limit=2');
    expect(page.body.items).toMatchObject([
      { number: 3, ok: true, latencyMs: null, reporter: { id: first, name: 'caller' } },
      { number: 2, ok: false, latencyMs: null, reporter: { id: second, name: 'caller+agent' } },
    ]);
    const rest = await list('listed', `?limit=2&cursor=${page.body.nextCursor}`, other);
    expect(rest.body).toMatchObject({ items: [{ number: 1, ok: true, latencyMs: 12.5 }], nextCursor: null });
  });

  it('are an empty list for an agent without outcomes, and are not found for an unknown agent', async () => {
    await api.given.agent({ agentId: 'unused' });
    expect(await list('unused')).toMatchObject({ status: 200, body: { items: [], nextCursor: null } });
    expect(await list('unknown')).toMatchObject({ status: 404, body: { code: 'AGENT_NOT_FOUND' } });
    expect(await list('unused', '?cursor=eA')).toMatchObject({ status: 400, body: { code: 'CURSOR_INVALID' } });
  });

  it.each([[-1], [1e9 + 1], ['12'], [{}]])('a latency of %j is rejected', async (latencyMs) => {
    expect(await report('unused', { ok: true, latencyMs })).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED' },
    });
  });

  it('a repeated request with the same Idempotency-Key counts once', async () => {
    await api.given.agent({ agentId: 'once' });
    const send = async (at: TestApi): Promise<Answer> =>
      await at.call('POST', '/v1/agents/once/outcomes', {
        key,
        body: { ok: false },
        headers: { 'idempotency-key': 'outcome-1' },
      });
    expect((await send(api)).body).toEqual((await send(other)).body);
    expect((await list('once')).body.items).toHaveLength(1);
  });
});

describe('two callers on two replicas', () => {
  it('circuit.opened names both callers with the number of their failures', async () => {
    await api.given.agent({ agentId: 'flaky' });
    for (let count = 0; count < 2; count++) await report('flaky', { ok: false });
    for (let count = 0; count < 3; count++) await report('flaky', { ok: false }, otherKey, other);
    const opened = async (): Promise<CloudEvent[]> =>
      (await api.call<{ items: CloudEvent[] }>('GET', '/v1/events?types=circuit.opened&agentIds=flaky')).body.items;
    await until('the event is logged', async () => (await opened()).length === 1);
    expect((await opened())[0]?.data).toMatchObject({
      consecutiveFailures: 5,
      reporters: [
        { id: await idOf(otherKey), name: 'caller+agent', failures: 3 },
        { id: await idOf(key), name: 'caller', failures: 2 },
      ],
    });
  });

  it('both replicas return the same observed latency and rank by it', async () => {
    for (const agentId of ['fast', 'slow']) await api.given.agent({ agentId, capabilities: ['measured'] });
    for (const latencyMs of [10, 20]) await report('fast', { ok: true, latencyMs });
    for (const latencyMs of [400, 900]) await report('slow', { ok: true, latencyMs }, otherKey, other);
    const get = async (at: TestApi): Promise<unknown> => (await at.call('GET', '/v1/agents/slow')).body['latency'];
    expect([await get(api), await get(other)]).toEqual([
      { declaredMs: null, observedMs: 500 },
      { declaredMs: null, observedMs: 500 },
    ]);
    const ranked = async (at: TestApi): Promise<unknown> => {
      const body = { capabilities: ['measured'], prefer: 'fastest' };
      const answer = await at.call<Candidates>('POST', '/v1/agents/query', { key, body });
      return answer.body.candidates.map(({ agent }) => [agent.agentId, agent.latency.observedMs]);
    };
    const expected = JSON.stringify([
      ['fast', 12],
      ['slow', 500],
    ]);
    for (const at of [api, other])
      await until('the replica knows both latencies', async () => JSON.stringify(await ranked(at)) === expected);
  });
});
