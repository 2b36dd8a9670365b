import { Test } from '@nestjs/testing';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { PlatformModule } from '../platform.module.js';
import type { Database } from '../postgres/database.js';
import {
  appendEvents,
  eventsOf,
  RecordedFaults,
  RecordingSink,
  testDatabase,
  type TestDatabase,
  type TestEvents,
  testPlatformOptions,
} from '../testing/index.js';
import { until } from '#rollcall/test-support';
import { DeliveryError, type SinkFactory } from './event.sink.js';
import { SinkFactories } from './sink.factories.js';
import { SinkSupervisor } from './sink.supervisor.js';
import { SinksService } from './sinks.service.js';

interface Replica {
  events: TestEvents;
  sinks: SinksService;
  supervisor: SinkSupervisor;
  faults: unknown[];
  stop(): Promise<void>;
}

let database: TestDatabase;
let receivers: Map<string, RecordingSink>;
const replicas: Replica[] = [];

beforeEach(async () => {
  database = await testDatabase();
  receivers = new Map();
});
afterEach(async () => {
  await Promise.all(replicas.splice(0).map(async (one) => await one.stop()));
  await database.drop();
});

/** All replicas deliver to the same receivers. */
async function replica(
  db: Database,
  { leaseMs, create = async (id) => sinkOf(id) }: { leaseMs?: number; create?: SinkFactory } = {},
): Promise<Replica> {
  const options = testPlatformOptions(db);
  const platform = PlatformModule.forRoot({ ...options, sinks: { ...options.sinks, leaseMs } });
  const recorded = new RecordedFaults();
  const module = await Test.createTestingModule({ imports: [platform] })
    .overrideProvider(BackgroundFaults)
    .useValue(recorded)
    .compile();
  const events = eventsOf(module);
  const sinks = module.get(SinksService, { strict: false });
  const supervisor = module.get(SinkSupervisor, { strict: false });
  const faults = recorded.all;
  module.get(SinkFactories, { strict: false }).register('test', create);
  events.start();
  supervisor.start();
  const stop = async (): Promise<void> => {
    await supervisor.stop();
    await events.stop();
  };
  const one = { events, sinks, supervisor, faults, stop };
  replicas.push(one);
  return one;
}

function sinkOf(id: string): RecordingSink {
  const sink = receivers.get(id) ?? new RecordingSink();
  receivers.set(id, sink);
  return sink;
}

