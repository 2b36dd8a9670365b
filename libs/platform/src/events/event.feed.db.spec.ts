import type { Database } from '../postgres/database.js';
import { type TestDatabase, testEvents, type TestEvents, testReplica, type TestReplica } from '../testing/index.js';
import { until } from '#rollcall/test-support';
import { CursorAheadError, CursorExpiredError } from './event.errors.js';
import type { RegistryEvent } from './event.types.js';
import type { FeedSubscription } from './feed.subscription.js';

let replica: TestReplica;
let database: TestDatabase;
let db: Database;
let events: TestEvents;

beforeEach(async () => {
  replica = await testReplica();
  ({ database, db, events } = replica);
});
afterEach(async () => await replica.stop());

async function write(count: number, through: TestEvents = events): Promise<void> {
  const data = { by: 'test' };
  const drafts = Array.from({ length: count }, (_, index) => ({
    type: 'agent.resumed' as const,
    subject: `a-${index}`,
    data,
  }));
  await db.transaction(async () => await through.outbox.appendAll(drafts));
}

/** A consumer that writes down what it gets. */
function follow(after: number, from: TestEvents = events): { seqs: number[]; ends: Error[]; way: FeedSubscription } {
  const seqs: number[] = [];
  const ends: Error[] = [];
  const way = from.feed.subscribe(after, {
    accept: (batch: readonly RegistryEvent[]) => void seqs.push(...batch.map(({ seq }) => seq)),
    expired: (error) => void ends.push(error),
  });
  return { seqs, ends, way };
}

const upTo = (count: number, from = 1): number[] =>
  Array.from({ length: count - from + 1 }, (_, index) => from + index);

