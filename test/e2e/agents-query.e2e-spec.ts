import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';

interface Ranking {
  candidates: { marks: string[]; agent: { agentId: string } }[];
}

const FLEET = {
  cheap: {
    capabilities: ['code.build'],
    sandboxLevel: 1,
    provider: { adapter: 'copilot', type: 'subscription', plan: 'business' },
    costModel: { usdPerTask: 0 },
    budget: { totalTokens: 100_000, usedTokens: 70_000 },
    labels: { team: 'platform', zone: 'eu' },
  },
  middle: {
    capabilities: ['coding.build', 'review'],
    sandboxLevel: 2,
    provider: { adapter: 'openai', type: 'api' },
    costModel: { usdPer1kTokens: 0.003 },
    labels: { team: 'platform' },
  },
  dear: {
    capabilities: ['code', 'deploy'],
    sandboxLevel: 3,
    provider: { adapter: 'openai', type: 'api', plan: 'tier-4' },
    costModel: { usdPerTask: 2 },
    labels: { team: 'data' },
  },
};

let api: TestApi;
beforeAll(async () => {
  api = await startApi(
    { ROLLCALL_CAPABILITY_ALIASES: '{"coding":"code"}' },
    { constants: { budgets: { low: { fraction: 0.5 } } } },
  );
  for (const [agentId, spec] of Object.entries(FLEET)) await api.given.agent({ agentId, ...spec });
  await until('all agents are found', async () => (await found({})).length === 3);
});
afterAll(async () => await api.stop());

async function ask(body: object): Promise<Ranking> {
  const { status, body: ranking } = await api.call<Ranking>('POST', '/v1/agents/query', { body });
  expect(status).toBe(200);
  return ranking;
}

const found = async (body: object): Promise<string[]> =>
  (await ask(body)).candidates.map(({ agent }) => agent.agentId).toSorted();

describe('a query', () => {
  it.each([
    [{ capabilities: ['code'] }, ['cheap', 'dear', 'middle']],
    [{ capabilities: ['coding.build'] }, ['cheap', 'middle']],
    [{ capabilities: ['code', 'review'] }, ['middle']],
    [{ any: ['review', 'deploy'] }, ['dear', 'middle']],
    [{ capabilities: ['code'], none: ['deploy'] }, ['cheap', 'middle']],
    [{ filter: { provider: { adapter: 'openai' } } }, ['dear', 'middle']],
    [{ filter: { provider: { type: 'subscription' } } }, ['cheap']],
    [{ filter: { provider: { plan: 'tier-4' } } }, ['dear']],
    [{ filter: { sandboxLevel: 2 } }, ['middle']],
    [{ filter: { sandboxLevel: { min: 2 } } }, ['dear', 'middle']],
    [{ filter: { sandboxLevel: { max: 2 } } }, ['cheap', 'middle']],
    [{ filter: { sandboxLevel: { min: 2, max: 2 } } }, ['middle']],
    [{ filter: { maxUsdPerTask: 1 } }, ['cheap', 'middle']],
    [{ filter: { maxUsdPer1kTokens: 0.001 } }, ['cheap', 'dear']],
    [{ filter: { minRemainingTokens: 50_000 } }, ['dear', 'middle']],
    [{ filter: { labels: { team: 'platform' } } }, ['cheap', 'middle']],
    [{ filter: { labels: { team: 'platform', zone: 'eu' } } }, ['cheap']],
    [{ capabilities: ['reviw'], fuzzy: true }, ['middle']],
    [{ capabilities: ['code'], limit: 1 }, ['middle']],
  ])('S3.6 the query %j finds %j, from memory and from Postgres', async (query, expected) => {
    expect(await found(query)).toEqual(expected);
    expect(await found({ ...query, consistency: 'strong' })).toEqual(expected);
  });

  it('S3.10 marks an agent as low_budget when less than the configured share remains', async () => {
    const { candidates } = await ask({ capabilities: ['code.build'] });
    expect(candidates.map(({ marks, agent }) => [agent.agentId, marks])).toEqual([
      ['middle', []],
      ['cheap', ['low_budget']],
    ]);
  });

  it('S3.12 uses the same capability rules as the list of agents', async () => {
    const list = async (capability: string): Promise<string[]> => {
      const path = `/v1/agents?capability=${encodeURIComponent(capability)}`;
      return (await api.call<{ items: { agentId: string }[] }>('GET', path)).body.items.map(({ agentId }) => agentId);
    };
    expect(await list('Code')).toEqual(['cheap', 'dear', 'middle']);
    expect(await list('coding.build')).toEqual(['cheap', 'middle']);
    expect(await list('nothing')).toEqual([]);
  });
});

describe('operators', () => {
  it('S3.3 an operator drains an agent, which leaves with the reason drained, and quarantines and evicts another agent', async () => {
    const { leaseToken: key } = await api.given.agent({ agentId: 'tired', capabilities: ['leave'] });
    await api.given.agent({ agentId: 'bad', capabilities: ['leave'] });
    expect((await api.call('POST', '/v1/agents/tired/drain', { body: {} })).body).toMatchObject({ status: 'draining' });
    expect((await api.call('DELETE', '/v1/agents/tired?generation=1&reason=shutdown', { key })).status).toBe(204);
    expect(
      (await api.call('POST', '/v1/agents/bad/quarantine', { body: { evict: true, note: 'x' } })).body,
    ).toMatchObject({
      status: 'left',
      leaveReason: 'quarantined',
    });
    expect((await api.call('GET', '/v1/agents/tired')).body).toMatchObject({ leaveReason: 'drained' });
    expect((await api.call('POST', '/v1/agents/bad/quarantine', { body: { evict: 'yes' } })).status).toBe(400);
  });

  it('B4 an operator deregisters an agent without its generation, and the audit log records it', async () => {
    await api.given.agent({ agentId: 'foundling', capabilities: ['leave'] });
    expect((await api.call('DELETE', '/v1/agents/foundling', { key: await api.given.key('operator') })).status).toBe(
      204,
    );
    const { items } = (await api.call<{ items: object[] }>('GET', '/v1/audit?target=foundling')).body;
    expect(items).toMatchObject([{ action: 'agent.deregistered' }]);
  });
});
