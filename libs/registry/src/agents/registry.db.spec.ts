import type { Database, RegistryEvent } from '#rollcall/platform';
import { readAll, type TestDatabase, testDatabase, until } from '#rollcall/platform/testing';
import type { Heartbeat } from '../leases/heartbeat.js';
import { aRegistration, testRegistry, type TestRegistry } from '../testing/test-registry.js';
import type { Joined } from './agents.service.js';
import { hashOfToken } from './lease.token.js';
import type { Registration } from './registration.js';

let database: TestDatabase;
let db: Database;
let here: TestRegistry;
let there: TestRegistry;

beforeEach(async () => {
  database = await testDatabase();
  db = database.db;
  here = await testRegistry(db);
  there = await testRegistry(await database.connectAgain());
});
afterEach(async () => {
  await Promise.all([here.idle(), there.idle()]);
  await database.drop();
});

async function join(
  agentId: string | null,
  overrides: Partial<Registration> = {},
  leaseToken: string | null = null,
): Promise<Joined> {
  return await here.agents.register({ agentId, leaseToken, by: 'test', facts: aRegistration(overrides) });
}

const claimOf = ({ record, leaseToken }: Joined): Heartbeat => ({
  agentId: record.agentId,
  generation: record.generation,
  tokenHash: hashOfToken(leaseToken),
});

async function told(...types: string[]): Promise<RegistryEvent[]> {
  while ((await here.events.sequencer.runOnce()).moved > 0);
  const all = await readAll(here.events);
  return types.length === 0 ? all : all.filter(({ type }) => types.includes(type));
}

/** Tests put the clock of a lease back instead of waiting. */
async function silence(ms: number, ...agentIds: string[]): Promise<void> {
  await db.query(
    `UPDATE agent_lease SET last_beat_at = last_beat_at - $1 * interval '1 millisecond' WHERE agent_id = ANY ($2)`,
    [ms, agentIds],
  );
}

/** As if the sweeper had just been here: otherwise its own absence would count as a gap. */
async function sweptJustNow(): Promise<void> {
  await here.sweeper.sweep();
}

describe('joining', () => {
  it("S3.1 makes a record with the RFC's own field names", async () => {
    const { record } = await join('builder-01', { capabilities: ['plan', 'build', 'code-generation'] });
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

  it('S3.2 assigns an agentId where none is proposed, and tells agent.joined', async () => {
    const { record } = await join(null);
    expect(record.agentId).toMatch(/^swarm-builder-[0-9a-f]{10}$/);
    expect(await told()).toMatchObject([
      { type: 'agent.joined', subject: record.agentId, data: { generation: 1, name: 'swarm-builder' } },
    ]);
  });

  it('S3.2 of one agentId by twenty strangers on two replicas has one winner', async () => {
    const tries = Array.from(
      { length: 20 },
      async (_, index) =>
        await (index % 2 ? here : there).agents.register({
          agentId: 'wanted',
          leaseToken: null,
          by: `${index}`,
          facts: aRegistration(),
        }),
    );
    const results = await Promise.allSettled(tries);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'AGENT_ALREADY_REGISTERED' });
    expect(await told('agent.joined')).toHaveLength(1);
  });

  it('B4 again with the lease token gives the next generation, without a gap, however many do it at once', async () => {
    const first = await join('again');
    const again = await Promise.all(Array.from({ length: 10 }, async () => await join('again', {}, first.leaseToken)));
    expect(again.map(({ record }) => record.generation).toSorted((a, b) => a - b)).toEqual([
      2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
    ]);
    expect(new Set(again.map(({ leaseToken }) => leaseToken))).toEqual(new Set([first.leaseToken]));
    const events = await told('agent.joined', 'agent.left');
    expect(events.map(({ type }) => type)).toEqual([
      'agent.joined',
      ...Array.from({ length: 10 }, () => ['agent.left', 'agent.joined']).flat(),
    ]);
  });
});

