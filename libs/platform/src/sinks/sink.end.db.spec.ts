import { Test } from '@nestjs/testing';
import { until } from '#rollcall/test-support';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { PlatformModule } from '../platform.module.js';
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
import { SinkFactories } from './sink.factories.js';
import { SinkSupervisor } from './sink.supervisor.js';
import { PUSH_KIND, SinksService } from './sinks.service.js';

let database: TestDatabase;
let events: TestEvents;
let sinks: SinksService;
let supervisor: SinkSupervisor;
const receivers = { delivered: new RecordingSink(), parked: new RecordingSink(), endless: new RecordingSink() };

beforeAll(async () => {
  database = await testDatabase();
  const imports = [PlatformModule.forRoot(testPlatformOptions(database.db))];
  const module = await Test.createTestingModule({ imports })
    .overrideProvider(BackgroundFaults)
    .useValue(new RecordedFaults())
    .compile();
  events = eventsOf(module);
  sinks = module.get(SinksService, { strict: false });
  supervisor = module.get(SinkSupervisor, { strict: false });
  const create = async (id: string): Promise<RecordingSink> =>
    await Promise.resolve(receivers[id as keyof typeof receivers]);
  module.get(SinkFactories, { strict: false }).register('test', create);
  events.start();
  supervisor.start();
});
afterAll(async () => {
  await supervisor.stop();
  await events.stop();
  await database.drop();
});

describe('the end of a sink', () => {
  it('S3.12 a sink is deleted when its last event is delivered or parked, and a sink of a task is not listed and not found', async () => {
    receivers.delivered.lastSeq = 2;
    receivers.parked.lastSeq = 3;
    receivers.parked.onAttempt = ({ seq }) => {
      if (seq === 3) throw new Error('always');
    };
    for (const id of Object.keys(receivers)) await sinks.add(id, 'test', { after: 0 });
    await sinks.add('task', PUSH_KIND, {});
    await appendEvents(database.db, events, 5);
    await until('all events are delivered', () => receivers.endless.arrived.length === 5);
    await until('one sink is listed', async () => (await sinks.list()).length === 1);
    expect((await sinks.list()).map(({ id }) => id)).toEqual(['endless']);
    await expect(sinks.get('task')).rejects.toMatchObject({ code: 'SINK_NOT_FOUND' });
    expect([receivers.delivered.arrived, receivers.parked.arrived]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    await until('one relay is left', () => supervisor.held.join() === 'endless');
    expect(events.faults).toEqual([]);
  });
});