describe('the feed', () => {
  it('B3 gives every event once and in order, whether the consumer was there before, comes now, or comes back', async () => {
    events.start();
    await until('it has looked', () => events.feed.position === 0);
    const early = follow(0);
    await write(5_000);
    const meanwhile = follow(0);
    await write(5_000);
    await until('all are logged', () => events.feed.position === 10_000);
    const late = follow(0);
    const back = follow(9_990);
    await write(10);
    for (const { seqs } of [early, meanwhile, late])
      await until('it has all', () => seqs.length >= 10_010).then(() => expect(seqs).toEqual(upTo(10_010)));
    await until('the one that came back has all', () => back.seqs.length >= 20);
    expect(back.seqs).toEqual(upTo(10_010, 9_991));
  });

  it('hears of what another replica wrote, by NOTIFY', async () => {
    const elsewhere = await testEvents(await database.connectAgain());
    elsewhere.start();
    events.start();
    await until('both listen', () => events.listener.connected && elsewhere.listener.connected);
    await until('it has looked', () => elsewhere.feed.position === 0);
    const { seqs } = follow(0, elsewhere);
    await write(3);
    await until('it arrived', () => seqs.length === 3, 800);
    expect(seqs).toEqual([1, 2, 3]);
    await elsewhere.stop();
  });

  it('goes on while no one can be heard, and listens again by itself', async () => {
    let connections = 0;
    events.listener.onConnected(() => connections++);
    events.start();
    await until('it listens', () => connections === 1);
    const { seqs } = follow(0);
    const mayConnect = 'UPDATE pg_database SET datallowconn = $1 WHERE datname = current_database()';
    await Promise.all(Array.from({ length: 6 }, async () => await db.query('SELECT pg_sleep(0.05)'))); // fills the pool
    await db.query(mayConnect, [false]);
    await db.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'rollcall-listener'`);
    await until('it noticed', () => !events.listener.connected);
    await write(3);
    await until('it arrived', () => seqs.length === 3);
    expect([events.listener.connected, connections]).toEqual([false, 1]);
    await db.query(mayConnect, [true]);
    await until('it listens again', () => connections === 2);
    await write(2);
    await until('that arrived too', () => seqs.length === 5);
    expect(seqs).toEqual(upTo(5));
  });

  it('does not let one consumer wait for another, and goes on when that one can take more', async () => {
    events.start();
    await until('it has looked', () => events.feed.position === 0);
    const slow: number[] = [];
    const way = events.feed.subscribe(0, {
      accept: (batch) => {
        slow.push(...batch.map(({ seq }) => seq));
        return false;
      },
      expired: () => undefined,
    });
    const quick = follow(0);
    await write(1);
    await until('the quick one has it', () => quick.seqs.length === 1);
    await write(500);
    await until('the quick one has all', () => quick.seqs.length === 501);
    expect(slow).toEqual([1]);
    while (slow.length < 501) way.resume();
    expect(slow).toEqual(upTo(501));
  });

  it('gives the same events again to a consumer that failed', async () => {
    events.start();
    await until('it has looked', () => events.feed.position === 0);
    const seen: number[] = [];
    let failures = 0;
    events.feed.subscribe(0, {
      accept: (batch) => {
        if (failures++ === 0) throw new Error('not now');
        seen.push(...batch.map(({ seq }) => seq));
      },
      expired: () => undefined,
    });
    await write(3);
    await until('it has all', () => seen.length === 3);
    expect([seen, events.faults]).toEqual([[1, 2, 3], [new Error('not now')]]);
  });

  it('stops giving when the subscription is closed', async () => {
    events.start();
    const { seqs, way } = follow(0);
    way.close();
    const other = follow(0);
    await write(2);
    await until('the other has them', () => other.seqs.length === 2);
    expect(seqs).toEqual([]);
  });
});

describe('a cursor', () => {
  it('B3 behind what is kept is told so, never passed over', async () => {
    await write(30);
    await events.sequencer.runOnce();
    await (await testEvents(db, { keepCount: 10 })).pruner.prune();
    await expect(events.log.page(19, 100)).rejects.toThrow(new CursorExpiredError(19, 20));
    expect((await events.log.page(20, 100)).events.map(({ seq }) => seq)).toEqual(upTo(30, 21));
    events.start();
    const { ends, seqs } = follow(0);
    await until('it is told', () => ends.length === 1);
    expect([ends[0], seqs]).toEqual([new CursorExpiredError(0, 20), []]);
  });

  it('at the head of a log that is pruned empty is good, and the next seq is not given twice', async () => {
    await write(3);
    await events.sequencer.runOnce();
    await db.query(`UPDATE event_log SET at = at - interval '2 hours'`);
    expect(await events.pruner.prune()).toEqual({ pruned: 3 });
    expect(await events.log.page(3, 10)).toMatchObject({ head: 3, upTo: 3, events: [] });
    await expect(events.log.page(2, 10)).rejects.toThrow(CursorExpiredError);
    await write(1);
    await events.sequencer.runOnce();
    expect((await events.log.page(3, 10)).events.map(({ seq }) => seq)).toEqual([4]);
  });

  it('ahead of the log is told so', async () => {
    await expect(events.log.page(7, 10)).rejects.toThrow(new CursorAheadError(7, 0));
  });
});

describe('pruning', () => {
  it('goes from the lower end only, by number and by age, in steps', async () => {
    await write(2_500);
    while ((await events.sequencer.runOnce()).moved > 0);
    expect(await (await testEvents(db, { keepCount: 100 })).pruner.prune()).toEqual({ pruned: 2_400 });
    await db.query(`UPDATE event_log SET at = at - interval '2 hours' WHERE seq <= 2450 OR seq = 2470`);
    expect(await events.pruner.prune()).toEqual({ pruned: 50 });
    expect((await events.log.page(2_450, 100)).events).toHaveLength(50);
    expect(await events.pruner.prune()).toEqual({ pruned: 0 });
  });

  it('does not wait for writers, nor they for it', async () => {
    await write(10);
    await events.sequencer.runOnce();
    const client = db.dedicatedClient('writer');
    await client.connect();
    await client.query(
      `BEGIN; INSERT INTO event_staging (type, subject, capabilities, data) VALUES ('x', 'y', '{}', '{}')`,
    );
    expect(await (await testEvents(db, { keepCount: 4 })).pruner.prune()).toEqual({ pruned: 6 });
    await client.query('ROLLBACK');
    await client.end();
  });
});
