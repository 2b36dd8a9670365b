import { readAll, type TestDatabase, type TestEvents, testReplica, type TestReplica } from '../testing/index.js';
import { until } from '#rollcall/test-support';

interface Counted {
  id: string;
  version: number;
}

let replica: TestReplica;
let database: TestDatabase;
let events: TestEvents;

beforeEach(async () => {
  replica = await testReplica({ poolSize: 20 });
  ({ database, events } = replica);
  await database.db.query('CREATE TABLE counted (id text PRIMARY KEY, version int NOT NULL)');
  await database.db.query(`INSERT INTO counted SELECT 'a-' || n, 0 FROM generate_series(0, 9) AS n`);
});
afterEach(async () => await replica.stop());

async function change(id: string): Promise<void> {
  const { db } = database;
  await db.transaction(async () => {
    const [row] = await db.query<Counted>('UPDATE counted SET version = version + 1 WHERE id = $1 RETURNING *', [id]);
    await events.outbox.append('agent.updated', id, { generation: row?.version ?? 0, changed: [] });
  });
}

describe('a snapshot', () => {
  it('B3 with the events after its seq has neither a hole nor an overlap, while writers write and a sequencer works', async () => {
    events.start();
    const done = new AbortController();
    const writers = Array.from({ length: 12 }, async (_, index) => {
      for (let turn = index; !done.signal.aborted; turn++) await change(`a-${turn % 10}`);
    });
    const shots: { seq: number; rows: Counted[] }[] = [];
    for (let round = 0; round < 30; round++) {
      const shot = await events.sequencer.snapshot();
      const first = await shot.query<Counted>('SELECT id, version FROM counted WHERE id < $1', ['a-5']);
      await change('a-7'); // what is read later is of the same moment
      const rest = await shot.query<Counted>('SELECT id, version FROM counted WHERE id >= $1 AND id < $2', [
        'a-5',
        'a-9',
      ]);
      shots.push({ seq: shot.seq, rows: [...first, ...rest] });
      await shot.close();
    }
    done.abort();
    await Promise.all(writers);
    await until('nothing is staged', async () => (await events.sequencer.runOnce()).moved === 0);
    const log = await readAll(events);
    for (const { seq, rows } of shots) {
      const before = log.slice(0, seq);
      for (const { id, version } of rows)
        expect({ seq, id, version: before.filter(({ subject }) => subject === id).length }).toEqual({
          seq,
          id,
          version,
        });
    }
    expect(new Set(shots.map(({ seq }) => seq)).size).toBeGreaterThan(5);
    expect(shots[0]?.rows).toHaveLength(9);
  });

  it('of a quiet registry is true at the head', async () => {
    await change('a-1');
    await events.sequencer.runOnce();
    const shot = await events.sequencer.snapshot();
    expect(shot.seq).toBe(1);
    expect(await shot.query(`SELECT id, version FROM counted WHERE id = 'a-1'`)).toEqual([{ id: 'a-1', version: 1 }]);
    await shot.close();
  });
});
