import type { Database } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { given } from '../testing/given.js';
import { REPORTER } from '../testing/given-agents.js';
import { testRegistry, type TestRegistry } from '../testing/test-registry.js';
import { TwoReplicas } from '../testing/two-replicas.js';

let replicas: TwoReplicas;
let db: Database;
let here: TestRegistry;
let there: TestRegistry;

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  ({ here, there } = replicas);
  db = replicas.database.db;
});
afterEach(async () => await replicas.stop());

/** Runs a sweep, so that the time before it does not count as a gap without sweeps. */
async function sweepNow(): Promise<void> {
  await here.sweeper.sweep();
}

describe('a registration', () => {
  it('S3.1 returns a record with the field names of the specification', async () => {
    const { record } = await here.given.agent({
      agentId: 'builder-01',
      capabilities: ['plan', 'build', 'code-generation'],
    });
    expect(record).toMatchObject({
      agentId: 'builder-01',
      name: 'swarm-builder',
      status: 'active',
      endpoint: 'http://localhost:5091',
      capabilities: ['plan', 'build', 'code-generation'],
      sandboxLevel: 2,
      provider: { adapter: 'copilot', type: 'subscription', plan: 'github-copilot-business' },
      budget: { totalTokens: 500_000, usedTokens: 0, remaining: 500_000, source: 'langfuse' },
      health: { consecutiveFailures: 0, circuitBreakerState: 'closed' },
      lastTaskAt: null,
      generation: 1,
    });
    expect(JSON.stringify(record)).not.toContain('oken_hash');
  });

  it('S3.2 assigns an agentId if none is proposed, and publishes agent.joined', async () => {
    const { record } = await here.given.agent();
    expect(record.agentId).toMatch(/^swarm-builder-[0-9a-f]{10}$/);
    expect(await replicas.loggedEvents()).toMatchObject([
      { type: 'agent.joined', subject: record.agentId, data: { generation: 1, name: 'swarm-builder' } },
    ]);
  });

  it('S3.2 exactly one of twenty callers on two replicas registers an agentId, and the others are rejected', async () => {
    const attempts = Array.from(
      { length: 20 },
      async (_, index) =>
        await (index % 2 ? here : there).agents.register({
          agentId: 'wanted',
          leaseToken: null,
          by: `${index}`,
          facts: given.registration(),
        }),
    );
    const results = await Promise.allSettled(attempts);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'AGENT_ALREADY_REGISTERED' });
    expect(await replicas.loggedEvents('agent.joined')).toHaveLength(1);
  });

  it('B4 concurrent registrations with the lease token get consecutive generations', async () => {
    const first = await here.given.agent({ agentId: 'again' });
    const again = await Promise.all(
      Array.from(
        { length: 10 },
        async () => await here.given.agent({ agentId: 'again', leaseToken: first.leaseToken }),
      ),
    );
    expect(again.map(({ record }) => record.generation).toSorted((a, b) => a - b)).toEqual([
      2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
    ]);
    expect(new Set(again.map(({ leaseToken }) => leaseToken))).toEqual(new Set([first.leaseToken]));
    const events = await replicas.loggedEvents('agent.joined', 'agent.left');
    expect(events.map(({ type }) => type)).toEqual([
      'agent.joined',
      ...Array.from({ length: 10 }, () => ['agent.left', 'agent.joined']).flat(),
    ]);
  });
});

