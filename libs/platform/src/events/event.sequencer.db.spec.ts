import { qualifiedId } from '../namespaces/namespace.js';
import type { Database } from '../postgres/database.js';
import {
  readAll,
  type TestDatabase,
  testEvents,
  type TestEvents,
  testReplica,
  type TestReplica,
} from '../testing/index.js';
import { until } from '#rollcall/test-support';

let replica: TestReplica;
let database: TestDatabase;
let db: Database;
let events: TestEvents;

beforeEach(async () => {
  replica = await testReplica();
  ({ database, db, events } = replica);
});
afterEach(async () => await replica.stop());

const join = async (agentId: string, capabilities: string[] = []): Promise<void> =>
  await db.transaction(async () => await joinInside(agentId, capabilities));

const joinInside = async (agentId: string, capabilities: string[] = []): Promise<void> =>
  await events.outbox.append('agent.joined', agentId, { generation: 1, name: agentId, capabilities }, { capabilities });

const staged = async (): Promise<number> =>
  Number((await db.query<{ count: string }>('SELECT count(*) FROM event_staging'))[0]?.count);

describe('an event', () => {
  it('B3 the log contains an event with its seq, subject, time, capabilities and payload', async () => {
    await join('a-1', ['code']);
    expect(await events.sequencer.runOnce()).toEqual({ moved: 1 });
    const [event] = await readAll(events);
    expect(event).toEqual({
      seq: 1,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      type: 'agent.joined',
      namespace: 'default',
      subject: 'a-1',
      capabilities: ['code'],
      at: expect.any(Date) as Date,
      data: { generation: 1, name: 'a-1', capabilities: ['code'] },
    });
  });

  it('the log contains the namespace of an event, and the local id of its agent', async () => {
    await db.transaction(async () => {
      await joinInside('team-a/builder');
      await joinInside(qualifiedId('default', 'with/slash'));
      await events.outbox.append('budget.low', '7', {} as never, { namespace: 'team-b' });
      await events.outbox.append('protection.left', 'registry', { fleet: 1 });
    });
    await events.sequencer.runOnce();
    expect((await readAll(events)).map(({ namespace, subject }) => [namespace, subject])).toEqual([
      ['team-a', 'builder'],
      ['default', 'with/slash'],
      ['team-b', '7'],
      ['*', 'registry'],
    ]);
  });

  it('B3 an event of a failed transaction is not in the log and uses no seq', async () => {
    const failing = db.transaction(async () => {
      await joinInside('rolled-back');
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await events.sequencer.runOnce()).toEqual({ moved: 0 });
    await join('committed');
    await events.sequencer.runOnce();
    expect((await readAll(events)).map(({ seq, subject }) => [seq, subject])).toEqual([[1, 'committed']]);
  });

  it('rejects an event outside a transaction, with a message that names the solution', async () => {
    await expect(joinInside('a-1')).rejects.toThrow('agent.joined must be appended in the transaction');
    expect(await staged()).toBe(0);
  });

  it('events appended together keep their order, with any characters in their subjects', async () => {
    const data = { generation: 1, missedBeats: 2 };
    const names = Array.from({ length: 50 }, (_, index) => `agent "${index}" \u{1F41D} \\ {},'`);
    await db.transaction(
      async () =>
        await events.outbox.appendAll(names.map((subject) => ({ type: 'agent.suspect' as const, subject, data }))),
    );
    await events.sequencer.runOnce();
    expect((await readAll(events)).map(({ subject }) => subject)).toEqual(names);
  });
});

describe('the text of an event', () => {
  it('an event with a NUL character rolls back the transaction', async () => {
    const withNul = db.transaction(async () => {
      await db.query('CREATE TABLE half_done ()');
      await events.outbox.append('agent.resumed', 'a-1', { by: 'a\0b' });
    });
    await expect(withNul).rejects.toThrow('unsupported Unicode escape sequence');
    await expect(db.transaction(async () => await joinInside('a\0b'))).rejects.toThrow('NUL character');
    const [row] = await db.query<{ found: unknown }>(`SELECT to_regclass('half_done') AS found`);
    expect([row?.found, await staged()]).toEqual([null, 0]);
  });

  it('an event may contain quotes, comments and statement separators', async () => {
    const name = `'); DROP TABLE event_log; --\\' /* $1 */`;
    const agentId = qualifiedId('default', name);
    await join(agentId, [name, '{},"']);
    await events.sequencer.runOnce();
    expect(await readAll(events)).toMatchObject([
      { namespace: 'default', subject: name, capabilities: [name, '{},"'], data: { name: agentId } },
    ]);
  });
});

describe('the sequencer', () => {
  it('moves at most 1,000 events in one pass, in the order in which they were staged', async () => {
    await db.query(
      `INSERT INTO event_staging (type, subject, capabilities, data)
       SELECT 'agent.resumed', 'a-' || n, '{}', '{"by":"x"}' FROM generate_series(1, 1500) AS n ORDER BY n`,
    );
    expect([await events.sequencer.runOnce(), await events.sequencer.runOnce()]).toEqual([
      { moved: 1_000 },
      { moved: 500 },
    ]);
    const all = await readAll(events);
    expect(all.map(({ seq, subject }) => [seq, subject])).toEqual(all.map((_, index) => [index + 1, `a-${index + 1}`]));
  });

  it('a commit wakes the sequencer', async () => {
    let wakes = 0;
    const wake = events.sequencer.wake.bind(events.sequencer);
    events.sequencer.wake = () => {
      wakes += 1;
      wake();
    };
    events.start();
    await until('the feed has read the log', () => events.feed.position !== undefined);
    await join('a-1');
    expect(wakes).toBe(1);
    await until('the feed has the event', () => events.feed.position === 1);
    expect(await staged()).toBe(0);
  });

  it('moves the events of a writer that died before it could wake a sequencer', async () => {
    await join('orphan');
    const other = await testEvents(await database.connectAgain());
    other.start();
    await until('the event is in the log', async () => (await events.log.head()) === 1);
    expect((await readAll(events)).map(({ subject }) => subject)).toEqual(['orphan']);
    await other.stop();
  });

  it('waits for the sequencer of another replica, and sees its changes', async () => {
    await join('a-1');
    const client = db.dedicatedClient('holder');
    await client.connect();
    await client.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('rollcall.event_sequencer'))`);
    const pass = events.sequencer.runOnce();
    const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    await until('the sequencer waits for the lock', async () => (await client.query(waiting)).rowCount === 1);
    await client.query('DELETE FROM event_staging; COMMIT');
    await client.end();
    expect(await pass).toEqual({ moved: 0 });
  });

  it('continues after its connection was terminated, and loses no event', async () => {
    events.start();
    for (let index = 0; index < 20; index++) {
      await join(`a-${index}`).catch(async () => await join(`a-${index}`));
      await database.db
        .query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        )
        .catch(() => undefined); // the pool may return a connection that the previous round has terminated
    }
    await until('all events are in the log', async () => (await events.log.head().catch(() => 0)) >= 20);
    const subjects = new Set((await readAll(events)).map(({ subject }) => subject));
    expect(subjects.size).toBe(20);
  });
});
