import type { RegistryEvent } from '#rollcall/platform';
import { readAll } from '#rollcall/platform/testing';
import { type TestRegistry, TwoReplicas } from '../testing/index.js';
import type { AgentRecord } from './agent.record.js';

let replicas: TwoReplicas;
let here: TestRegistry;
let there: TestRegistry;

beforeEach(async () => {
  replicas = await TwoReplicas.start({}, { poolSize: 20 });
  ({ here, there } = replicas);
});
afterEach(async () => {
  for (const { events } of [here, there]) await events.stop();
  await replicas.stop();
});

async function read(at: TestRegistry): Promise<{ seq: number; agents: AgentRecord[] }> {
  const snapshot = await at.snapshots.take();
  const agents: AgentRecord[] = [];
  for await (const slice of snapshot.slices()) agents.push(...slice);
  return { seq: snapshot.position.seq, agents };
}

/** Who is there, and in which life, by the events alone. */
function replay(events: readonly RegistryEvent[]): Map<string, number> {
  const fleet = new Map<string, number>();
  for (const { type, subject, data } of events) {
    if (type === 'agent.joined') fleet.set(subject, data.generation);
    if (type === 'agent.left') fleet.delete(subject);
  }
  return fleet;
}

const fleetOf = (agents: readonly AgentRecord[]): Map<string, number> =>
  new Map(agents.map(({ agentId, generation }) => [agentId, generation]));

describe('a snapshot of the agents', () => {
  it('B3 is what the events up to its seq make, while agents come and go on two replicas', async () => {
    for (const { events } of [here, there]) events.start();
    const done = new AbortController();
    const writers = Array.from({ length: 10 }, async (_, index) => {
      const at = index % 2 ? here : there;
      for (let turn = index; !done.signal.aborted; turn++) {
        const agentId = `a-${turn % 60}`;
        await at.given
          .agent({ agentId })
          .catch(async () => await at.agents.remove(agentId, 'evicted').catch(() => undefined));
      }
    });
    const shots: Awaited<ReturnType<typeof read>>[] = [];
    for (let round = 0; round < 20; round++) shots.push(await read(round % 2 ? here : there));
    done.abort();
    await Promise.all(writers);
    while ((await here.events.sequencer.runOnce()).moved > 0);
    const log = await readAll(here.events);
    for (const { seq, agents } of shots) expect([seq, fleetOf(agents)]).toEqual([seq, replay(log.slice(0, seq))]);
    expect(fleetOf((await read(here)).agents)).toEqual(replay(log));
    expect(shots.at(-1)?.seq).toBeGreaterThan(shots[0]?.seq ?? 0);
  });

  it('is read in slices, all of the same moment', async () => {
    await replicas.database.db.query(`
      INSERT INTO agent (agent_id, generation, revision, token_hash, name, endpoint, agent_card, capabilities, capability_keys,
        sandbox_level, provider, cost_model, labels, budget_used, budget_source, circuit, flap, registered_at, registered_by)
      SELECT 'a-' || to_char(n, 'FM00000'), 1, 1, '', 'many', NULL, NULL, '{build}', '{build}', 0, '{}', '{"usdPerTask":0}', '{}', 0,
        'reported', '{"consecutiveFailures":0}', '{}', clock_timestamp(), 'test' FROM generate_series(1, 1300) AS n`);
    const snapshot = await here.snapshots.take();
    const ids: string[] = [];
    for await (const slice of snapshot.slices()) {
      if (ids.length === 0) await replicas.database.db.query(`UPDATE agent SET left_at = clock_timestamp()`);
      ids.push(...slice.map(({ agentId }) => agentId));
    }
    expect(ids).toHaveLength(1_300);
    expect(ids).toEqual(ids.toSorted());
    expect((await read(here)).agents).toEqual([]);
  });

  it('is refused when too many are being read, and possible again when they are closed', async () => {
    const open = await Promise.all([1, 2, 3, 4].map(async () => await here.snapshots.take()));
    await expect(here.snapshots.take()).rejects.toMatchObject({ code: 'SNAPSHOTS_BUSY' });
    for (const snapshot of open) await snapshot.close();
    expect((await read(here)).agents).toEqual([]);
  });
});
