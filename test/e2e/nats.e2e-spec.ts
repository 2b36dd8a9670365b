import { jetstreamManager, type JetStreamManager, type StoredMsg } from '@nats-io/jetstream';
import { connect, nanos, type NatsConnection } from '@nats-io/transport-node';
import { type CloudEvent, SinksService } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import type { SinkView } from '../../apps/api/src/sinks/sinks.dto.js';
import { startApi, type TestApi } from '../support/api.js';
import { appendEvents, joined, left, many, upTo } from '../support/events.js';
import { HAS_NATS, NatsServer } from '../support/nats-server.js';

const USER = ['--user', 'rollcall', '--pass', 'secret'];
const STREAM = 'ROLLCALL';

if (!HAS_NATS)
  process.stderr.write('\n!!! SKIPPED: the tests of NATS need nats-server (Debian: apt-get install nats-server)\n\n');
const describeWithNats = HAS_NATS ? describe : describe.skip;

let nats: NatsServer;
let api: TestApi;
let connection: NatsConnection | undefined;

const environment = (): Record<string, string> => ({
  NATS_URL: nats.url,
  NATS_USER: 'rollcall',
  NATS_PASSWORD: 'secret',
});

async function manager(): Promise<JetStreamManager> {
  await connection?.close();
  connection = await connect({ servers: nats.url, user: 'rollcall', pass: 'secret', reconnect: false });
  return await jetstreamManager(connection);
}

async function stored(): Promise<StoredMsg[]> {
  const jsm = await manager();
  const { state } = await jsm.streams.info(STREAM);
  const all = await Promise.all(
    upTo(state.last_seq, state.first_seq).map(async (seq) => await jsm.streams.getMessage(STREAM, { seq })),
  );
  return all.filter((message) => message !== null);
}

const seqs = async (): Promise<number[]> =>
  (await stored()).map((message) => Number(message.json<CloudEvent>().sequence));
const status = async (): Promise<SinkView | undefined> =>
  (await api.call<{ items: SinkView[] }>('GET', '/v1/sinks')).body.items.find(({ id }) => id === 'nats');
const untilCursor = async (seq: number): Promise<void> =>
  await until(`the cursor is ${seq}`, async () => (await status())?.cursor === String(seq));