async function append({ events }: Replica, count: number): Promise<void> {
  await appendEvents(database.db, events, count);
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

describe('a sink', () => {
  it('B3 a sink receives every matching event once and in order, starting after its cursor', async () => {
    const here = await replica(database.db);
    await append(here, 5);
    await until('the events are logged', async () => (await here.events.log.head()) === 5);
    await here.sinks.add('all', 'test', { after: 0 });
    await here.sinks.add('new', 'test', {});
    sinkOf('some').matches = ({ subject }) => subject === 'a-1';
    await here.sinks.add('some', 'test', { after: 0 });
    await until('all sinks are held', () => here.supervisor.held.length === 3);
    await append(here, 250);
    await until('all events have arrived', () => sinkOf('all').arrived.length === 255);
    await until('the new events have arrived', () => sinkOf('new').arrived.length === 250);
    expect(sinkOf('all').arrived).toEqual(upTo(255));
    expect(sinkOf('new').arrived).toEqual(upTo(255).slice(5));
    await until('the matching events have arrived', () => sinkOf('some').arrived.length === 85);
    await until('the cursors have passed the events that do not match', async () => {
      here.supervisor.wake();
      return (await here.sinks.list()).every(({ cursor, lagMs }) => cursor === 255 && lagMs === null);
    });
    expect(here.faults).toEqual([]);
  });

  it('retries a failed delivery before it sends the next event, and reports the state retrying meanwhile', async () => {
    const here = await replica(database.db);
    const sink = sinkOf('one');
    sink.retries = { maxAttempts: null, firstDelayMs: 1, maxDelayMs: 2 };
    let broken = true;
    sink.onAttempt = ({ seq }) => {
      if (broken && seq === 2) throw new DeliveryError('out of service', { status: 503, retryAfterMs: 1 });
    };
    await here.sinks.add('one', 'test', { after: 0 });
    await append(here, 3);
    await until('several attempts have failed', async () => (await here.sinks.get('one')).attempts > 3);
    expect(await here.sinks.get('one')).toMatchObject({ state: 'retrying', cursor: 1, lastError: 'out of service' });
    expect(await here.sinks.delivery('one', 2)).toMatchObject({
      state: 'retrying',
      status: 503,
      error: 'out of service',
    });
    broken = false;
    await until('all events have arrived', () => sink.arrived.length === 3);
    expect(sink.arrived).toEqual([1, 2, 3]);
    await until('the sink is delivering again', async () => (await here.sinks.get('one')).state === 'delivering');
  });

  it('parks an event after the last attempt, continues with the next event, and sends the parked event again on request', async () => {
    const here = await replica(database.db);
    const sink = sinkOf('one');
    let poison = true;
    sink.onAttempt = ({ seq }) => {
      if (poison && seq === 2) throw new DeliveryError('invalid event', { status: 400 });
    };
    await here.sinks.add('one', 'test', { after: 0 });
    await append(here, 3);
    await until('the other events have arrived', () => sink.arrived.length === 2);
    await until('all deliveries are recorded', async () => (await here.sinks.get('one')).cursor === 3);
    expect(await here.sinks.delivery('one', 2)).toMatchObject({ state: 'parked', attempts: 3, status: 400 });
    expect(await here.sinks.get('one')).toMatchObject({ state: 'delivering', parked: 1 });
    await here.sinks.replayOne('one', 2);
    await until('the event is parked again', async () => (await here.sinks.delivery('one', 2)).attempts === 4);
    expect(await here.sinks.delivery('one', 2)).toMatchObject({ state: 'parked' });
    poison = false;
    await database.db.query('DELETE FROM event_log'); // the delivery has a copy of the event
    expect(await here.sinks.replayParked('one')).toBe(1);
    await until('the parked event has arrived', () => sink.arrived.includes(2));
    await until('the delivery is recorded', async () => (await here.sinks.delivery('one', 2)).state === 'delivered');
    expect(sink.arrived).toEqual([1, 3, 2]);
  });

  it('a replay sends all events after a sequence number to the sink again', async () => {
    const here = await replica(database.db);
    const sink = sinkOf('one');
    await here.sinks.add('one', 'test', { after: 0 });
    await append(here, 4);
    await until('all events have arrived', () => sink.arrived.length === 4);
    await until('all deliveries are recorded', async () => (await here.sinks.get('one')).cursor === 4);
    await here.sinks.replayAfter('one', 2);
    await until('the last two events have arrived again', () => sink.arrived.length === 6);
    expect(sink.arrived).toEqual([1, 2, 3, 4, 3, 4]);
    await expect(here.sinks.replayAfter('one', 99)).rejects.toMatchObject({ code: 'CURSOR_AHEAD' });
    await expect(here.sinks.replayAfter('none', 1)).rejects.toMatchObject({ code: 'SINK_NOT_FOUND' });
  });

  it('a paused sink receives nothing, and receives the missed events when it is resumed', async () => {
    const here = await replica(database.db);
    const sink = sinkOf('one');
    await here.sinks.add('one', 'test', { after: 0 });
    await until('the sink is held', () => here.supervisor.held.length === 1);
    await here.sinks.pause('one', true);
    await until('the sink is released', () => here.supervisor.held.length === 0);
    await append(here, 3);
    await until('the events are logged', async () => (await here.events.log.head()) === 3);
    expect(await here.sinks.get('one')).toMatchObject({ state: 'paused', cursor: 0, held: false });
    expect(sink.arrived).toEqual([]);
    await here.sinks.pause('one', false);
    await until('all events have arrived', () => sink.arrived.length === 3);
  });

  it('a sink stops with an error, and skips no event, when retention has deleted events after its cursor', async () => {
    const before = await replica(database.db);
    await append(before, 5);
    await until('the events are logged', async () => (await before.events.log.head()) === 5);
    await database.db.query('DELETE FROM event_log WHERE seq <= 3');
    await before.supervisor.stop();
    const here = await replica(await database.connectAgain());
    await here.sinks.add('one', 'test', { after: 1 });
    await until('the sink is stopped', async () => (await here.sinks.get('one')).state === 'stopped');
    const { lastError, cursor } = await here.sinks.get('one');
    expect({ lastError, cursor }).toEqual({ lastError: expect.stringContaining('snapshot') as string, cursor: 1 });
    expect(sinkOf('one').arrived).toEqual([]);
    await here.sinks.replayAfter('one', 3);
    await until('the remaining events have arrived', () => sinkOf('one').arrived.length === 2);
    expect(await here.sinks.get('one')).toMatchObject({ state: 'delivering', lastError: null });
  });

  it('a sink stops when events of its namespace have expired; a sink of all namespaces receives the expired events', async () => {
    const before = await replica(database.db);
    await append(before, 5);
    await until('the events are logged', async () => (await before.events.log.head()) === 5);
    await database.db.query(`UPDATE namespace SET limits = '{"eventsKept": 2}' WHERE name = 'default'`);
    expect(await before.events.pruner.expire()).toEqual({ expired: 3 });
    await before.supervisor.stop();
    sinkOf('one').namespace = 'default';
    sinkOf('other').namespace = 'team-a';
    sinkOf('other').matches = ({ namespace }) => namespace === 'team-a';
    const here = await replica(await database.connectAgain());
    for (const id of ['one', 'other', 'all']) await here.sinks.add(id, 'test', { after: 1 });
    await until('the sink is stopped', async () => (await here.sinks.get('one')).state === 'stopped');
    await until('the sink of all namespaces has all events', () => sinkOf('all').arrived.length === 4);
    expect(sinkOf('one').arrived).toEqual([]);
    expect((await here.sinks.get('one')).lastError).toContain('the earliest cursor is 3');
    expect(await here.sinks.get('other')).toMatchObject({ state: 'delivering', lastError: null });
    await here.sinks.replayAfter('one', 3);
    await until('the remaining events have arrived', () => sinkOf('one').arrived.length === 2);
  });

  it('a sink whose deliveries hang does not delay other sinks', async () => {
    const here = await replica(database.db);
    sinkOf('hanging').onAttempt = async (_event, signal) =>
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    await here.sinks.add('hanging', 'test', { after: 0 });
    await here.sinks.add('healthy', 'test', { after: 0 });
    await append(here, 100);
    await until('the healthy sink has all events', () => sinkOf('healthy').arrived.length === 100);
    expect(await here.sinks.get('hanging')).toMatchObject({ cursor: 0 });
  });

  it('a removed sink is not found, and its deliveries are deleted', async () => {
    const here = await replica(database.db);
    await here.sinks.add('one', 'test', { after: 0 });
    await append(here, 2);
    await until('all events have arrived', () => sinkOf('one').arrived.length === 2);
    await until('both deliveries are recorded', async () => (await here.sinks.get('one')).cursor === 2);
    await here.sinks.remove('one');
    await until('the sink is released', () => here.supervisor.held.length === 0);
    await expect(here.sinks.get('one')).rejects.toMatchObject({ code: 'SINK_NOT_FOUND' });
    expect(await here.sinks.deleteOldDeliveries(3_600_000, 3_600_000)).toBe(2);
  });

  it('lists its deliveries, newest first, until they are older than the retention time', async () => {
    const here = await replica(database.db);
    await here.sinks.add('one', 'test', { after: 0 });
    await append(here, 3);
    await until('all events have arrived', () => sinkOf('one').arrived.length === 3);
    await until('all deliveries are recorded', async () => (await here.sinks.get('one')).cursor === 3);
    const rows = await here.sinks.listDeliveries('one', 2);
    expect(rows.map(({ seq, state, attempts, status }) => ({ seq, state, attempts, status }))).toEqual([
      { seq: '3', state: 'delivered', attempts: 1, status: 200 },
      { seq: '2', state: 'delivered', attempts: 1, status: 200 },
    ]);
    expect((await here.sinks.listDeliveries('one', 9, '2')).map(({ seq }) => seq)).toEqual(['1']);
    expect(await here.sinks.listDeliveries('one', 9, undefined, 'parked')).toEqual([]);
    await database.db.query(`UPDATE event_delivery SET last_at = last_at - interval '2 days' WHERE seq < 3`);
    expect(await here.sinks.deleteOldDeliveries(86_400_000, 86_400_000)).toBe(2);
  });
});

describe('a sink that cannot be created', () => {
  it('reports the reason, does not affect other sinks, and delivers as soon as it can be created', async () => {
    let broken = true;
    const here = await replica(database.db, {
      create: async (id) => {
        if (broken && id === 'broken') throw new Error('the secret cannot be read');
        return sinkOf(id);
      },
    });
    await here.sinks.add('broken', 'test', { after: 0 });
    await here.sinks.add('healthy', 'test', { after: 0 });
    await append(here, 3);
    await until('the healthy sink has all events', () => sinkOf('healthy').arrived.length === 3);
    await until('the broken sink reports its error', async () => (await here.sinks.get('broken')).state === 'retrying');
    expect((await here.sinks.get('broken')).lastError).toContain('the secret cannot be read');
    broken = false;
    here.supervisor.wake();
    await until('the repaired sink has all events', () => sinkOf('broken').arrived.length === 3);
  });
});

describe('sinks of several replicas', () => {
  it('each sink is held by exactly one replica, and another replica continues when that replica stops', async () => {
    const [one, two] = [await replica(database.db), await replica(await database.connectAgain())];
    for (const id of ['x', 'y', 'z']) await one.sinks.add(id, 'test', { after: 0 });
    await until('all sinks are held', () => one.supervisor.held.length + two.supervisor.held.length === 3);
    expect([...one.supervisor.held, ...two.supervisor.held].toSorted()).toEqual(['x', 'y', 'z']);
    await append(one, 30);
    await one.supervisor.stop();
    await append(one, 30);
    await until('all events have arrived', () => ['x', 'y', 'z'].every((id) => sinkOf(id).arrived.length >= 60));
    for (const id of ['x', 'y', 'z']) expect(sinkOf(id).arrived).toEqual(upTo(60));
    expect(two.supervisor.held.toSorted()).toEqual(['x', 'y', 'z']);
  });

  it('no event is lost when a replica loses its lease during a delivery, and later writes of that replica are rejected', async () => {
    const one = await replica(database.db, { leaseMs: 300 });
    const sink = sinkOf('one');
    const release = Promise.withResolvers<void>();
    let attempts = 0;
    sink.onAttempt = async ({ seq }) => {
      if (seq === 3 && ++attempts === 1) await release.promise;
    };
    await one.sinks.add('one', 'test', { after: 0 });
    await append(one, 5);
    await until('the delivery of the third event hangs', () => attempts === 1);
    await database.db.query(`UPDATE event_sink SET lease_until = clock_timestamp() - interval '1 second'`);
    const two = await replica(await database.connectAgain());
    await until('the other replica has delivered all events', () => sink.arrived.length === 5);
    expect(sink.arrived).toEqual([1, 2, 3, 4, 5]);
    release.resolve();
    await until(
      'the first replica has released the sink',
      () => sink.arrived.length === 6 && one.supervisor.held.length === 0,
    );
    expect(sink.arrived.at(-1)).toBe(3);
    await until('the cursor is saved', async () => (await two.sinks.get('one')).cursor === 5);
    expect(await two.sinks.delivery('one', 3)).toMatchObject({ attempts: 1 });
  });

  it('no event is lost while connections are terminated at random', async () => {
    const all = [
      await replica(database.db, { leaseMs: 500 }),
      await replica(await database.connectAgain(), { leaseMs: 500 }),
    ];
    const [first] = all;
    if (!first) throw new Error('there is no replica');
    await first.sinks.add('one', 'test', { after: 0 });
    const admin = database.db.dedicatedClient('admin');
    await admin.connect();
    for (let round = 0; round < 20; round++) {
      await append(first, 10).catch(() => undefined); // fewer events are appended if the connection is terminated
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 3`);
    }
    // uses `admin`, because the pool may still contain terminated connections
    await until('all events are logged', async () => (await admin.query('SELECT 1 FROM event_staging')).rowCount === 0);
    const counter = await admin.query<{ head: string }>('SELECT head FROM event_counter');
    await admin.end();
    const head = Number(counter.rows[0]?.head);
    await until('all events have arrived', () => new Set(sinkOf('one').arrived).size === head);
    const firsts = sinkOf('one').arrived.filter((seq, index, seqs) => seqs.indexOf(seq) === index);
    expect(firsts).toEqual(upTo(head));
  });
});
