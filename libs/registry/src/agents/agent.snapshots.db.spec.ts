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

async function read(replica: TestRegistry): Promise<{ seq: number; agents: AgentRecord[] }> {
  const snapshot = await replica.snapshots.take(null);
  const agents: AgentRecord[] = [];
  for await (const slice of snapshot.slices()) agents.push(...slice);
  return { seq: snapshot.position.seq, agents };
}

/** The generation of each listed agent, computed from the events alone. */
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
  it('B3 a snapshot equals the state after the events up to its position, while agents join and leave on two replicas', async () => {
    for (const { events } of [here, there]) events.start();
    const done = new AbortController();
    const writers = Array.from({ length: 10 }, async (_, index) => {
      const at = index % 2 ? here : there;
      for (let number = index; !done.signal.aborted; number++) {
        const agentId = `a-${number % 60}`;
        await at.given
          .agent({ agentId })
          .catch(async () => await at.agents.remove(agentId, 'evicted').catch(() => undefined));
      }
    });
    const snapshots: Awaited<ReturnType<typeof read>>[] = [];
    const hasProgress = (): boolean => (snapshots.at(-1)?.seq ?? 0) > (snapshots[0]?.seq ?? 0);
    while (snapshots.length < 20 || !hasProgress()) snapshots.push(await read(snapshots.length % 2 ? here : there));
    done.abort();
    await Promise.all(writers);
    while ((await here.events.sequencer.runOnce()).moved > 0);
    const log = await readAll(here.events);
    for (const { seq, agents } of snapshots) expect([seq, fleetOf(agents)]).toEqual([seq, replay(log.slice(0, seq))]);
    expect(fleetOf((await read(here)).agents)).toEqual(replay(log));
    expect(snapshots.at(-1)?.seq).toBeGreaterThan(snapshots[0]?.seq ?? 0);
  });

  it('the slices of a snapshot all show the same moment', async () => {
    await replicas.database.db.query(`
      INSERT INTO agent (agent_id, generation, revision, token_hash, name, endpoint, agent_card, capabilities, capability_keys,
        sandbox_level, provider, cost_model, labels, budget_used, budget_source, flap, registered_at, registered_by)
      SELECT 'a-' || to_char(n, 'FM00000'), 1, 1, '', 'many', NULL, NULL, '{build}', '{build}', 0, '{}', '{"usdPerTask":0}', '{}', 0,
        'reported', '{}', clock_timestamp(), 'test' FROM generate_series(1, 1300) AS n;
      INSERT INTO agent_circuit (agent_id, state) SELECT agent_id, '{"consecutiveFailures":0}' FROM agent`);
    const snapshot = await here.snapshots.take(null);
    const ids: string[] = [];
    for await (const slice of snapshot.slices()) {
      if (ids.length === 0) await replicas.database.db.query(`UPDATE agent SET left_at = clock_timestamp()`);
      ids.push(...slice.map(({ agentId }) => agentId));
    }
    expect(ids).toHaveLength(1_300);
    expect(ids).toEqual(ids.toSorted());
    expect((await read(here)).agents).toEqual([]);
  });

  it('rejects a snapshot while too many snapshots are open, and accepts it after they are closed', async () => {
    const open = await Promise.all([null, null, ['a'], ['a']].map(async (of) => await here.snapshots.take(of)));
    await expect(here.snapshots.take(['b'])).rejects.toMatchObject({ code: 'SNAPSHOTS_BUSY' });
    for (const snapshot of open) await snapshot.close();
    expect((await read(here)).agents).toEqual([]);
  });

  it('S-3 one namespace opens at most two snapshots at the same time, and another one still reads', async () => {
    const open = await Promise.all([1, 2].map(async () => await here.snapshots.take(['a'])));
    await expect(here.snapshots.take(['a'])).rejects.toMatchObject({ code: 'SNAPSHOTS_BUSY' });
    const other = await here.snapshots.take(['b']);
    for (const snapshot of [...open, other]) await snapshot.close();
    await (await here.snapshots.take(['a'])).close();
  });
});