describe('leaving', () => {
  it('S3.3 by its own wish tells agent.left once, and is history after', async () => {
    const joined = await join('leaver');
    await here.agents.deregister(claimOf(joined));
    expect(await here.agents.get('leaver')).toMatchObject({ status: 'left', leaveReason: 'deregistered' });
    await expect(here.agents.deregister(claimOf(joined))).rejects.toMatchObject({ code: 'REGISTER_AGAIN' });
    expect(await told('agent.left')).toMatchObject([
      { subject: 'leaver', data: { reason: 'deregistered', generation: 1 } },
    ]);
  });

  it('S3.3 is forgotten after its time, and not before; the living are left alone', async () => {
    await here.agents.deregister(claimOf(await join('old')));
    await here.agents.deregister(claimOf(await join('recent')));
    await join('alive');
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

  it('S3.3 of an unknown agentId is refused, and nothing is told', async () => {
    await expect(here.agents.remove('nobody', 'evicted')).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    await expect(here.agents.deregister({ agentId: 'nobody', generation: 1, tokenHash: 'x' })).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
    });
    expect(await told()).toEqual([]);
  });

  it('S3.3 is refused to a stranger and to an earlier generation', async () => {
    const first = await join('mine');
    const second = await join('mine', {}, first.leaseToken);
    await expect(here.agents.deregister({ ...claimOf(second), tokenHash: 'stranger' })).rejects.toMatchObject({
      code: 'LEASE_TOKEN_REFUSED',
    });
    await expect(here.agents.deregister(claimOf(first))).rejects.toMatchObject({ code: 'STALE_GENERATION' });
    expect((await here.agents.get('mine')).status).toBe('active');
  });

  it('B4 does not undo what an operator wants: it holds for the next life too', async () => {
    const joined = await join('drained');
    await here.agents.setDesiredState('drained', 'draining', 'maintenance', 'key:op');
    await here.agents.deregister(claimOf(joined));
    expect((await join('drained')).record).toMatchObject({
      status: 'draining',
      desiredState: 'draining',
      generation: 2,
    });
    expect((await here.agents.setDesiredState('drained', 'active', null, 'key:op')).status).toBe('active');
    expect((await told('agent.draining', 'agent.resumed')).map(({ type }) => type)).toEqual([
      'agent.draining',
      'agent.resumed',
    ]);
  });
});