describe('leaving the registry', () => {
  it('S3.3 a deregistration publishes agent.left once and sets the status left', async () => {
    const joined = await here.given.agent({ agentId: 'leaver' });
    await here.agents.deregister(joined.credential);
    expect(await here.agents.get('leaver')).toMatchObject({ status: 'left', leaveReason: 'deregistered' });
    await expect(here.agents.deregister(joined.credential)).rejects.toMatchObject({ code: 'REGISTER_AGAIN' });
    expect(await replicas.loggedEvents('agent.left')).toMatchObject([
      { subject: 'leaver', data: { reason: 'deregistered', generation: 1 } },
    ]);
  });

  it('S3.3 an agent that has left is pruned after the retention time; a listed agent is never pruned', async () => {
    await here.agents.deregister((await here.given.agent({ agentId: 'old' })).credential);
    await here.agents.deregister((await here.given.agent({ agentId: 'recent' })).credential);
    await here.given.agent({ agentId: 'alive' });
    await db.query(
      `UPDATE agent SET left_at = left_at - interval '8 days', registered_at = registered_at - interval '9 days' WHERE agent_id IN ('old', 'alive')`,
    );
    expect(await here.agents.prune(7 * 86_400_000)).toBe(1);
    await expect(here.agents.get('old')).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    expect([(await here.agents.get('recent')).status, (await here.agents.get('alive')).status]).toEqual([
      'left',
      'active',
    ]);
  });

  it('S3.3 rejects the removal of an unknown agent and publishes nothing', async () => {
    await expect(here.agents.remove('unknown', 'evicted')).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    await expect(here.agents.deregister({ agentId: 'unknown', generation: 1, tokenHash: 'x' })).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
    });
    expect(await replicas.loggedEvents()).toEqual([]);
  });

  it('S3.3 rejects a deregistration with a wrong lease token or an old generation', async () => {
    const first = await here.given.agent({ agentId: 'mine' });
    const second = await here.given.agent({ agentId: 'mine', leaseToken: first.leaseToken });
    await expect(here.agents.deregister({ ...second.credential, tokenHash: 'wrong' })).rejects.toMatchObject({
      code: 'LEASE_TOKEN_REFUSED',
    });
    await expect(here.agents.deregister(first.credential)).rejects.toMatchObject({ code: 'STALE_GENERATION' });
    expect((await here.agents.get('mine')).status).toBe('active');
  });

  it('B4 an agent that leaves keeps its desired state, which holds for the next registration too', async () => {
    const joined = await here.given.agent({ agentId: 'drained' });
    await here.agents.setDesiredState('drained', 'draining', 'maintenance', 'key:op');
    await here.agents.deregister(joined.credential);
    expect((await here.given.agent({ agentId: 'drained' })).record).toMatchObject({
      status: 'draining',
      desiredState: 'draining',
      generation: 2,
    });
    expect((await here.agents.setDesiredState('drained', 'active', null, 'key:op')).status).toBe('active');
    expect((await replicas.loggedEvents('agent.draining', 'agent.resumed')).map(({ type }) => type)).toEqual([
      'agent.draining',
      'agent.resumed',
    ]);
  });
});

describe('heartbeats', () => {
  it('S3.4 a batch of heartbeats renews the leases and reports the load of its agents', async () => {
    const agents = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => await here.given.agent({ agentId: `beating-${index}` })),
    );
    await replicas.silence(60_000, ...agents.map(({ record }) => record.agentId));
    const results = await here.heartbeats.beatAll(
      agents.map(({ credential }) => Object.assign(credential, { inFlight: 3 })),
    );
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(await here.agents.get('beating-7')).toMatchObject({ load: { inFlight: 3 }, health: { state: 'active' } });
    await sweepNow();
    expect(await replicas.loggedEvents('agent.left')).toEqual([]);
  });

  it('S3.4 rejects heartbeats of unknown, evicted and replaced agents, and with a wrong lease token, each with its own code', async () => {
    const first = await here.given.agent({ agentId: 'one' });
    const second = await here.given.agent({ agentId: 'one', leaseToken: first.leaseToken });
    const evicted = await here.given.agent({ agentId: 'two' });
    await here.agents.remove('two', 'evicted');
    const beats = [
      second.credential,
      first.credential,
      { ...second.credential, tokenHash: 'wrong' },
      evicted.credential,
      { agentId: 'unknown', generation: 1, tokenHash: 'x' },
    ];
    const results = await here.heartbeats.beatAll(beats);
    expect(results.map((result) => (result.ok ? 'ok' : result.error.code))).toEqual([
      'ok',
      'STALE_GENERATION',
      'LEASE_TOKEN_REFUSED',
      'REGISTER_AGAIN',
      'REGISTER_AGAIN',
    ]);
    expect((await here.agents.get('two')).status).toBe('left');
  });
});

