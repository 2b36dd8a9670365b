import type { Database } from '../postgres/database.js';
import { type TestDatabase, testEvents, type TestEvents, testReplica, type TestReplica } from '../testing/index.js';
import { until } from '#rollcall/test-support';
import { CursorForeignError } from './event.errors.js';

let replica: TestReplica;
let database: TestDatabase;
let events: TestEvents;

beforeEach(async () => {
  replica = await testReplica();
  ({ database, events } = replica);
});
afterEach(async () => await replica.stop());

const epochOf = async (db: Database): Promise<string> => (await (await testEvents(db)).log.end()).epoch;

async function write(count: number, through: TestEvents = events, db: Database = database.db): Promise<void> {
  await db.transaction(async () => {
    for (let n = 0; n < count; n++) await through.outbox.append('agent.resumed', `a-${n}`, { by: 'test' });
  });
  await through.sequencer.runOnce();
}

describe('the epoch of the log', () => {
  it('D9 stays the same over replicas and restarts', async () => {
    const epoch = await epochOf(database.db);
    expect(epoch).toMatch(/^[0-9a-f]{8}$/);
    expect(await epochOf(await database.connectAgain())).toBe(epoch);
    expect(await epochOf(database.db)).toBe(epoch);
  });

  it('D9 is another one in a restored backup, where cursors from before are rejected', async () => {
    await write(3);
    const { seq, epoch } = await events.log.end();
    const backup = await database.copy();
    const restored = await testEvents(backup.db);
    await write(5, restored, backup.db);
    await expect(restored.log.search({ seq, epoch }, 10, {})).rejects.toThrow(CursorForeignError);
    await expect(restored.log.locate(`${seq}-${epoch}`)).rejects.toThrow(CursorForeignError);
    expect(await restored.log.locate(String(seq))).toMatchObject({ seq });
    await until(
      'the original is open again',
      async () => (await epochOf(database.db).catch(() => undefined)) === epoch,
    );
    await backup.drop();
  });

  it('D9 is another one when the tables were restored in place', async () => {
    const epoch = await epochOf(database.db);
    await database.db.query('ALTER TABLE event_counter RENAME TO dumped');
    await database.db.query('CREATE TABLE event_counter AS TABLE dumped');
    expect(await epochOf(database.db)).not.toBe(epoch);
  });

  it('D9 is another one after point-in-time recovery, which begins a new timeline', async () => {
    const epoch = await epochOf(database.db);
    await database.db.query(`UPDATE event_counter SET origin = regexp_replace(origin, '[0-9A-F]{8}$', '00000000')`);
    expect(await epochOf(database.db)).not.toBe(epoch);
  });

  it('D9 works where the server does not show its cluster', async () => {
    await database.db.query('ALTER FUNCTION pg_control_system() RENAME TO pg_control_hidden');
    const epoch = await epochOf(database.db);
    expect(await epochOf(database.db)).toBe(epoch);
  });

  it('D9 is another one when a running replica finds the log behind what it has read', async () => {
    const { epoch } = await events.log.end();
    events.start();
    await write(5);
    await until('the feed has them', () => events.feed.position === 5);
    const ends: Error[] = [];
    const way = events.feed.subscribe(3, { accept: () => undefined, expired: (error) => void ends.push(error) });
    await until('it has all', () => way.cursor === 5);
    await database.db.query('DELETE FROM event_log WHERE seq > 2');
    await database.db.query('UPDATE event_counter SET head = 2');
    events.feed.wake();
    await until('the consumer is ended', () => ends.length === 1);
    expect(ends[0]).toBeInstanceOf(CursorForeignError);
    expect((await events.log.end()).epoch).not.toBe(epoch);
    await until('the feed continues', () => events.feed.position === 2);
    await expect(events.log.search({ seq: 2, epoch }, 1, {})).rejects.toThrow(CursorForeignError);
  });
});
