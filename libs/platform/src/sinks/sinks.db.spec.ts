import { Test } from '@nestjs/testing';
import type { EventDraft } from '../events/event.outbox.js';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { PlatformModule } from '../platform.module.js';
import type { Database } from '../postgres/database.js';
import {
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
let outside: Map<string, RecordingSink>;
const replicas: Replica[] = [];

beforeEach(async () => {
  database = await testDatabase();
  outside = new Map();
});
afterEach(async () => {
  await Promise.all(replicas.splice(0).map(async (one) => await one.stop()));
  await database.drop();
});

/** All replicas reach the same outside world. */
async function replica(
  db: Database,
  { leaseMs, make = async (id) => sinkOf(id) }: { leaseMs?: number; make?: SinkFactory } = {},
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
  module.get(SinkFactories, { strict: false }).register('test', make);
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
  const sink = outside.get(id) ?? new RecordingSink();
  outside.set(id, sink);
  return sink;
}

async function tell({ events }: Replica, count: number): Promise<void> {
  const draft = (index: number): EventDraft => ({
    type: 'agent.resumed',
    subject: `a-${index % 3}`,
    data: { by: 'test' },
  });
  await database.db.transaction(
    async () => await events.outbox.appendAll(Array.from({ length: count }, (_, index) => draft(index))),
  );
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

describe('a sink', () => {
  it('B3 gets every event it wants once and in order, from its cursor on', async () => {
    const here = await replica(database.db);
    await tell(here, 5);
    await until('logged', async () => (await here.events.log.head()) === 5);
    await here.sinks.add('all', 'test', { after: 0 });
    await here.sinks.add('new', 'test', {});
    sinkOf('some').matches = ({ subject }) => subject === 'a-1';
    await here.sinks.add('some', 'test', { after: 0 });
    await until('they are held', () => here.supervisor.held.length === 3);
    await tell(here, 250);
    await until('all arrived', () => sinkOf('all').arrived.length === 255);
    await until('the new ones arrived', () => sinkOf('new').arrived.length === 250);
    expect(sinkOf('all').arrived).toEqual(upTo(255));
    expect(sinkOf('new').arrived).toEqual(upTo(255).slice(5));
    await until('those wanted arrived', () => sinkOf('some').arrived.length === 85);
    await until('what is not wanted is passed too', async () => {
      here.supervisor.wake();
      return (await here.sinks.list()).every(({ cursor, lagMs }) => cursor === 255 && lagMs === null);
    });
    expect(here.faults).toEqual([]);
  });

  it('that fails is tried again, in order, and says so meanwhile', async () => {
    const here = await replica(database.db);
    const sink = sinkOf('one');
    sink.retries = { maxAttempts: null, firstDelayMs: 1, maxDelayMs: 2 };
    let broken = true;
    sink.onAttempt = ({ seq }) => {
      if (broken && seq === 2) throw new DeliveryError('out of order', { status: 503, retryAfterMs: 1 });
    };
    await here.sinks.add('one', 'test', { after: 0 });
    await tell(here, 3);
    await until('it was tried often', async () => (await here.sinks.get('one')).attempts > 3);
    expect(await here.sinks.get('one')).toMatchObject({ state: 'retrying', cursor: 1, lastError: 'out of order' });
    expect(await here.sinks.delivery('one', 2)).toMatchObject({
      state: 'retrying',
      status: 503,
      error: 'out of order',
    });
    broken = false;
    await until('all arrived', () => sink.arrived.length === 3);
    expect(sink.arrived).toEqual([1, 2, 3]);
    await until('it is well', async () => (await here.sinks.get('one')).state === 'delivering');
  });

  it('parks an event after its last try, goes on, and can be asked to send it again', async () => {
    const here = await replica(database.db);
    const sink = sinkOf('one');
    let poison = true;
    sink.onAttempt = ({ seq }) => {
      if (poison && seq === 2) throw new DeliveryError('I do not like it', { status: 400 });
    };
    await here.sinks.add('one', 'test', { after: 0 });
    await tell(here, 3);
    await until('the others arrived', () => sink.arrived.length === 2);
    await until('all deliveries are recorded', async () => (await here.sinks.get('one')).cursor === 3);
    expect(await here.sinks.delivery('one', 2)).toMatchObject({ state: 'parked', attempts: 3, status: 400 });
    expect(await here.sinks.get('one')).toMatchObject({ state: 'delivering', parked: 1 });
    await here.sinks.replayOne('one', 2);
    await until('it is parked again', async () => (await here.sinks.delivery('one', 2)).attempts === 4);
    expect(await here.sinks.delivery('one', 2)).toMatchObject({ state: 'parked' });
    poison = false;
    await database.db.query('DELETE FROM event_log'); // it is kept with the delivery
    expect(await here.sinks.replayParked('one')).toBe(1);
    await until('it arrived', () => sink.arrived.includes(2));
    await until('that is noted', async () => (await here.sinks.delivery('one', 2)).state === 'delivered');
    expect(sink.arrived).toEqual([1, 3, 2]);
  });

  it('gets everything after a sequence again', async () => {
    const here = await replica(database.db);
    const sink = sinkOf('one');
    await here.sinks.add('one', 'test', { after: 0 });
    await tell(here, 4);
    await until('all arrived', () => sink.arrived.length === 4);
    await until('all deliveries are recorded', async () => (await here.sinks.get('one')).cursor === 4);
    await here.sinks.replayAfter('one', 2);
    await until('the last two arrived again', () => sink.arrived.length === 6);
    expect(sink.arrived).toEqual([1, 2, 3, 4, 3, 4]);
    await expect(here.sinks.replayAfter('one', 99)).rejects.toMatchObject({ code: 'CURSOR_AHEAD' });
    await expect(here.sinks.replayAfter('none', 1)).rejects.toMatchObject({ code: 'SINK_NOT_FOUND' });
  });

  it('that is paused gets nothing, and loses nothing', async () => {
    const here = await replica(database.db);
    const sink = sinkOf('one');
    await here.sinks.add('one', 'test', { after: 0 });
    await until('it is held', () => here.supervisor.held.length === 1);
    await here.sinks.pause('one', true);
    await until('it is let go of', () => here.supervisor.held.length === 0);
    await tell(here, 3);
    await until('logged', async () => (await here.events.log.head()) === 3);
    expect(await here.sinks.get('one')).toMatchObject({ state: 'paused', cursor: 0, held: false });
    expect(sink.arrived).toEqual([]);
    await here.sinks.pause('one', false);
    await until('all arrived', () => sink.arrived.length === 3);
  });

  it('that was left behind by retention stops and says why, instead of leaving events out', async () => {
    const before = await replica(database.db);
    await tell(before, 5);
    await until('logged', async () => (await before.events.log.head()) === 5);
    await database.db.query('DELETE FROM event_log WHERE seq <= 3');
    await before.supervisor.stop();
    const here = await replica(await database.connectAgain());
    await here.sinks.add('one', 'test', { after: 1 });
    await until('it stopped', async () => (await here.sinks.get('one')).state === 'stopped');
    const { lastError, cursor } = await here.sinks.get('one');
    expect({ lastError, cursor }).toEqual({ lastError: expect.stringContaining('snapshot') as string, cursor: 1 });
    expect(sinkOf('one').arrived).toEqual([]);
    await here.sinks.replayAfter('one', 3);
    await until('the rest arrived', () => sinkOf('one').arrived.length === 2);
    expect(await here.sinks.get('one')).toMatchObject({ state: 'delivering', lastError: null });
  });

  it('that is dead does not delay the others', async () => {
    const here = await replica(database.db);
    sinkOf('dead').onAttempt = async (_event, signal) =>
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cut off'))));
    await here.sinks.add('dead', 'test', { after: 0 });
    await here.sinks.add('well', 'test', { after: 0 });
    await tell(here, 100);
    await until('the others arrived', () => sinkOf('well').arrived.length === 100);
    expect(await here.sinks.get('dead')).toMatchObject({ cursor: 0 });
  });

  it('that was removed is forgotten with its deliveries', async () => {
    const here = await replica(database.db);
    await here.sinks.add('one', 'test', { after: 0 });
    await tell(here, 2);
    await until('all arrived', () => sinkOf('one').arrived.length === 2);
    await until('both deliveries are recorded', async () => (await here.sinks.get('one')).cursor === 2);
    await here.sinks.remove('one');
    await until('it is let go of', () => here.supervisor.held.length === 0);
    await expect(here.sinks.get('one')).rejects.toMatchObject({ code: 'SINK_NOT_FOUND' });
    expect(await here.sinks.deleteOldDeliveries(3_600_000, 3_600_000)).toBe(2);
  });

  it('has deliveries to look at, newest first, until they are old', async () => {
    const here = await replica(database.db);
    await here.sinks.add('one', 'test', { after: 0 });
    await tell(here, 3);
    await until('all arrived', () => sinkOf('one').arrived.length === 3);
    await until('all noted', async () => (await here.sinks.get('one')).cursor === 3);
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

describe('a sink that cannot be made', () => {
  it('says why, keeps no other from working, and goes on when it can', async () => {
    let broken = true;
    const here = await replica(database.db, {
      make: async (id) => {
        if (broken && id === 'odd') throw new Error('its secret cannot be read');
        return sinkOf(id);
      },
    });
    await here.sinks.add('odd', 'test', { after: 0 });
    await here.sinks.add('well', 'test', { after: 0 });
    await tell(here, 3);
    await until('the other has all', () => sinkOf('well').arrived.length === 3);
    await until('it says why', async () => (await here.sinks.get('odd')).state === 'retrying');
    expect((await here.sinks.get('odd')).lastError).toContain('its secret cannot be read');
    broken = false;
    here.supervisor.wake();
    await until('it has all too', () => sinkOf('odd').arrived.length === 3);
  });
});

describe('among replicas', () => {
  it('one is at a sink, and another goes on when it stops', async () => {
    const [one, two] = [await replica(database.db), await replica(await database.connectAgain())];
    for (const id of ['x', 'y', 'z']) await one.sinks.add(id, 'test', { after: 0 });
    await until('all are held', () => one.supervisor.held.length + two.supervisor.held.length === 3);
    expect([...one.supervisor.held, ...two.supervisor.held].toSorted()).toEqual(['x', 'y', 'z']);
    await tell(one, 30);
    await one.supervisor.stop();
    await tell(one, 30);
    await until('all arrived', () => ['x', 'y', 'z'].every((id) => sinkOf(id).arrived.length >= 60));
    for (const id of ['x', 'y', 'z']) expect(sinkOf(id).arrived).toEqual(upTo(60));
    expect(two.supervisor.held.toSorted()).toEqual(['x', 'y', 'z']);
  });

  it('nothing is lost when one dies with a delivery under way, and the dead one writes nothing more', async () => {
    const one = await replica(database.db, { leaseMs: 300 });
    const sink = sinkOf('one');
    const letGo = Promise.withResolvers<void>();
    let tries = 0;
    sink.onAttempt = async ({ seq }) => {
      if (seq === 3 && ++tries === 1) await letGo.promise;
    };
    await one.sinks.add('one', 'test', { after: 0 });
    await tell(one, 5);
    await until('it hangs in the third', () => tries === 1);
    await database.db.query(`UPDATE event_sink SET lease_until = clock_timestamp() - interval '1 second'`);
    const two = await replica(await database.connectAgain());
    await until('the other one went on', () => sink.arrived.length === 5);
    expect(sink.arrived).toEqual([1, 2, 3, 4, 5]);
    letGo.resolve();
    await until('the first noticed', () => sink.arrived.length === 6 && one.supervisor.held.length === 0);
    expect(sink.arrived.at(-1)).toBe(3);
    await until('noted', async () => (await two.sinks.get('one')).cursor === 5);
    expect(await two.sinks.delivery('one', 3)).toMatchObject({ attempts: 1 });
  });

  it('nothing is lost while connections are cut at random', async () => {
    const all = [
      await replica(database.db, { leaseMs: 500 }),
      await replica(await database.connectAgain(), { leaseMs: 500 }),
    ];
    const [first] = all;
    if (!first) throw new Error('there is one');
    await first.sinks.add('one', 'test', { after: 0 });
    const killer = database.db.dedicatedClient('killer');
    await killer.connect();
    for (let round = 0; round < 20; round++) {
      await tell(first, 10).catch(() => undefined); // cut off: then there are fewer
      await killer.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 3`);
    }
    // by a connection that was not cut: the pool may still hold some that were
    await until('all is logged', async () => (await killer.query('SELECT 1 FROM event_staging')).rowCount === 0);
    const counter = await killer.query<{ head: string }>('SELECT head FROM event_counter');
    await killer.end();
    const head = Number(counter.rows[0]?.head);
    await until('all arrived', () => new Set(sinkOf('one').arrived).size === head);
    const firsts = sinkOf('one').arrived.filter((seq, index, seqs) => seqs.indexOf(seq) === index);
    expect(firsts).toEqual(upTo(head));
  });
});