describe('heartbeats', () => {
  it('S3.4 renew the lease and report load, in batches of one statement', async () => {
    const agents = await Promise.all(Array.from({ length: 50 }, async (_, index) => await join(`beating-${index}`)));
    await silence(60_000, ...agents.map(({ record }) => record.agentId));
    const results = await here.heartbeats.beatAll(
      agents.map((agent) => Object.assign(claimOf(agent), { inFlight: 3 })),
    );
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(await here.agents.get('beating-7')).toMatchObject({ load: { inFlight: 3 }, health: { state: 'active' } });
    await sweptJustNow();
    expect(await told('agent.left')).toEqual([]);
  });

  it('S3.4 of the unknown, the evicted, strangers and earlier generations do not count, and say why', async () => {
    const first = await join('one');
    const second = await join('one', {}, first.leaseToken);
    const evicted = await join('two');
    await here.agents.remove('two', 'evicted');
    const beats = [
      claimOf(second),
      claimOf(first),
      { ...claimOf(second), tokenHash: 'stranger' },
      claimOf(evicted),
      { agentId: 'nobody', generation: 1, tokenHash: 'x' },
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

describe('the sweep', () => {
  it('S3.4 S3.5 suspects after two missed beats, evicts after three and not after six, and tells each once', async () => {
    await join('silent');
    await join('loud');
    await sweptJustNow();
    await silence(15_000, 'silent');
    expect((await here.sweeper.sweep()).suspected).toEqual([]);
    await silence(6_100, 'silent');
    expect((await here.sweeper.sweep()).suspected).toEqual(['silent']);
    expect((await here.agents.get('silent')).status).toBe('suspect');
    await silence(10_000, 'silent');
    expect((await here.sweeper.sweep()).evicted).toEqual(['silent']);
    expect(await here.agents.get('silent')).toMatchObject({ status: 'left', leaveReason: 'evicted' });
    expect((await told('agent.suspect', 'agent.left')).map(({ type, subject }) => [type, subject])).toEqual([
      ['agent.suspect', 'silent'],
      ['agent.left', 'silent'],
    ]);
  });

  it('S3.4 lets a suspect that beats again recover', async () => {
    const agent = await join('sleepy');
    await join('awake');
    await sweptJustNow();
    await silence(25_000, 'sleepy');
    await here.sweeper.sweep();
    await here.heartbeats.beatAll([claimOf(agent)]);
    expect((await here.sweeper.sweep()).recovered).toEqual(['sleepy']);
    expect((await told('agent.suspect', 'agent.recovered')).map(({ type }) => type)).toEqual([
      'agent.suspect',
      'agent.recovered',
    ]);
  });

  it('S3.5 by two replicas at once evicts everyone once', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `fleet-${index}`);
    for (const agentId of ids) await join(agentId);
    await sweptJustNow();
    await silence(40_000, 'fleet-3', 'fleet-4');
    const sweeps = await Promise.all([here, there, here, there].map(async ({ sweeper }) => await sweeper.sweep()));
    expect(sweeps.flatMap(({ evicted }) => evicted).toSorted()).toEqual(['fleet-3', 'fleet-4']);
    expect(await told('agent.left')).toHaveLength(2);
  });

  it('B5 spares a fleet of which 60 % fall silent at once, says why, and forgives them when they are back', async () => {
    const agents = [];
    for (let index = 0; index < 10; index++) agents.push(await join(`mass-${index}`));
    await sweptJustNow();
    const silent = agents.slice(0, 6);
    await silence(40_000, ...silent.map(({ record }) => record.agentId));
    expect(await here.sweeper.sweep()).toMatchObject({ evicted: [], spared: 6 });
    expect(await there.protection.read()).toMatchObject({
      explanation: { state: 'protecting', reason: 'mass_silence', numbers: { fleet: 10, expired: 6 } },
    });
    await here.heartbeats.beatAll(silent.map(claimOf));
    await here.sweeper.sweep();
    expect(await here.protection.read()).toMatchObject({ explanation: { state: 'normal' } });
    expect((await told('protection.entered', 'protection.left', 'agent.left')).map(({ type }) => type)).toEqual([
      'protection.entered',
      'protection.left',
    ]);
  });

  it('B5 that could not run gives its absence back to every lease before it evicts anyone', async () => {
    await join('patient');
    await join('other');
    await sweptJustNow();
    await silence(40_000, 'patient');
    await db.query(
      `UPDATE registry_protection SET state = jsonb_set(state, '{lastSweepAt}', to_jsonb((state->>'lastSweepAt')::numeric - 35000))`,
    );
    expect((await here.sweeper.sweep()).evicted).toEqual([]);
    expect((await here.sweeper.sweep()).evicted).toEqual([]);
    await silence(40_000, 'patient');
    expect((await here.sweeper.sweep()).evicted).toEqual(['patient']);
  });
});

describe('the circuit', () => {
  it('S3.8 really opens, and lets one probe through among 3 replicas with 50 callers each', async () => {
    const third = await testRegistry(await database.connectAgain());
    await join('flaky');
    for (let failure = 0; failure < 5; failure++) await here.circuits.report('flaky', { ok: false });
    expect(await here.agents.get('flaky')).toMatchObject({
      health: { circuitBreakerState: 'open', consecutiveFailures: 5 },
    });
    expect(await there.circuits.claimProbe('flaky', 'early')).toMatchObject({ claimed: false });
    await db.query(`UPDATE agent SET circuit = jsonb_set(circuit, '{openUntil}', '1') WHERE agent_id = 'flaky'`);
    const claims = await Promise.all(
      Array.from(
        { length: 150 },
        async (_, index) => await [here, there, third][index % 3]?.circuits.claimProbe('flaky', `probe-${index}`),
      ),
    );
    const winners = claims.flatMap((claim, index) => (claim?.claimed ? [`probe-${index}`] : []));
    expect(winners).toHaveLength(1);
    expect(await there.circuits.report('flaky', { ok: true, probeId: winners[0] })).toMatchObject({ phase: 'closed' });
    expect((await told('circuit.opened', 'circuit.half_opened', 'circuit.closed')).map(({ type }) => type)).toEqual([
      'circuit.opened',
      'circuit.half_opened',
      'circuit.closed',
    ]);
  });
});

describe('the directory', () => {
  it('S3.6 S3.11 has own writes at once, and ranks them as the RFC does', async () => {
    await join('builder-01', { budget: { totalTokens: 500_000, usedTokens: 123_456, source: 'langfuse' } });
    await join('builder-02', {
      endpoint: null,
      provider: { adapter: 'openai', type: 'api', plan: null },
      costModel: { usdPerTask: null, usdPer1kTokens: 0.003 },
      budget: { totalTokens: null, usedTokens: 0, source: 'none' },
    });
    await join('builder-03', { budget: { totalTokens: 500_000, usedTokens: 488_000, source: 'langfuse' } });
    await until('all are listed', () => here.directory.size === 3);
    const { candidates } = here.ranker.rank({ capabilities: ['build'], prefer: 'cheapest' }, Date.now());
    expect(candidates.map(({ agent }) => agent.agentId)).toEqual(['builder-01', 'builder-02', 'builder-03']);
    expect(candidates[2]?.marks).toContain('low_budget');
  });

  it('S3.11 of another replica is filled from Postgres, and hears of leavers and of beats', async () => {
    const agent = await join('far');
    expect(await there.sync.load()).toBe(1);
    await here.heartbeats.beatAll([{ ...claimOf(agent), inFlight: 5 }]);
    expect(await there.sync.readBeats()).toBe(1);
    expect(there.directory.find('far')?.record.load.inFlight).toBe(5);
    await here.agents.deregister(claimOf(agent));
    await there.sync.refresh(['far']);
    expect(there.directory.find('far')).toBeUndefined();
  });
});
