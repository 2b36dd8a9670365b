import { TwoReplicas } from '../testing/two-replicas.js';
import { hashOfToken } from './lease-token.store.js';

let replicas: TwoReplicas;
beforeEach(async () => void (replicas = await TwoReplicas.start()));
afterEach(async () => await replicas.stop());

describe('an update', () => {
  it('S3.1 changes the record, publishes the changed fields, and publishes nothing if no field changes', async () => {
    const { here } = replicas;
    const credential = (await replicas.given.agent({ agentId: 'builder' })).credential;
    const { record, version } = await here.agents.update(credential, { capabilities: ['review'], version: '2.0' });
    expect(record).toMatchObject({ capabilities: ['review'], version: '2.0', name: 'swarm-builder', generation: 1 });
    expect(await here.agents.update(credential, { capabilities: ['review'] })).toMatchObject({ version });
    expect(await replicas.loggedEvents('agent.updated')).toMatchObject([
      {
        subject: 'builder',
        capabilities: ['review', 'build'],
        data: { generation: 1, changed: ['capabilities', 'version'] },
      },
    ]);
  });

  it('S3.11 an update is in the directory of its replica immediately, under the new capabilities', async () => {
    const { here } = replicas;
    const credential = (await replicas.given.agent({ agentId: 'builder' })).credential;
    await here.agents.update(credential, { capabilities: ['review'], costModel: { usdPerTask: 1 } });
    await here.sync.idle();
    const find = (capability: string): string[] =>
      here.ranker.rank({ capabilities: [capability] }, here.clock.now()).candidates.map(({ agent }) => agent.agentId);
    expect([find('build'), find('review')]).toEqual([[], ['builder']]);
  });

  it('B4 rejects an update with a wrong generation or lease token, of an unknown agent, and of an agent that has left', async () => {
    const { here } = replicas;
    const first = await replicas.given.agent({ agentId: 'mine' });
    const second = await replicas.given.agent({ agentId: 'mine', leaseToken: first.leaseToken });
    const now = second.credential;
    const rejections = [
      [first.credential, 'STALE_GENERATION'],
      [{ ...now, generation: 3 }, 'GENERATION_AHEAD'],
      [{ ...now, tokenHash: 'wrong' }, 'LEASE_TOKEN_REFUSED'],
      [{ ...now, agentId: 'unknown' }, 'AGENT_NOT_FOUND'],
    ] as const;
    for (const [credential, code] of rejections)
      await expect(here.agents.update(credential, { name: 'hijacked' })).rejects.toMatchObject({ code });
    await here.agents.deregister(now);
    await expect(here.agents.update(now, { name: 'late' })).rejects.toMatchObject({ code: 'REGISTER_AGAIN' });
    expect(await replicas.loggedEvents('agent.updated')).toEqual([]);
  });

  it('B4 an operator may omit the generation in an update, but an outdated version is rejected', async () => {
    const { here, there } = replicas;
    await replicas.given.agent({ agentId: 'shared' });
    const operator = { agentId: 'shared', generation: null, tokenHash: null };
    const { version } = await here.agents.getVersioned('shared');
    await there.agents.update(operator, { labels: { canary: 'yes' } }, version);
    await expect(here.agents.update(operator, { labels: { canary: 'no' } }, version)).rejects.toMatchObject({
      code: 'AGENT_CHANGED',
    });
    expect((await here.agents.get('shared')).labels).toEqual({ canary: 'yes' });
  });

  it('B4 twenty concurrent updates of different labels lose no change', async () => {
    const { here, there } = replicas;
    await replicas.given.agent({ agentId: 'busy' });
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const credential = { agentId: 'busy', generation: null, tokenHash: null };
        await (index % 2 ? here : there).agents.update(credential, { labels: { [`l${index}`]: 'x' } });
      }),
    );
    expect(Object.keys((await here.agents.get('busy')).labels)).toHaveLength(20);
    expect(await replicas.loggedEvents('agent.updated')).toHaveLength(20);
  });
});

