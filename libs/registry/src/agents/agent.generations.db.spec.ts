import { TwoReplicas } from '../testing/index.js';

let replicas: TwoReplicas;
beforeEach(async () => (replicas = await TwoReplicas.start()));
afterEach(async () => await replicas.stop());

/** Prunes all agents that have left, as if they had left a year ago. */
async function pruneAll(): Promise<void> {
  await replicas.database.db.query(`UPDATE agent SET left_at = left_at - interval '1 year' WHERE left_at IS NOT NULL`);
  await replicas.here.agents.prune(60_000);
}

describe('the generations of an agentId', () => {
  it('B4 generations continue after the history is pruned, so that writes with an old generation are still rejected', async () => {
    const { here } = replicas;
    const first = await replicas.given.agent({ agentId: 'a-1' });
    const { leaseToken } = first;
    await here.agents.remove('a-1', 'evicted');
    await pruneAll();
    const next = await replicas.given.agent({ agentId: 'a-1', leaseToken });
    expect(next.record.generation).toBe(2);
    expect(next.leaseToken).not.toBe(leaseToken);
    expect(await here.heartbeats.beatAll([first.credential])).toMatchObject([
      { ok: false, error: { code: 'LEASE_TOKEN_REFUSED' } },
    ]);
    const old = { ...next.credential, generation: 1 };
    expect(await here.heartbeats.beatAll([old])).toMatchObject([{ ok: false, error: { code: 'STALE_GENERATION' } }]);
    await expect(here.agents.update(old, { name: 'ghost' })).rejects.toMatchObject({
      code: 'STALE_GENERATION',
    });
    await expect(here.agents.deregister({ agentId: 'a-1', generation: 1, tokenHash: null })).rejects.toMatchObject({
      code: 'STALE_GENERATION',
    });
  });

  it('B4 an agent that registers again after pruning gets a higher generation, so directories do not ignore it as outdated', async () => {
    const { here } = replicas;
    const { leaseToken } = await replicas.given.agent({ agentId: 'a-1' });
    await replicas.given.agent({ agentId: 'a-1', leaseToken });
    await here.agents.remove('a-1', 'evicted');
    await here.sync.idle();
    await pruneAll();
    await replicas.given.agent({ agentId: 'a-1' });
    await here.sync.idle();
    const { candidates } = here.ranker.rank({ capabilities: ['build'] }, here.clock.now());
    expect(candidates.map(({ agent }) => agent.agentId)).toEqual(['a-1']);
  });

  it('B4 generations start at 1 in a registry without pruned agents, and never decrease', async () => {
    const { here, there } = replicas;
    for (const agentId of ['a-1', 'a-2']) expect((await replicas.given.agent({ agentId })).record.generation).toBe(1);
    for (let generation = 1; generation < 4; generation++) {
      await here.agents.remove('a-1', 'evicted');
      await replicas.given.agent({ agentId: 'a-1' });
    }
    await here.agents.remove('a-1', 'evicted');
    await here.agents.remove('a-2', 'evicted');
    await replicas.database.db.query(`UPDATE agent SET left_at = left_at - interval '1 year'`);
    await Promise.all([here.agents.prune(60_000), there.agents.prune(60_000)]);
    expect((await replicas.given.agent({ agentId: 'a-1' })).record.generation).toBe(5);
  });
});

describe('two concurrent registrations with one lease token', () => {
  it('S3.2 two concurrent registrations with one lease token get two generations, and each replaced generation leaves with the reason "replaced"', async () => {
    const { here, there } = replicas;
    for (let round = 0; round < 10; round++) {
      const agentId = `twin-${round}`;
      const { leaseToken } = await replicas.given.agent({ agentId });
      await Promise.all([here, there].map(async (at) => await at.given.agent({ agentId, leaseToken })));
    }
    const byAgent = Map.groupBy(await replicas.loggedEvents('agent.joined', 'agent.left'), ({ subject }) => subject);
    const histories = [...byAgent.values()].map((events) => events.map(({ type, data }) => [type, data]));
    expect(histories).toHaveLength(10);
    for (const history of histories) {
      expect(history).toMatchObject([
        ['agent.joined', { generation: 1 }],
        ['agent.left', { generation: 1, reason: 'replaced' }],
        ['agent.joined', { generation: 2 }],
        ['agent.left', { generation: 2, reason: 'replaced' }],
        ['agent.joined', { generation: 3 }],
      ]);
    }
  });
});
