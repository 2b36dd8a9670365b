import { leaseTtlMs, DEFAULT_LEASE_POLICY } from './lease.policy.js';
import { type GivenAgent, REPORTER } from '../testing/given-agents.js';
import { TwoReplicas } from '../testing/two-replicas.js';

const HOUR_MS = 3_600_000;
const TTL_MS = leaseTtlMs(DEFAULT_LEASE_POLICY);

let replicas: TwoReplicas;
let agents: GivenAgent[];

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  agents = [];
  for (let index = 0; index < 20; index++) agents.push(await replicas.given.agent({ agentId: `agent-${index}` }));
  await replicas.here.sweeper.sweep();
});
afterEach(async () => await replicas.stop());

/** Simulates a database clock that is set back: moves all stored times into the future. */
async function setClockBack(ms: number): Promise<void> {
  const { db } = replicas.database;
  await replicas.elapse(-ms);
  await db.query(
    `UPDATE agent_circuit SET state = jsonb_set(state, '{openUntil}', to_jsonb((state->>'openUntil')::float8 + $1))
     WHERE state->>'openUntil' IS NOT NULL`,
    [ms],
  );
  await db.query(
    `UPDATE budget_reservation SET opened_at = opened_at + $1 * interval '1 millisecond',
       expires_at = expires_at + $1 * interval '1 millisecond'`,
    [ms],
  );
}

async function evictedAfter(ms: number, beating: readonly GivenAgent[]): Promise<string[]> {
  const evicted: string[] = [];
  for (let passed = 0; passed < ms; passed += 1_000) {
    await replicas.elapse(1_000);
    if (passed % 5_000 === 0) await replicas.here.heartbeats.beatAll(beating.map((one) => one.credential));
    evicted.push(...(await replicas.here.sweeper.sweep()).evicted);
  }
  return evicted;
}

describe('a database clock that is set back', () => {
  it.each([60_000, HOUR_MS])(
    'D4 a clock that is set back by %i ms evicts no live agent, and a silent agent is still evicted in time',
    async (ms) => {
      await setClockBack(ms);
      expect((await replicas.here.sweeper.sweep()).evicted).toEqual([]);
      expect((await replicas.here.protection.read()).explanation).toMatchObject({ reason: 'clock_back' });
      const [silent, ...beating] = agents;
      expect(await evictedAfter(TTL_MS / 2, beating)).toEqual([]);
      expect(await evictedAfter(TTL_MS, beating)).toEqual([silent?.record.agentId]);
    },
  );

  it('D4 an open circuit stays open for its cool-down, and not for the length of the jump', async () => {
    for (let failure = 0; failure < 5; failure++)
      await replicas.here.circuits.report('agent-3', { ok: false }, REPORTER);
    await setClockBack(HOUR_MS);
    await replicas.here.sweeper.sweep();
    const { circuit } = await replicas.here.circuits.acquireProbe('agent-3', 'probe');
    expect(circuit).toMatchObject({ phase: 'open' });
    expect(circuit.retryAfterMs).toBeLessThanOrEqual(15_000);
  });

  it('D4 reservations keep their remaining time when the clock is set back', async () => {
    const { db } = replicas.database;
    await db.query(
      `INSERT INTO budget_reservation (owner, key, budget_ids, held_tokens, held_micro_usd, state, expires_at)
       VALUES ('test', 'one', '{}', 1, 0, 'held', clock_timestamp() + interval '5 minutes')`,
    );
    await setClockBack(HOUR_MS);
    await replicas.here.sweeper.sweep();
    const [row] = await db.query<{ left: number }>(
      `SELECT date_part('epoch', expires_at - clock_timestamp()) AS left FROM budget_reservation`,
    );
    expect(row?.left).toBeGreaterThan(290);
    expect(row?.left).toBeLessThanOrEqual(310);
  });

  it('D4 a clock that is set back publishes an event, and a directory that is loaded again uses the earlier time', async () => {
    const { there, here } = replicas;
    await there.sync.load();
    there.directory.advance((await there.sync.time()) + HOUR_MS);
    await setClockBack(HOUR_MS);
    await here.sweeper.sweep();
    expect(await replicas.loggedEvents('registry.clock_stepped_back')).toMatchObject([
      { data: { byMs: expect.any(Number) } },
    ]);
    await there.sync.load();
    expect(there.directory.advance(0)).toBeLessThan((await there.sync.time()) + 10_000);
    await here.heartbeats.beatAll(agents.map((one) => ({ ...one.credential, inFlight: 7 })));
    await there.sync.readBeats();
    expect(there.directory.find('agent-3')?.record.load.inFlight).toBe(7);
  });
});

describe('a database clock that is set forward', () => {
  it('D4 a clock that is set forward by an hour evicts no live agent, and a silent agent is still evicted in time', async () => {
    await replicas.elapse(HOUR_MS);
    expect((await replicas.here.sweeper.sweep()).evicted).toEqual([]);
    const [silent, ...beating] = agents;
    expect(await evictedAfter(TTL_MS / 2, beating)).toEqual([]);
    expect(await evictedAfter(TTL_MS, beating)).toEqual([silent?.record.agentId]);
  });
});
