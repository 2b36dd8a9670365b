import { given } from '../../testing/given.js';
import { TwoReplicas } from '../../testing/two-replicas.js';
import type { JoinRequest } from '../agents.service.js';
import type { JoinResult } from './registration.group.js';

let replicas: TwoReplicas;
beforeEach(async () => {
  replicas = await TwoReplicas.start({ agentQuota: { limit: 5, setting: 'quota.agents' } });
});
afterEach(async () => await replicas.stop());

const request = (agentId: string, more: Partial<JoinRequest> = {}): JoinRequest => ({
  agentId,
  leaseToken: null,
  by: `owner of ${agentId}`,
  facts: given.registration(),
  ...more,
});

const outcomeOf = (result: JoinResult): string =>
  result.state === 'joined'
    ? `joined ${result.joined.record.generation}`
    : ((result.error as { code?: string }).code ?? 'error');
const outcomes = (results: readonly JoinResult[]): string[] => results.map(outcomeOf);
const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `agent-${index}`);

describe('registrations that arrive together', () => {
  it('each registration of a batch gets a lease, a circuit, a budget and an event', async () => {
    const { here, database } = replicas;
    const results = await here.agents.registerAll(ids(30).map((id) => request(id)));
    expect(new Set(outcomes(results))).toEqual(new Set(['joined 1']));
    const [row] = await database.db.query(
      `SELECT (SELECT count(*)::int FROM agent_lease) AS leases, (SELECT count(*)::int FROM agent_circuit) AS circuits,
         (SELECT count(*)::int FROM budget) AS budgets,
         (SELECT count(*)::int FROM budget_entry) AS lines`,
    );
    expect(row).toEqual({ leases: 30, circuits: 30, budgets: 30, lines: 30 });
    expect((await replicas.loggedEvents('agent.joined')).map(({ subject }) => subject).toSorted()).toEqual(
      ids(30).toSorted(),
    );
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  it('a registration returns the same record of a new agent as a later read', async () => {
    const { here, there } = replicas;
    const facts = given.registration({
      endpoint: 'https://agent.example',
      agentCard: { name: 'card', skills: [{ id: 'x', weight: 0.1 }] },
      capabilities: ['Build', 'code.review'],
      sandboxLevel: 3,
      provider: { adapter: 'copilot', type: 'subscription', plan: null },
      budget: { totalTokens: 9_007_199_254_740_991, usedTokens: 17, source: 'reported' },
      costModel: { usdPerTask: null, usdPer1kTokens: 0.003 },
      capacity: 4,
      declaredMs: 900,
      version: '1.0',
      labels: { zone: 'eu' },
    });
    const plain = await here.agents.register(request('plain'));
    const full = await here.agents.register(request('full', { facts }));
    expect(plain.record).toEqual(await there.agents.get('plain'));
    expect(full.record).toEqual(await there.agents.get('full'));
    const listed = here.directory.find('full');
    await here.sync.refresh(['full']);
    expect(here.directory.find('full')).toEqual(listed);
    await there.sync.refresh(['full']);
    expect(there.directory.find('full')).toEqual(listed);
  });

  it('a registration keeps the desired state of an agent whose history was pruned', async () => {
    const { agents } = replicas.here;
    await replicas.given.agent({ agentId: 'outcast' });
    await agents.quarantineAndRemove('outcast', null, 'key:op');
    await agents.prune(0);
    const { record } = await replicas.given.agent({ agentId: 'outcast' });
    expect(record).toMatchObject({ generation: 2, desiredState: 'quarantined', status: 'quarantined' });
    expect(record).toEqual(await agents.get('outcast'));
  });

  it('two replicas give each new agentId to exactly one caller', async () => {
    const { here, there } = replicas;
    const all = await Promise.all(
      [here, there].map(async ({ agents }) => await agents.registerAll(ids(40).map((id) => request(id)))),
    );
    for (const index of ids(40).keys()) {
      const both = all.map((results) => outcomeOf(results[index]));
      expect(both.toSorted()).toEqual(['AGENT_ALREADY_REGISTERED', 'joined 1']);
    }
    expect(await replicas.loggedEvents('agent.joined')).toHaveLength(40);
    expect(await replicas.loggedEvents('agent.left')).toEqual([]);
  });

  it('a registration that waits for a locked row does not delay the other registrations', async () => {
    const { here, there, database } = replicas;
    const { leaseToken } = await replicas.given.agent({ agentId: 'busy' });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: locked, resolve: onLocked } = Promise.withResolvers<void>();
    const holder = database.db.transaction(async () => {
      await database.db.query(`SELECT FROM agent WHERE agent_id = 'busy' FOR UPDATE`);
      onLocked();
      await released;
    });
    await locked;
    const busy = there.agents.register(request('busy', { leaseToken }));
    expect(outcomes(await there.agents.registerAll([request('free')]))).toEqual(['joined 1']);
    release();
    await holder;
    expect((await busy).record.generation).toBe(2);
    await here.idle();
  });

  it('a batch request that waits delays neither single registrations nor another batch request', async () => {
    const { here, there, database } = replicas;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: inserted, resolve: onInserted } = Promise.withResolvers<void>();
    const holder = database.db.transaction(async () => {
      await here.agents.register(request('taken'));
      onInserted();
      await released;
    });
    await inserted;
    const waiting = there.agents.registerAll([request('taken'), request('late')]);
    expect(outcomes(await there.agents.registerAll([request('a'), request('b')]))).toEqual(['joined 1', 'joined 1']);
    expect((await there.agents.register(request('c'))).record.generation).toBe(1);
    release();
    await holder;
    expect(outcomes(await waiting)).toEqual(['AGENT_ALREADY_REGISTERED', 'joined 1']);
  });

  it('if two batch requests have the same agentIds, exactly one of them registers each agentId', async () => {
    const { agents } = replicas.here;
    const all = await Promise.all([1, 2].map(async () => await agents.registerAll(ids(40).map((id) => request(id)))));
    for (const index of ids(40).keys())
      expect(all.map((results) => outcomeOf(results[index])).toSorted()).toEqual([
        'AGENT_ALREADY_REGISTERED',
        'joined 1',
      ]);
    expect(await replicas.loggedEvents('agent.joined')).toHaveLength(40);
  });

  it('registrations of one agentId with its lease token get consecutive generations', async () => {
    const { leaseToken } = await replicas.given.agent({ agentId: 'again' });
    const again = Array.from({ length: 4 }, () => request('again', { leaseToken }));
    const results = await replicas.here.agents.registerAll(again);
    expect(outcomes(results)).toEqual(['joined 2', 'joined 3', 'joined 4', 'joined 5']);
    const reasons = (await replicas.loggedEvents('agent.left')).map(({ data }) => data);
    expect(reasons).toEqual([1, 2, 3, 4].map((generation) => ({ generation, reason: 'replaced' })));
  });

  it('A6 the batches of one principal on two replicas together register no more agents than its quota allows', async () => {
    const { here, there } = replicas;
    const own = (prefix: string): JoinRequest[] => ids(6).map((id) => request(`${prefix}-${id}`, { by: 'greedy' }));
    const results = await Promise.all([here.agents.registerAll(own('h')), there.agents.registerAll(own('t'))]);
    const counted = Map.groupBy(outcomes(results.flat()), (outcome) => outcome);
    expect(counted.get('joined 1')).toHaveLength(5);
    expect(counted.get('QUOTA_EXCEEDED')).toHaveLength(7);
  });

  it('a registration that Postgres rejects does not fail the rest of its batch', async () => {
    const bad = request('bad', { facts: given.registration({ name: 'a\0b' }) });
    const results = await replicas.here.agents.registerAll([request('one'), bad, request('two')]);
    expect(outcomes(results).map((outcome) => outcome.startsWith('joined'))).toEqual([true, false, true]);
    expect(await replicas.loggedEvents('agent.joined')).toHaveLength(2);
  });

  it('registrations are part of the transaction of the caller, even if two of them have the same agentId', async () => {
    const { here, database } = replicas;
    const rolledBack = database.db.transaction(async () => {
      await here.agents.registerAll([request('a'), request('b')]);
      throw new Error('roll back');
    });
    await expect(rolledBack).rejects.toThrow('roll back');
    expect(await replicas.loggedEvents()).toEqual([]);
    const results = await database.db.transaction(
      async () => await here.agents.registerAll([request('a'), request('a'), request('b')]),
    );
    expect(outcomes(results)).toEqual(['joined 1', 'AGENT_ALREADY_REGISTERED', 'joined 1']);
  });
});

