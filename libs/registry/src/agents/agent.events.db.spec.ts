import type { RegistryEvent } from '#rollcall/platform';
import { leaseTtlMs, suspectAfterMs, DEFAULT_LEASE_POLICY } from '../leases/lease.policy.js';
import { type TestRegistry, TwoReplicas } from '../testing/index.js';

let replicas: TwoReplicas;
let here: TestRegistry;
let there: TestRegistry;

beforeEach(async () => {
  replicas = await TwoReplicas.start({}, { poolSize: 20 });
  ({ here, there } = replicas);
});
afterEach(async () => await replicas.stop());

const lines = (events: RegistryEvent[]): string[] =>
  events.map(({ type, subject, data }) => [type, subject, 'reason' in data ? data.reason : ''].join(' ').trim());

/** Sets the last heartbeat of the agent to `ms` ago, so that the test does not wait. */
async function setSilence(agentId: string, ms: number): Promise<void> {
  await replicas.database.db.query(
    `UPDATE agent_lease SET last_beat_at = clock_timestamp() - $1 * interval '1 millisecond' WHERE agent_id = $2`,
    [ms, agentId],
  );
}

describe('the events of a registration', () => {
  it('S3.2 a registration publishes agent.joined once, with name, generation and capabilities', async () => {
    await here.given.agent({ agentId: 'a-1' });
    expect(await replicas.loggedEvents()).toMatchObject([
      {
        seq: 1,
        type: 'agent.joined',
        subject: 'a-1',
        capabilities: ['build'],
        data: { generation: 1, name: 'swarm-builder', capabilities: ['build'] },
      },
    ]);
  });

  it('S3.2 a rejected registration publishes nothing', async () => {
    await here.given.agent({ agentId: 'a-1' });
    await expect(there.given.agent({ agentId: 'a-1' })).rejects.toMatchObject({ code: 'AGENT_ALREADY_REGISTERED' });
    expect(lines(await replicas.loggedEvents())).toEqual(['agent.joined a-1']);
  });

  it('S3.2 a registration whose transaction is rolled back publishes nothing', async () => {
    await expect(
      replicas.database.db.transaction(async () => {
        await here.given.agent({ agentId: 'a-1' });
        throw new Error('roll back');
      }),
    ).rejects.toThrow('roll back');
    expect(await replicas.loggedEvents()).toEqual([]);
  });
});

