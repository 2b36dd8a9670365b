import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { EventClient } from '../support/event-client.js';
import { appendEvents, joined, many, seqOf } from '../support/events.js';

interface Page {
  items: { sequence: string }[];
  next: string;
  head: string;
}

let api: TestApi;
let restored: TestApi;
/** The cursor of a consumer that has read the whole original log. */
let cursor: string;

const headOf = async (at: TestApi): Promise<string> =>
  (await at.call<Page>('GET', '/v1/events?after=latest')).body.head;
const untilLogged = async (at: TestApi, head: number): Promise<void> =>
  await until(`event ${head} is logged`, async () => seqOf(await headOf(at).catch(() => '')) === String(head));

/** Creates a backup after 10 events, then 10 events that the backup lacks, and 30 other events in the restored backup. */
beforeAll(async () => {
  api = await startApi();
  await appendEvents(api, ...many(10));
  await untilLogged(api, 10);
  const backup = await api.database.copy();
  await until('the original is ready again', async () => (await api.call('GET', '/health/ready')).status === 200);
  await appendEvents(api, ...many(10));
  await untilLogged(api, 20);
  cursor = (await api.call<Page>('GET', '/v1/events?limit=1000')).body.next;
  restored = await startApi({}, { database: backup });
  await appendEvents(restored, ...many(30));
  await untilLogged(restored, 40);
});
afterAll(async () => {
  await restored.stop();
  await api.stop();
});

describe('a consumer that returns after an older backup was restored', () => {
  it('D9 a consumer can use its cursor on the original log in both formats', async () => {
    expect(cursor).toMatch(/^20-[0-9a-f]{8}$/);
    expect(await api.call('GET', `/v1/events?after=${cursor}`)).toMatchObject({ status: 200, body: { items: [] } });
    expect((await api.call('GET', '/v1/events?after=20')).status).toBe(200);
  });

  it('D9 a cursor of the original log gets 410 CURSOR_FOREIGN with the path of the snapshot over REST and server-sent events', async () => {
    const refused = { status: 410, body: { code: 'CURSOR_FOREIGN', snapshot: '/v1/events/snapshot' } };
    expect(await restored.call('GET', `/v1/events?after=${cursor}`)).toMatchObject(refused);
    expect(await restored.call('GET', `/v1/events?after=${cursor}&waitMs=1000`)).toMatchObject(refused);
    const headers = { 'last-event-id': cursor };
    expect(await restored.call('GET', '/v1/events/stream', { headers })).toMatchObject(refused);
  });

  it('D9 a cursor of the original log closes the WebSocket with 4410', async () => {
    const client = await EventClient.connect(restored.url, { key: restored.adminKey });
    client.send('subscribe', { after: cursor });
    const { code, reason } = await client.closed();
    expect([code, reason['code'], reason['snapshot']]).toEqual([4410, 'CURSOR_FOREIGN', '/v1/events/snapshot']);
    expect(client.events).toEqual([]);
  });

  it('D9 a consumer continues from the cursor of the snapshot', async () => {
    const { body } = await restored.call<{ sequence: string; cursor: string }>('GET', '/v1/events/snapshot');
    expect([body.sequence, seqOf(body.cursor)]).toEqual(['40', '40']);
    const client = await EventClient.connect(restored.url, { key: restored.adminKey });
    await client.subscribe({ after: body.cursor });
    await appendEvents(restored, joined('next'));
    await until('the event is received', () => client.events.length === 1);
    expect(client.events[0]).toMatchObject({ sequence: '000000000000041', subject: 'next' });
    client.socket.terminate();
  });
});
