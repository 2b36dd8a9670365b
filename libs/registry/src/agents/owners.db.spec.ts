import { REPORTER } from '../testing/given-agents.js';
import { given } from '../testing/given.js';
import { TwoReplicas } from '../testing/two-replicas.js';
import type { JoinRequest } from './agents.service.js';
import { hashOfToken } from './lease-token.store.js';

let replicas: TwoReplicas;
beforeEach(async () => void (replicas = await TwoReplicas.start()));
afterEach(async () => await replicas.stop());

const ALICE = 'key:alice';
const MALLORY = 'key:mallory';
const OPERATOR = { by: 'key:operator', asOperator: true };

const takeover = (by: string): JoinRequest => ({
  agentId: 'builder',
  leaseToken: null,
  takeover: true,
  by,
  facts: given.registration(),
});

const generationsThatLeft = async (): Promise<unknown[]> =>
  (await replicas.loggedEvents('agent.left', 'agent.joined')).map(({ type, data }) => [type, data]);

describe('the owner of an agent', () => {
  it('is the principal that registered it, and is in the record on both replicas', async () => {
    const { record } = await replicas.given.agent({ agentId: 'builder', by: ALICE });
    expect(record.owner).toBe(ALICE);
    expect(await replicas.there.agents.get('builder')).toMatchObject({ owner: ALICE });
  });

  it('may update and deregister the agent without its lease token; another principal gets NOT_THE_OWNER', async () => {
    const { here, there } = replicas;
    await replicas.given.agent({ agentId: 'builder', by: ALICE });
    const credential = { agentId: 'builder', generation: null, tokenHash: null };
    const foreign = { ...credential, owner: MALLORY };
    await expect(there.agents.update(foreign, { name: 'hijacked' })).rejects.toMatchObject({ code: 'NOT_THE_OWNER' });
    await expect(there.agents.deregister(foreign)).rejects.toMatchObject({ code: 'NOT_THE_OWNER' });
    await expect(there.agents.check(foreign)).rejects.toThrow('Use the lease token of the agent, or the key');
    const own = { ...credential, owner: ALICE };
    expect((await here.agents.update(own, { name: 'renamed' })).record.name).toBe('renamed');
    await there.agents.deregister({ ...own, generation: 1 }, 'shutdown');
    expect(await here.agents.get('builder')).toMatchObject({ status: 'left', owner: ALICE });
  });

  it('A9 keeps the agentId after the agent has left: another principal cannot register it', async () => {
    const { here } = replicas;
    const { credential, leaseToken } = await replicas.given.agent({ agentId: 'builder', by: ALICE });
    await here.agents.deregister(credential);
    await expect(replicas.given.agent({ agentId: 'builder', by: MALLORY })).rejects.toMatchObject({
      code: 'NOT_THE_OWNER',
    });
    await expect(replicas.given.agent({ agentId: 'builder', by: MALLORY, takeover: true })).rejects.toMatchObject({
      code: 'NOT_THE_OWNER',
    });
    const back = await replicas.given.agent({ agentId: 'builder', by: ALICE });
    expect(back.record).toMatchObject({ generation: 2, owner: ALICE });
    expect(back.leaseToken).not.toBe(leaseToken);
  });

  it('changes when another principal registers the agent with its lease token', async () => {
    const { leaseToken } = await replicas.given.agent({ agentId: 'builder', by: ALICE });
    const moved = await replicas.given.agent({ agentId: 'builder', leaseToken, by: 'key:new' });
    expect(moved).toMatchObject({ leaseToken, record: { owner: 'key:new', generation: 2 } });
    await replicas.here.agents.deregister(moved.credential);
    const back = await replicas.given.agent({ agentId: 'builder', leaseToken, by: ALICE });
    expect(back.record).toMatchObject({ owner: ALICE, generation: 3 });
  });

  it('does not change when an operator registers the agent again, whether it is live or has left', async () => {
    await replicas.given.agent({ agentId: 'builder', by: ALICE });
    const live = await replicas.given.agent({ agentId: 'builder', takeover: true, ...OPERATOR });
    expect(live.record).toMatchObject({ owner: ALICE, generation: 2 });
    await replicas.here.agents.deregister(live.credential);
    const left = await replicas.given.agent({ agentId: 'builder', ...OPERATOR });
    expect(left.record).toMatchObject({ owner: ALICE, generation: 3 });
  });
});