describe('the leave reason', () => {
  const reasons = async (): Promise<unknown[]> =>
    (await replicas.loggedEvents('agent.left')).map(({ data }) => (data as { reason: string }).reason);

  it('S3.3 the leave reason is "deregistered" by default, or "shutdown" if the agent gives that reason', async () => {
    const { agents } = replicas.here;
    await agents.deregister((await replicas.given.agent({ agentId: 'one' })).credential);
    await agents.deregister((await replicas.given.agent({ agentId: 'two' })).credential, 'shutdown');
    expect((await agents.get('two')).leaveReason).toBe('shutdown');
    expect(await reasons()).toEqual(['deregistered', 'shutdown']);
  });

  it('S3.3 the leave reason is "drained" if a draining agent deregisters, whatever reason it gives', async () => {
    const { agents } = replicas.here;
    const { credential } = await replicas.given.agent({ agentId: 'tired', desiredState: 'draining' });
    await agents.deregister(credential, 'shutdown');
    expect(await agents.get('tired')).toMatchObject({ status: 'left', leaveReason: 'drained' });
    expect(await reasons()).toEqual(['drained']);
  });

  it('S3.3 S3.10 the leave reason is budget_exhausted if an agent without remaining budget deregisters and gives no reason', async () => {
    const { agents } = replicas.here;
    const budget = { totalTokens: 10, usedTokens: 10, source: 'ledger' };
    for (const [agentId, reason] of [['spent'], ['spent-too', 'shutdown'], ['drained']] as const) {
      const desiredState = agentId === 'drained' ? 'draining' : 'active';
      const { credential } = await replicas.given.agent({ agentId, budget, desiredState });
      await agents.deregister(credential, reason);
    }
    expect(await reasons()).toEqual(['budget_exhausted', 'shutdown', 'drained']);
  });

  it('S3.3 the leave reason is "quarantined" after a forced quarantine, and the next registration is quarantined too', async () => {
    const { agents } = replicas.here;
    const joined = await replicas.given.agent({ agentId: 'bad' });
    expect(await agents.quarantineAndRemove('bad', 'leaks', 'key:op')).toMatchObject({
      status: 'left',
      leaveReason: 'quarantined',
    });
    await expect(agents.deregister(joined.credential)).rejects.toMatchObject({ code: 'REGISTER_AGAIN' });
    expect((await replicas.given.agent({ agentId: 'bad' })).record).toMatchObject({
      status: 'quarantined',
      generation: 2,
    });
    expect(await replicas.loggedEvents('agent.quarantined')).toMatchObject([
      { data: { by: 'key:op', reason: 'leaks' } },
    ]);
    expect(await reasons()).toEqual(['quarantined']);
  });

  it('S3.3 the leave reason of the previous generation is "replaced" when the agent registers again', async () => {
    const { leaseToken } = await replicas.given.agent({ agentId: 'again' });
    await replicas.given.agent({ agentId: 'again', leaseToken });
    expect(await reasons()).toEqual(['replaced']);
  });

  it('S3.5 the leave reason is "evicted" after a removal by an operator and after missed heartbeats', async () => {
    const { agents, sweeper } = replicas.here;
    await replicas.given.agent({ agentId: 'forced' });
    await replicas.given.agent({ agentId: 'silent' });
    await agents.remove('forced', 'evicted');
    await sweeper.sweep();
    await replicas.silence(40_000, 'silent');
    await sweeper.sweep();
    expect(await reasons()).toEqual(['evicted', 'evicted']);
  });

  it('S3.3 exactly one leave reason is published if agent and operator end the registration concurrently on two replicas', async () => {
    const { here, there } = replicas;
    const credential = (await replicas.given.agent({ agentId: 'contested' })).credential;
    const ends = await Promise.allSettled([
      here.agents.deregister(credential),
      there.agents.remove('contested', 'evicted'),
      there.agents.quarantineAndRemove('contested', null, 'key:op'),
    ]);
    expect(ends.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    expect(await reasons()).toHaveLength(1);
  });
});

describe('tokens reported with heartbeats', () => {
  it('S3.10 reported tokens are in the ledger when the agent leaves or is evicted, and still count when it registers again', async () => {
    const { here } = replicas;
    const budget = { totalTokens: 500_000, usedTokens: 0, source: 'reported' };
    for (const agentId of ['leaver', 'silent']) {
      const credential = (await replicas.given.agent({ agentId, budget })).credential;
      await here.heartbeats.beatAll([{ ...credential, usedTokens: 400_000 }]);
      if (agentId === 'leaver') await here.agents.deregister(credential);
    }
    await here.sweeper.sweep();
    await replicas.silence(40_000, 'silent');
    await here.sweeper.sweep();
    expect(await here.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    for (const agentId of ['leaver', 'silent']) {
      const [reading] = await here.budgets.budgets.of('agent', agentId);
      expect(reading?.budget.used.tokens).toBe(400_000);
      const { record } = await replicas.given.agent({ agentId, budget });
      expect(record.budget).toMatchObject({ usedTokens: 400_000, remaining: 100_000 });
    }
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });
});

describe('a desired state', () => {
  it('B4 a desired state that is set twice is published once', async () => {
    const { agents } = replicas.here;
    await replicas.given.agent({ agentId: 'calm' });
    await agents.setDesiredState('calm', 'draining', 'first', 'key:op');
    await agents.setDesiredState('calm', 'draining', 'second', 'key:op');
    expect(await replicas.loggedEvents('agent.draining')).toHaveLength(1);
  });
});

describe('writes with another generation', () => {
  it('B4 S3.4 rejects all writes of an old generation that are replayed after a new registration, and changes nothing', async () => {
    const { here, there } = replicas;
    const first = await replicas.given.agent({ agentId: 'phoenix' });
    const old = first.credential;
    await replicas.given.agent({ agentId: 'phoenix', leaseToken: first.leaseToken });
    const before = await here.agents.getVersioned('phoenix');
    const events = (await replicas.loggedEvents()).length;
    const beats = Array.from({ length: 50 }, (_, inFlight) => ({ ...old, inFlight }));
    const results = [...(await here.heartbeats.beatAll(beats)), ...(await there.heartbeats.beatAll(beats))];
    expect(new Set(results.map((result) => (result.ok ? 'ok' : result.error.code)))).toEqual(
      new Set(['STALE_GENERATION']),
    );
    const replays = [here, there].flatMap(({ agents }) => [
      agents.update(old, { name: 'ghost' }),
      agents.update(old, { capabilities: ['haunt'], endpoint: null }),
      agents.deregister(old),
      agents.deregister(old, 'shutdown'),
    ]);
    for (const replay of await Promise.allSettled(replays))
      expect(replay).toMatchObject({ status: 'rejected', reason: { code: 'STALE_GENERATION' } });
    expect(await here.agents.getVersioned('phoenix')).toEqual(before);
    expect(await replicas.loggedEvents()).toHaveLength(events);
  });

  it('S3.4 rejects a write with GENERATION_AHEAD if its generation does not exist yet', async () => {
    const credential = (await replicas.given.agent({ agentId: 'early' })).credential;
    const [result] = await replicas.here.heartbeats.beatAll([{ ...credential, generation: 7 }]);
    expect(result).toMatchObject({ ok: false, error: { code: 'GENERATION_AHEAD' } });
  });
});

describe('a request with a wrong lease token', () => {
  it('B4 rejects a wrong lease token without taking a lock, so that the request neither waits for others nor delays them', async () => {
    const { here, there, database } = replicas;
    await replicas.given.agent({ agentId: 'busy' });
    const wrongCredential = { agentId: 'busy', generation: 1, tokenHash: hashOfToken('rl_not-it') };
    await database.db.transaction(async () => {
      await database.db.query(`SELECT FROM agent WHERE agent_id = 'busy' FOR UPDATE`);
      await expect(there.agents.deregister(wrongCredential)).rejects.toMatchObject({ code: 'LEASE_TOKEN_REFUSED' });
      await expect(there.agents.update(wrongCredential, { name: 'x' })).rejects.toMatchObject({
        code: 'LEASE_TOKEN_REFUSED',
      });
    });
    expect(await here.agents.get('busy')).toMatchObject({ status: 'active', name: 'swarm-builder' });
  });
});
