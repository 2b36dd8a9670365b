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
import { CursorAheadError, CursorExpiredError } from './event.cursor.js';
import type { RegistryEvent } from './event.js';
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

const write = async (count: number): Promise<void> => await appendEvents(db, events, count);

/** Subscribes a consumer that records what it receives. */
function follow(
  after: number,
  from: TestEvents = events,
): { seqs: number[]; errors: Error[]; subscription: FeedSubscription } {
  const seqs: number[] = [];
  const errors: Error[] = [];
  const subscription = from.feed.subscribe(after, {
    accept: (batch: readonly RegistryEvent[]) => void seqs.push(...batch.map(({ seq }) => seq)),
    expired: (error) => void errors.push(error),
  });
  return { seqs, errors, subscription };
}

const upTo = (count: number, from = 1): number[] =>
  Array.from({ length: count - from + 1 }, (_, index) => from + index);

describe('the feed', () => {
  it('B3 delivers every event once and in order, at whatever time a consumer subscribes, and after it resumes', async () => {
    events.start();
    await until('the feed has read the log', () => events.feed.position === 0);
    const early = follow(0);
    await write(5_000);
    const during = follow(0);
    await write(5_000);
    await until('all events are logged', () => events.feed.position === 10_000);
    const late = follow(0);
    const resumed = follow(9_990);
    await write(10);
    for (const { seqs } of [early, during, late])
      await until('the consumer has all events', () => seqs.length >= 10_010).then(() =>
        expect(seqs).toEqual(upTo(10_010)),
      );
    await until('the resumed consumer has all events', () => resumed.seqs.length >= 20);
    expect(resumed.seqs).toEqual(upTo(10_010, 9_991));
  });

  it('NOTIFY wakes the feed when another replica has written events', async () => {
    const { listener, feed, ...other } = await testEvents(await database.connectAgain());
    const heads: (number | undefined)[] = [];
    const wake = feed.wake.bind(feed);
    feed.wake = (head) => {
      heads.push(head);
      wake(head);
    };
    listener.start();
    feed.start(); // the sequencer of this replica is not started, so only the listener can report a head
    events.start();
    await until('both listeners are connected', () => events.listener.connected && listener.connected);
    await until('the feed has read the log', () => feed.position === 0);
    const { seqs } = follow(0, { listener, feed, ...other });
    await write(3);
    await until('the events have arrived', () => seqs.length === 3);
    await until('the feed is woken by the notification', () => heads.includes(3));
    expect(seqs).toEqual([1, 2, 3]);
    await other.stop();
  });

  it('polls while its listener is disconnected, and the listener reconnects by itself', async () => {
    let connections = 0;
    events.listener.onConnected(() => connections++);
    events.start();
    await until('the listener is connected', () => connections === 1);
    const { seqs } = follow(0);
    const mayConnect = 'UPDATE pg_database SET datallowconn = $1 WHERE datname = current_database()';
    await Promise.all(Array.from({ length: 6 }, async () => await db.query('SELECT pg_sleep(0.05)'))); // fills the pool
    await db.query(mayConnect, [false]);
    await db.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'rollcall-listener'`);
    await until('the listener is disconnected', () => !events.listener.connected);
    await write(3);
    await until('the events have arrived', () => seqs.length === 3);
    expect([events.listener.connected, connections]).toEqual([false, 1]);
    await db.query(mayConnect, [true]);
    await until('the listener is connected again', () => connections === 2);
    await write(2);
    await until('the later events have arrived', () => seqs.length === 5);
    expect(seqs).toEqual(upTo(5));
  });

  it('a slow consumer does not delay another consumer, and continues when it accepts more events', async () => {
    events.start();
    await until('the feed has read the log', () => events.feed.position === 0);
    const slow: number[] = [];
    const subscription = events.feed.subscribe(0, {
      accept: (batch) => {
        slow.push(...batch.map(({ seq }) => seq));
        return false;
      },
      expired: () => undefined,
    });
    const fast = follow(0);
    await write(1);
    await until('the fast consumer has the event', () => fast.seqs.length === 1);
    await write(500);
    await until('the fast consumer has all events', () => fast.seqs.length === 501);
    expect(slow).toEqual([1]);
    while (slow.length < 501) subscription.resume();
    expect(slow).toEqual(upTo(501));
  });

  it('delivers the same events again to a consumer that failed', async () => {
    events.start();
    await until('the feed has read the log', () => events.feed.position === 0);
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
    await until('the consumer has all events', () => seen.length === 3);
    expect([seen, events.faults]).toEqual([[1, 2, 3], [new Error('not now')]]);
  });

  it('delivers nothing to a closed subscription', async () => {
    events.start();
    const { seqs, subscription } = follow(0);
    subscription.close();
    const other = follow(0);
    await write(2);
    await until('the other consumer has the events', () => other.seqs.length === 2);
    expect(seqs).toEqual([]);
  });
});

describe('a cursor', () => {
  it('B3 rejects a cursor behind the retained events with CURSOR_EXPIRED, and skips no event', async () => {
    await write(30);
    await events.sequencer.runOnce();
    await (await testEvents(db, { keepCount: 10 })).pruner.prune();
    await expect(events.log.page(19, 100)).rejects.toThrow(new CursorExpiredError(19, 20));
    expect((await events.log.page(20, 100)).events.map(({ seq }) => seq)).toEqual(upTo(30, 21));
    events.start();
    const { errors, seqs } = follow(0);
    await until('the subscription has expired', () => errors.length === 1);
    expect([errors[0], seqs]).toEqual([new CursorExpiredError(0, 20), []]);
  });

  it('a cursor at the head of a fully pruned log is valid, and no seq is assigned twice', async () => {
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

  it('rejects a cursor beyond the head', async () => {
    await expect(events.log.page(7, 10)).rejects.toThrow(new CursorAheadError(7, 0));
  });
});

describe('pruning', () => {
  it('deletes the oldest events, by number and by age, in batches', async () => {
    await write(2_500);
    while ((await events.sequencer.runOnce()).moved > 0);
    expect(await (await testEvents(db, { keepCount: 100 })).pruner.prune()).toEqual({ pruned: 2_400 });
    await db.query(`UPDATE event_log SET at = at - interval '2 hours' WHERE seq <= 2450 OR seq = 2470`);
    expect(await events.pruner.prune()).toEqual({ pruned: 50 });
    expect((await events.log.page(2_450, 100)).events).toHaveLength(50);
    expect(await events.pruner.prune()).toEqual({ pruned: 0 });
  });

  it('pruning does not wait for open transactions of writers', async () => {
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