describe('the events of an agent that leaves', () => {
  it('S3.3 deregistration, eviction and shutdown publish agent.left with reason and generation', async () => {
    await here.agents.deregister((await here.given.agent({ agentId: 'by-itself' })).credential);
    await here.given.agent({ agentId: 'by-force' });
    await here.agents.remove('by-force', 'evicted');
    await here.given.agent({ agentId: 'by-shutdown' });
    await here.agents.remove('by-shutdown', 'shutdown');
    const left = (await replicas.loggedEvents()).filter(({ type }) => type === 'agent.left');
    expect(left.map(({ subject, data }) => [subject, data])).toEqual([
      ['by-itself', { generation: 1, reason: 'deregistered' }],
      ['by-force', { generation: 1, reason: 'evicted' }],
      ['by-shutdown', { generation: 1, reason: 'shutdown' }],
    ]);
  });

  it('S3.3 removing an unknown agent, an agent that has left or an old generation is rejected and publishes nothing', async () => {
    const unknown = { agentId: 'unknown', generation: 1, tokenHash: 'x' };
    await expect(here.agents.deregister(unknown)).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    await expect(here.agents.remove('unknown', 'evicted')).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    const first = await here.given.agent({ agentId: 'a-1' });
    await here.agents.deregister(first.credential);
    await expect(here.agents.deregister(first.credential)).rejects.toMatchObject({ code: 'REGISTER_AGAIN' });
    await expect(here.agents.remove('a-1', 'evicted')).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    await here.given.agent({ agentId: 'a-1', leaseToken: first.leaseToken });
    await expect(here.agents.deregister(first.credential)).rejects.toMatchObject({ code: 'STALE_GENERATION' });
    expect(lines(await replicas.loggedEvents())).toEqual([
      'agent.joined a-1',
      'agent.left a-1 deregistered',
      'agent.joined a-1',
    ]);
  });

  it('S3.3 twenty concurrent deregistrations, removals and evictions on two replicas publish agent.left once', async () => {
    for (let round = 0; round < 5; round++) {
      const agentId = `a-${round}`;
      const credential = (await here.given.agent({ agentId })).credential;
      await setSilence(agentId, leaseTtlMs(DEFAULT_LEASE_POLICY) + 1_000);
      const attempts = Array.from({ length: 20 }, async (_, index) => {
        const at = index % 2 ? here : there;
        if (index % 3 === 0) return await at.agents.deregister(credential);
        if (index % 3 === 1) return await at.agents.remove(agentId, 'evicted');
        await at.sweeper.sweep();
      });
      await Promise.allSettled([
        ...attempts,
        here.agents.deregister({ ...credential, agentId: 'unknown' }),
        there.agents.remove('unknown', 'evicted'),
      ]);
    }
    const left = (await replicas.loggedEvents()).filter(({ type }) => type === 'agent.left');
    expect(left.map(({ subject }) => subject).toSorted()).toEqual(['a-0', 'a-1', 'a-2', 'a-3', 'a-4']);
  });

  it('S3.3 every agent.left follows the agent.joined of its generation under concurrent registrations and removals', async () => {
    const writers = Array.from({ length: 12 }, async (_, index) => {
      const at = index % 2 ? here : there;
      for (let round = 0; round < 8; round++) {
        const agentId = `a-${(index + round) % 4}`;
        const joined = await at.given.agent({ agentId }).catch(() => undefined); // the agentId is registered already
        await (joined ? at.agents.deregister(joined.credential) : at.agents.remove(agentId, 'evicted')).catch(() => 0);
      }
    });
    await Promise.all(writers);
    const events = await replicas.loggedEvents();
    const wrong = events.filter(({ type, subject, data }, index) => {
      const before = events.slice(0, index).filter((event) => event.subject === subject);
      const last = before.at(-1);
      if (type === 'agent.joined') return last?.type === 'agent.joined';
      return last?.type !== 'agent.joined' || generationOf(last.data) !== generationOf(data);
    });
    expect(wrong).toEqual([]);
    expect(events.filter(({ type }) => type === 'agent.left').length).toBeGreaterThan(20);
  });
});

describe('the events of missed heartbeats', () => {
  it('S3.4 an agent is evicted after the configured number of missed heartbeats and not before, with one agent.left among all replicas', async () => {
    for (const agentId of ['well-1', 'well-2', 'well-3', 'well-4', 'quiet']) await here.given.agent({ agentId });
    await here.sweeper.sweep();
    await setSilence('quiet', suspectAfterMs(DEFAULT_LEASE_POLICY) + 100);
    await here.sweeper.sweep();
    await setSilence('quiet', leaseTtlMs(DEFAULT_LEASE_POLICY) - 5_000);
    await here.sweeper.sweep();
    const before = lines((await replicas.loggedEvents()).filter(({ subject }) => subject === 'quiet'));
    expect(before).toEqual(['agent.joined quiet', 'agent.suspect quiet']);
    await setSilence('quiet', leaseTtlMs(DEFAULT_LEASE_POLICY) + 100);
    await Promise.all([here, there, here, there].map(async (at) => await at.sweeper.sweep()));
    await here.sweeper.sweep();
    const after = (await replicas.loggedEvents()).filter(({ subject }) => subject === 'quiet');
    expect(lines(after)).toEqual([...before, 'agent.left quiet evicted']);
    expect(after.at(-1)).toMatchObject({ capabilities: ['build'], data: { generation: 1 } });
  });

  it('S3.4 a heartbeat of an evicted agent is rejected with REGISTER_AGAIN and publishes nothing', async () => {
    const joined = await here.given.agent({ agentId: 'a-1' });
    await here.agents.remove('a-1', 'evicted');
    expect(await here.heartbeats.beatAll([joined.credential])).toMatchObject([{ error: { code: 'REGISTER_AGAIN' } }]);
    expect(lines(await replicas.loggedEvents())).toEqual(['agent.joined a-1', 'agent.left a-1 evicted']);
  });
});

function generationOf(data: RegistryEvent['data']): number {
  return 'generation' in data ? data.generation : 0;
}