describe('a sweep', () => {
  it('S3.4 S3.5 suspects an agent after two missed heartbeats, evicts it after three in total, and publishes each change once', async () => {
    await here.given.agent({ agentId: 'silent' });
    await here.given.agent({ agentId: 'loud' });
    await sweepNow();
    await replicas.silence(15_000, 'silent');
    expect((await here.sweeper.sweep()).suspected).toEqual([]);
    await replicas.silence(6_100, 'silent');
    expect((await here.sweeper.sweep()).suspected).toEqual(['silent']);
    expect((await here.agents.get('silent')).status).toBe('suspect');
    await replicas.silence(10_000, 'silent');
    expect((await here.sweeper.sweep()).evicted).toEqual(['silent']);
    expect(await here.agents.get('silent')).toMatchObject({ status: 'left', leaveReason: 'evicted' });
    expect(
      (await replicas.loggedEvents('agent.suspect', 'agent.left')).map(({ type, subject }) => [type, subject]),
    ).toEqual([
      ['agent.suspect', 'silent'],
      ['agent.left', 'silent'],
    ]);
  });

  it('S3.4 lets a suspect agent recover after its next heartbeat', async () => {
    const agent = await here.given.agent({ agentId: 'sleepy' });
    await here.given.agent({ agentId: 'awake' });
    await sweepNow();
    await replicas.silence(25_000, 'sleepy');
    await here.sweeper.sweep();
    await here.heartbeats.beatAll([agent.credential]);
    expect((await here.sweeper.sweep()).recovered).toEqual(['sleepy']);
    expect((await replicas.loggedEvents('agent.suspect', 'agent.recovered')).map(({ type }) => type)).toEqual([
      'agent.suspect',
      'agent.recovered',
    ]);
  });

  it('S3.5 two replicas that sweep at the same time evict each silent agent once', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `fleet-${index}`);
    for (const agentId of ids) await here.given.agent({ agentId });
    await sweepNow();
    await replicas.silence(40_000, 'fleet-3', 'fleet-4');
    const sweeps = await Promise.all([here, there, here, there].map(async ({ sweeper }) => await sweeper.sweep()));
    expect(sweeps.flatMap(({ evicted }) => evicted).toSorted()).toEqual(['fleet-3', 'fleet-4']);
    expect(await replicas.loggedEvents('agent.left')).toHaveLength(2);
  });

  it('B5 evicts no agent when 60 % of the fleet is silent at the same time, gives the reason, and ends the protection when the agents are back', async () => {
    const agents = [];
    for (let index = 0; index < 10; index++) agents.push(await here.given.agent({ agentId: `mass-${index}` }));
    await sweepNow();
    const silent = agents.slice(0, 6);
    await replicas.silence(40_000, ...silent.map(({ record }) => record.agentId));
    expect(await here.sweeper.sweep()).toMatchObject({ evicted: [], spared: 6 });
    expect(await there.protection.read()).toMatchObject({
      explanation: { state: 'protecting', reason: 'mass_silence', numbers: { fleet: 10, expired: 6 } },
    });
    await here.heartbeats.beatAll(silent.map(({ credential }) => credential));
    await here.sweeper.sweep();
    expect(await here.protection.read()).toMatchObject({ explanation: { state: 'normal' } });
    expect(
      (await replicas.loggedEvents('protection.entered', 'protection.left', 'agent.left')).map(({ type }) => type),
    ).toEqual(['protection.entered', 'protection.left']);
  });

  it('B5 a sweep after a period without sweeps extends all leases by that period before it evicts an agent', async () => {
    await here.given.agent({ agentId: 'patient' });
    await here.given.agent({ agentId: 'other' });
    await sweepNow();
    await replicas.silence(40_000, 'patient');
    await db.query(
      `UPDATE registry_protection SET state = jsonb_set(state, '{lastSweepAt}', to_jsonb((state->>'lastSweepAt')::numeric - 35000))`,
    );
    expect((await here.sweeper.sweep()).evicted).toEqual([]);
    expect((await here.sweeper.sweep()).evicted).toEqual([]);
    await replicas.silence(40_000, 'patient');
    expect((await here.sweeper.sweep()).evicted).toEqual(['patient']);
  });
});