describe('a takeover', () => {
  it('replaces a live registration of the same owner with a new generation and a new lease token', async () => {
    const { here, there } = replicas;
    const crashed = await replicas.given.agent({ agentId: 'builder', by: ALICE });
    const back = await there.agents.register(takeover(ALICE));
    expect(back.record).toMatchObject({ generation: 2, status: 'active', owner: ALICE });
    expect(back.leaseToken).not.toBe(crashed.leaseToken);
    const [result] = await here.heartbeats.beatAll([crashed.credential]);
    expect(result).toMatchObject({ ok: false, error: { code: 'LEASE_TOKEN_REFUSED' } });
    expect(await generationsThatLeft()).toMatchObject([
      ['agent.joined', { generation: 1 }],
      ['agent.left', { generation: 1, reason: 'replaced' }],
      ['agent.joined', { generation: 2 }],
    ]);
  });

  it('gives a new lease token even if the request contains the previous one, or a wrong one', async () => {
    const first = await replicas.given.agent({ agentId: 'builder', by: ALICE });
    const second = await replicas.given.agent({
      agentId: 'builder',
      by: ALICE,
      takeover: true,
      leaseToken: first.leaseToken,
    });
    const wrong = `rl_${'x'.repeat(43)}`;
    const third = await replicas.given.agent({ agentId: 'builder', by: ALICE, takeover: true, leaseToken: wrong });
    expect(new Set([first, second, third].map(({ leaseToken }) => leaseToken)).size).toBe(3);
    expect(third.leaseToken).not.toBe(wrong);
  });

  it('is rejected for another principal with the same message as a registration without takeover', async () => {
    await replicas.given.agent({ agentId: 'builder', by: ALICE });
    const message = async (spec: object): Promise<string> =>
      await replicas.given.agent({ agentId: 'builder', ...spec }).then(
        () => 'registered',
        (error: Error & { code: string }) => `${error.code}: ${error.message}`,
      );
    const foreign = await message({ by: MALLORY, takeover: true });
    expect(foreign).toContain('AGENT_ALREADY_REGISTERED');
    expect(foreign).not.toContain('takeover');
    expect(await message({ by: MALLORY })).toBe(foreign);
    expect(await message({ by: ALICE })).toContain('"takeover": true');
    expect(await message(OPERATOR)).toContain('"takeover": true');
  });

  it('registers an agent that does not exist or has left, like a registration without takeover', async () => {
    const { credential, record } = await replicas.given.agent({ agentId: 'builder', by: ALICE, takeover: true });
    expect(record.generation).toBe(1);
    await replicas.here.agents.deregister(credential);
    const back = await replicas.given.agent({ agentId: 'builder', by: ALICE, takeover: true });
    expect(back.record).toMatchObject({ generation: 2, status: 'active' });
  });

  it('concurrent takeovers on two replicas each get their own generation, and only the last token is valid', async () => {
    const { here, there } = replicas;
    await replicas.given.agent({ agentId: 'builder', by: ALICE });
    const results = (
      await Promise.all(
        Array.from({ length: 12 }, async (_, index) => {
          const { agents } = index % 2 ? here : there;
          return await agents.registerAll([takeover(index % 3 ? ALICE : MALLORY)]);
        }),
      )
    ).flat();
    const won = results.flatMap((result) => (result.state === 'joined' ? [result.joined] : []));
    const generations = won.map(({ record }) => record.generation).toSorted((a, b) => a - b);
    expect(generations).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    for (const { record, leaseToken } of won) {
      const { agentId, generation } = record;
      const [beat] = await here.heartbeats.beatAll([{ agentId, generation, tokenHash: hashOfToken(leaseToken) }]);
      expect(beat?.ok).toBe(generation === 9);
    }
    const left = await replicas.loggedEvents('agent.left');
    expect(left.map(({ data }) => data)).toMatchObject(
      Array.from({ length: 8 }, (_, index) => ({ generation: index + 1, reason: 'replaced' })),
    );
  });

  it('does not count twice for the quota of the owner', async () => {
    await replicas.stop();
    replicas = await TwoReplicas.start({ agentQuota: { limit: 1, setting: 'quotas.agents (ROLLCALL_QUOTAS)' } });
    await replicas.given.agent({ agentId: 'builder', by: ALICE });
    const back = await replicas.given.agent({ agentId: 'builder', by: ALICE, takeover: true });
    expect(back.record.generation).toBe(2);
  });
});

describe('the circuit of an agent that registers again', () => {
  const phases = async (): Promise<string[]> =>
    await Promise.all(
      [replicas.here, replicas.there].map(
        async ({ agents }) => (await agents.get('builder')).health.circuitBreakerState,
      ),
    );

  it.each([
    ['registers again with takeover', async () => void (await replicas.there.agents.register(takeover('test')))],
    [
      'deregisters and registers again',
      async () => {
        await replicas.here.agents.deregister({ agentId: 'builder', generation: null, tokenHash: null });
        await replicas.there.agents.register({ ...takeover('test'), takeover: false });
      },
    ],
    [
      'is evicted and registers again',
      async () => {
        await replicas.here.agents.remove('builder', 'evicted');
        await replicas.there.agents.register({ ...takeover('test'), takeover: false });
      },
    ],
  ])('C4 stays open on both replicas if the agent %s, until its own cool-down ends', async (_how, again) => {
    await replicas.given.agent({ agentId: 'builder', circuit: 'open' });
    const { openUntil } = await replicas.here.circuits.report('builder', { ok: true }, REPORTER); // an outcome is ignored while the circuit is open
    await again();
    expect(await replicas.here.agents.get('builder')).toMatchObject({
      generation: 2,
      health: { circuitBreakerState: 'open', consecutiveFailures: 5 },
    });
    expect(await phases()).toEqual(['open', 'open']);
    const permit = await replicas.there.circuits.acquireProbe('builder', 'p-1');
    expect(permit).toMatchObject({ claimed: false, circuit: { phase: 'open', openUntil } });
    await replicas.database.db.query(
      `UPDATE agent_circuit SET state = jsonb_set(state, '{openUntil}', '1') WHERE agent_id = 'builder'`,
    );
    expect(await replicas.here.circuits.acquireProbe('builder', 'p-2')).toMatchObject({ claimed: true });
    await replicas.there.circuits.report('builder', { ok: true, probeId: 'p-2' }, REPORTER);
    expect(await phases()).toEqual(['closed', 'closed']);
  });

  it('excludes the agent from queries immediately', async () => {
    const { here } = replicas;
    await replicas.given.agent({ agentId: 'builder', circuit: 'open' });
    await here.agents.register(takeover('test'));
    await here.sync.idle();
    const ranking = here.ranker.rank({ capabilities: ['build'], explain: true }, here.clock.now());
    expect(ranking.candidates).toEqual([]);
    expect(ranking.excluded).toMatchObject([{ agentId: 'builder', exclusions: [{ code: 'circuit_open' }] }]);
  });
});