describeWithNats('the relay to NATS JetStream', () => {
  beforeEach(async () => {
    nats = await NatsServer.start(...USER);
    api = await startApi(environment());
  });
  afterEach(async () => {
    await api.stop();
    await connection?.close();
    await nats.stop();
  });

  it('B3 publishes every event once and in order, as a CloudEvent whose message id is the event id', async () => {
    await appendEvents(api, joined('a-1', ['code']), left('a-1'));
    await appendEvents(api, ...many(300));
    await untilCursor(302);
    const [first, ...rest] = await stored();
    const { body } = await api.call<{ items: CloudEvent[] }>('GET', '/v1/events?limit=1');
    expect(first?.json()).toEqual(body.items[0]);
    expect(first?.subject).toBe('rollcall.events.default.agent.joined');
    expect(first?.header.get('Nats-Msg-Id')).toBe(body.items[0]?.id);
    expect(first?.header.get('content-type')).toBe('application/cloudevents+json');
    expect(rest[0]?.subject).toBe('rollcall.events.default.agent.left');
    expect(await seqs()).toEqual(upTo(302));
    expect(await status()).toMatchObject({ kind: 'nats', state: 'delivering', lagEvents: 0, lagMs: null });
  });

  it('the namespace is part of the subject, so that a consumer subscribes to the events of one namespace', async () => {
    await manager();
    const subscription = connection?.subscribe('rollcall.events.team-a.>');
    await connection?.flush();
    const protection = { type: 'protection.left', subject: 'registry', data: { fleet: 1 } } as const;
    await appendEvents(api, joined('twin'), joined('team-b/twin'), joined('team-a/twin'), protection);
    await appendEvents(api, joined('team-a/last'));
    const received: CloudEvent[] = [];
    for await (const message of subscription ?? []) {
      if (received.push(message.json<CloudEvent>()) === 2) break;
    }
    expect(received).toMatchObject([
      { namespace: 'team-a', subject: 'twin' },
      { namespace: 'team-a', subject: 'last' },
    ]);
    await untilCursor(5);
    expect((await stored()).map(({ subject }) => subject)).toEqual([
      'rollcall.events.default.agent.joined',
      'rollcall.events.team-b.agent.joined',
      'rollcall.events.team-a.agent.joined',
      'rollcall.events._all.protection.left',
      'rollcall.events.team-a.agent.joined',
    ]);
  });

  it('the sink of NATS is visible and can be replayed only with access to all namespaces', async () => {
    await api.call('POST', '/v1/namespaces', { body: { name: 'team-a' } });
    const key = await api.issueKeyIn('team-a', 'admin');
    expect((await api.call('GET', '/v1/sinks', { key })).body).toEqual({ items: [] });
    const replayed = await api.call('POST', '/v1/sinks/nats/replay', { key, body: { after: '0' } });
    expect(replayed).toMatchObject({ status: 404, body: { code: 'SINK_NOT_FOUND' } });
    expect(await status()).toMatchObject({ id: 'nats', namespace: '*' });
  });

  it('the NATS sink shows an outage in its status and continues after it; the replica stays ready', async () => {
    await appendEvents(api, ...many(3));
    await untilCursor(3);
    await nats.down();
    await appendEvents(api, ...many(5));
    await until('the relay is retrying', async () => (await status())?.state === 'retrying');
    expect((await status())?.lastError).not.toBeNull();
    expect((await api.call('GET', '/health/ready', { key: null })).status).toBe(200);
    await nats.up();
    await untilCursor(8);
    expect(await seqs()).toEqual(upTo(8));
    expect(await status()).toMatchObject({ state: 'delivering', lastError: null });
  });

  it('stores an event once when it is published again within the duplicate window', async () => {
    await appendEvents(api, ...many(10));
    await untilCursor(10);
    await api.app.nest.get(SinksService, { strict: false }).replayAfter('nats', 0); // as if the cursor was lost
    await appendEvents(api, joined('a-11'));
    await untilCursor(11);
    expect(await seqs()).toEqual(upTo(11));
  });

  it('B3 stores every event at least once, and the first copies in order, with the shortest duplicate window', async () => {
    await api.stop();
    const config = { name: STREAM, subjects: ['rollcall.events.>'], duplicate_window: nanos(100) };
    await (await manager()).streams.add(config);
    api = await startApi(environment());
    await appendEvents(api, ...many(10));
    await untilCursor(10);
    await api.app.nest.get(SinksService, { strict: false }).replayAfter('nats', 0);
    await appendEvents(api, joined('a-11'));
    await untilCursor(11);
    expect([...new Set(await seqs())]).toEqual(upTo(11));
    const ids = new Set((await stored()).map(({ header }) => header.get('Nats-Msg-Id')));
    expect(ids.size).toBe(11); // consumers recognise a repeated event by its id
  });

  it('B3 publishes a rejected event again, even if the stream has accepted later events and another replica continues', async () => {
    await api.stop();
    const config = { name: STREAM, subjects: ['rollcall.events.>'], max_msg_size: 4_000 };
    await (await manager()).streams.add(config);
    api = await startApi(environment());
    const large = Array.from({ length: 40 }, (_, index) => `${'x'.repeat(100)}-${index}`);
    await appendEvents(api, joined('a-1'), joined('a-2', large), ...many(20));
    const rejected = async (): Promise<boolean> => ((await status())?.lastError ?? '').includes('size');
    await until('an event is rejected', rejected);
    await api.app.nest.get(SinksService, { strict: false }).reload('nats'); // as when another replica takes over
    await until('the event is published again', async () => (await status())?.attempts === 2);
    await (await manager()).streams.update(STREAM, { ...config, max_msg_size: -1 });
    await untilCursor(22);
    expect((await seqs()).toSorted((one, two) => one - two)).toEqual(upTo(22));
  });

  it('publishes all events again on request after the stream is lost', async () => {
    await appendEvents(api, ...many(4));
    await untilCursor(4);
    await (await manager()).streams.delete(STREAM);
    const answer = await api.call('POST', '/v1/sinks/nats/replay', { body: { after: '0' } });
    expect(answer.status).toBe(200);
    await untilCursor(4);
    expect(await seqs()).toEqual(upTo(4));
  });

  it('the NATS sink runs on one replica at a time, and on another one when that replica stops', async () => {
    const others = [await api.replica(), await api.replica()];
    for (let round = 0; round < 10; round++)
      await Promise.all([api, ...others].map((replica) => appendEvents(replica, ...many(10))));
    await untilCursor(300);
    for (const other of others) await other.stop();
    await appendEvents(api, ...many(10));
    await untilCursor(310);
    expect(await seqs()).toEqual(upTo(310));
  });

  it('the NATS sink authenticates with a token if the server requires one', async () => {
    const server = await NatsServer.start('--auth', 'a-token');
    const replica = await startApi({ NATS_URL: server.url, NATS_TOKEN: 'a-token' });
    await appendEvents(replica, joined('a-1'));
    const sink = async (): Promise<SinkView | undefined> =>
      (await replica.call<{ items: SinkView[] }>('GET', '/v1/sinks')).body.items[0];
    await until('the event is published', async () => (await sink())?.cursor === '1');
    await replica.stop();
    await server.stop();
  });

  it('reports a wrong password in its status', async () => {
    const denied = await startApi({ ...environment(), NATS_PASSWORD: 'wrong' });
    await appendEvents(denied, joined('a-1'));
    const sink = async (): Promise<SinkView | undefined> =>
      (await denied.call<{ items: SinkView[] }>('GET', '/v1/sinks')).body.items[0];
    await until('the relay is retrying', async () => (await sink())?.state === 'retrying');
    expect((await sink())?.lastError?.toLowerCase()).toContain('authorization');
    await denied.stop();
  });
});