describe('a circuit', () => {
  it('S3.8 opens after failures, and allows one probe among 3 replicas with 50 callers each', async () => {
    const third = await testRegistry(await replicas.database.connectAgain());
    await here.given.agent({ agentId: 'flaky', circuit: 'open' });
    expect(await here.agents.get('flaky')).toMatchObject({
      health: { circuitBreakerState: 'open', consecutiveFailures: 5 },
    });
    expect(await there.circuits.acquireProbe('flaky', 'early')).toMatchObject({ claimed: false });
    await db.query(`UPDATE agent_circuit SET state = jsonb_set(state, '{openUntil}', '1') WHERE agent_id = 'flaky'`);
    const permits = await Promise.all(
      Array.from(
        { length: 150 },
        async (_, index) => await [here, there, third][index % 3]?.circuits.acquireProbe('flaky', `probe-${index}`),
      ),
    );
    const winners = permits.flatMap((permit, index) => (permit?.claimed ? [`probe-${index}`] : []));
    expect(winners).toHaveLength(1);
    expect(await there.circuits.report('flaky', { ok: true, probeId: winners[0] }, REPORTER)).toMatchObject({
      phase: 'closed',
    });
    expect(
      (await replicas.loggedEvents('circuit.opened', 'circuit.half_opened', 'circuit.closed')).map(({ type }) => type),
    ).toEqual(['circuit.opened', 'circuit.half_opened', 'circuit.closed']);
  });
});

describe('the directory', () => {
  it('S3.6 S3.11 immediately contains the agents that its replica wrote, and ranks them as the specification requires', async () => {
    await here.given.agent({
      agentId: 'builder-01',
      budget: { totalTokens: 500_000, usedTokens: 123_456, source: 'langfuse' },
    });
    await here.given.agent({
      agentId: 'builder-02',
      endpoint: null,
      provider: { adapter: 'openai', type: 'api', plan: null },
      costModel: { usdPerTask: null, usdPer1kTokens: 0.003 },
      budget: { totalTokens: null, usedTokens: 0, source: 'none' },
    });
    await here.given.agent({
      agentId: 'builder-03',
      budget: { totalTokens: 500_000, usedTokens: 488_000, source: 'langfuse' },
    });
    await until('all agents are listed', () => here.directory.size === 3);
    const { candidates } = here.ranker.rank({ capabilities: ['build'], prefer: 'cheapest' }, Date.now());
    expect(candidates.map(({ agent }) => agent.agentId)).toEqual(['builder-01', 'builder-02', 'builder-03']);
    expect(candidates[2]?.marks).toContain('low_budget');
  });

  it('S3.11 the directory of another replica is loaded from Postgres, and applies heartbeats and departures', async () => {
    const agent = await here.given.agent({ agentId: 'far' });
    expect(await there.sync.load()).toBe(1);
    await here.heartbeats.beatAll([{ ...agent.credential, inFlight: 5 }]);
    expect(await there.sync.readBeats()).toBe(1);
    expect(there.directory.find('far')?.record.load.inFlight).toBe(5);
    await here.agents.deregister(agent.credential);
    await there.sync.refresh(['far']);
    expect(there.directory.find('far')).toBeUndefined();
  });
});