describe('the budget of an agent that registers', () => {
  it('a registration continues the budget of an agent whose history was pruned', async () => {
    const { here } = replicas;
    const budget = { totalTokens: 1_000, usedTokens: 400, source: 'reported' };
    await here.agents.deregister((await replicas.given.agent({ agentId: 'phoenix', budget })).credential);
    await here.agents.prune(0);
    const { record } = await replicas.given.agent({
      agentId: 'phoenix',
      budget: { ...budget, totalTokens: 2_000, usedTokens: 0 },
    });
    expect(record).toMatchObject({ generation: 2, budget: { totalTokens: 2_000, usedTokens: 400, remaining: 1_600 } });
    expect((await here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });

  it('a registration keeps the limit that an operator has set, and charges the usage that the agent declares', async () => {
    const { here } = replicas;
    const limit = { tokens: 50, microUsd: null };
    await here.budgets.budgets.open({ kind: 'agent', subject: 'early', limit, by: 'key:op' });
    const budget = { totalTokens: 1_000, usedTokens: 20, source: 'langfuse' };
    const { record } = await replicas.given.agent({ agentId: 'early', budget });
    expect(record.budget).toEqual({ totalTokens: 50, usedTokens: 20, remaining: 30, source: 'langfuse' });
  });
});

describe('updates that arrive together', () => {
  it('an update that waits for a locked row does not delay the other updates', async () => {
    const { there, database } = replicas;
    const busy = (await replicas.given.agent({ agentId: 'busy' })).credential;
    const free = (await replicas.given.agent({ agentId: 'free' })).credential;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: locked, resolve: onLocked } = Promise.withResolvers<void>();
    const holder = database.db.transaction(async () => {
      await database.db.query(`SELECT FROM agent WHERE agent_id = 'busy' FOR UPDATE`);
      onLocked();
      await released;
    });
    await locked;
    const waiting = there.agents.update(busy, { version: '2' });
    expect((await there.agents.update(free, { version: '2' })).record.version).toBe('2');
    release();
    await holder;
    expect((await waiting).record.version).toBe('2');
  });

  it('updates of one agent are applied in order, each to the result of the previous one', async () => {
    const { agents } = replicas.here;
    const credential = (await replicas.given.agent({ agentId: 'busy' })).credential;
    const { version } = await agents.getVersioned('busy');
    const results = await Promise.allSettled([
      agents.update(credential, { version: '1' }, version),
      agents.update(credential, { version: '2' }, version),
      agents.update({ ...credential, tokenHash: 'wrong' }, { version: 'x' }),
      agents.update(credential, { labels: { ring: '1' } }),
    ]);
    expect(
      results.map((result) => (result.status === 'fulfilled' ? 'done' : (result.reason as { code: string }).code)),
    ).toEqual(['done', 'AGENT_CHANGED', 'LEASE_TOKEN_REFUSED', 'done']);
    const after = await agents.getVersioned('busy');
    expect(after.record).toMatchObject({ version: '1', labels: { ring: '1' } });
    expect(results.at(-1)).toMatchObject({ value: { version: after.version } });
    expect(
      (await replicas.loggedEvents('agent.updated')).map(({ data }) => (data as { changed: string[] }).changed),
    ).toEqual([['version'], ['labels']]);
  });
});
