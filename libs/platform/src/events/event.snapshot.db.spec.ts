import { readAll, type TestDatabase, type TestEvents, testReplica, type TestReplica } from '../testing/index.js';
import { until } from '#rollcall/test-support';

interface CountedRow {
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
    const [row] = await db.query<CountedRow>('UPDATE counted SET version = version + 1 WHERE id = $1 RETURNING *', [
      id,
    ]);
    await events.outbox.append('agent.updated', id, { generation: row?.version ?? 0, changed: [] });
  });
}

describe('a snapshot', () => {
  it('B3 a snapshot has neither a gap nor an overlap with the events after its seq, while writers and a sequencer run', async () => {
    events.start();
    const done = new AbortController();
    const writers = Array.from({ length: 12 }, async (_, index) => {
      for (let n = index; !done.signal.aborted; n++) await change(`a-${n % 10}`);
    });
    const snapshots: { seq: number; rows: CountedRow[] }[] = [];
    for (let round = 0; round < 30; round++) {
      const snapshot = await events.sequencer.snapshot();
      const first = await snapshot.query<CountedRow>('SELECT id, version FROM counted WHERE id < $1', ['a-5']);
      await change('a-7'); // later reads of the snapshot do not see this change
      const rest = await snapshot.query<CountedRow>('SELECT id, version FROM counted WHERE id >= $1 AND id < $2', [
        'a-5',
        'a-9',
      ]);
      snapshots.push({ seq: snapshot.seq, rows: [...first, ...rest] });
      await snapshot.close();
    }
    done.abort();
    await Promise.all(writers);
    await until('nothing is staged', async () => (await events.sequencer.runOnce()).moved === 0);
    const log = await readAll(events);
    for (const { seq, rows } of snapshots) {
      const before = log.slice(0, seq);
      for (const { id, version } of rows)
        expect({ seq, id, version: before.filter(({ subject }) => subject === id).length }).toEqual({
          seq,
          id,
          version,
        });
    }
    expect(new Set(snapshots.map(({ seq }) => seq)).size).toBeGreaterThan(5);
    expect(snapshots[0]?.rows).toHaveLength(9);
  });

  it('a snapshot without concurrent writers contains all changes up to the head', async () => {
    await change('a-1');
    await events.sequencer.runOnce();
    const snapshot = await events.sequencer.snapshot();
    expect(snapshot.seq).toBe(1);
    expect(await snapshot.query(`SELECT id, version FROM counted WHERE id = 'a-1'`)).toEqual([
      { id: 'a-1', version: 1 },
    ]);
    await snapshot.close();
  });
});
