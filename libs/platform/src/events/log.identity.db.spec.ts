import { until } from '#rollcall/test-support';
import type { Database } from '../postgres/database.js';
import {
  appendEvents,
  type TestDatabase,
  testEvents,
  type TestEvents,
  testReplica,
  type TestReplica,
} from '../testing/index.js';
import { CursorForeignError } from './event.cursor.js';

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
  await appendEvents(db, through, count);
  await through.sequencer.runOnce();
}

describe('the epoch of the log', () => {
  it('D9 all replicas have the same epoch, even after restarts', async () => {
    const epoch = await epochOf(database.db);
    expect(epoch).toMatch(/^[0-9a-f]{8}$/);
    expect(await epochOf(await database.connectAgain())).toBe(epoch);
    expect(await epochOf(database.db)).toBe(epoch);
  });

  it('D9 a restored backup gets a new epoch and rejects cursors of the original database', async () => {
    await write(3);
    const { seq, epoch } = await events.log.end();
    const backup = await database.copy();
    const restored = await testEvents(backup.db);
    await write(5, restored, backup.db);
    await expect(restored.log.search({ seq, epoch }, 10, {})).rejects.toThrow(CursorForeignError);
    await expect(restored.log.locate(`${seq}-${epoch}`)).rejects.toThrow(CursorForeignError);
    expect(await restored.log.locate(String(seq))).toMatchObject({ seq });
    await until(
      'the original database accepts connections again',
      async () => (await epochOf(database.db).catch(() => undefined)) === epoch,
    );
    await backup.drop();
  });

  it('D9 the epoch changes when the tables are restored in place', async () => {
    const epoch = await epochOf(database.db);
    await database.db.query('ALTER TABLE event_counter RENAME TO dumped');
    await database.db.query('CREATE TABLE event_counter AS TABLE dumped');
    expect(await epochOf(database.db)).not.toBe(epoch);
  });

  it('D9 the epoch changes after point-in-time recovery, which starts a new timeline', async () => {
    const epoch = await epochOf(database.db);
    await database.db.query(`UPDATE event_counter SET origin = regexp_replace(origin, '[0-9A-F]{8}$', '00000000')`);
    expect(await epochOf(database.db)).not.toBe(epoch);
  });

  it('D9 the epoch is stable when the server does not reveal its cluster identifier', async () => {
    await database.db.query('ALTER FUNCTION pg_control_system() RENAME TO pg_control_hidden');
    const epoch = await epochOf(database.db);
    expect(await epochOf(database.db)).toBe(epoch);
  });

  it('D9 the epoch changes when the head is lower than the last event that a running replica has read', async () => {
    const { epoch } = await events.log.end();
    events.start();
    await write(5);
    await until('the feed has read the events', () => events.feed.position === 5);
    const errors: Error[] = [];
    const subscription = events.feed.subscribe(3, {
      accept: () => undefined,
      expired: (error) => void errors.push(error),
    });
    await until('the consumer has all events', () => subscription.cursor === 5);
    await database.db.query('DELETE FROM event_log WHERE seq > 2');
    await database.db.query('UPDATE event_counter SET head = 2');
    events.feed.wake();
    await until('the subscription has ended', () => errors.length === 1);
    expect(errors[0]).toBeInstanceOf(CursorForeignError);
    expect((await events.log.end()).epoch).not.toBe(epoch);
    await until('the feed continues', () => events.feed.position === 2);
    await expect(events.log.search({ seq: 2, epoch }, 1, {})).rejects.toThrow(CursorForeignError);
  });
});
