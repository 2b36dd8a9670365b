import { type CloudEvent, EventFeed } from '#rollcall/platform';
import { testEvents } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { StreamConnections } from '../../apps/api/src/streams/stream.connections.js';
import type { SinkView } from '../../apps/api/src/sinks/sinks.dto.js';
import type { IssuedWebhookView, WebhookView } from '../../apps/api/src/webhooks/webhooks.dto.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer, CallOptions } from '../support/call.js';
import { EventClient } from '../support/event-client.js';
import { appendEvents, joined, many, seqOf } from '../support/events.js';
import { registrationBody } from '../support/given.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const PROTECTION = { type: 'protection.left', subject: 'registry', data: { fleet: 1 } } as const;
const ALL = { headers: { 'rollcall-namespace': '*' } };

let api: TestApi;
let other: TestApi;
let receiver: WebhookReceiver;
/** Admin keys of the two teams. */
let keyOfA: string;
let keyOfB: string;

beforeEach(async () => {
  api = await startApi({ ROLLCALL_SEALING_KEY: 'k'.repeat(32) });
  other = await api.replica();
  receiver = await WebhookReceiver.start();
  for (const name of ['team-a', 'team-b']) await api.call('POST', '/v1/namespaces', { body: { name } });
  keyOfA = await api.issueKeyIn('team-a', 'admin');
  keyOfB = await api.issueKeyIn('team-b', 'admin');
});
afterEach(async () => {
  await other.stop();
  await api.stop();
  await receiver.stop();
});

interface Page {
  items: CloudEvent[];
  next: string;
  head: string;
}
const page = async (path: string, options: CallOptions): Promise<Page> =>
  (await other.call<Page>('GET', `/v1/events${path}`, options)).body;
const named = (events: readonly CloudEvent[]): string[] =>
  events.map(({ namespace, subject }) => `${namespace} ${subject}`);

/** Appends an event of each namespace, and waits until the other replica has read them. */
async function appendOfEach(): Promise<void> {
  await appendEvents(api, joined('twin'), joined('team-a/twin'), joined('team-b/twin'), PROTECTION);
  await until('the events are logged', async () => seqOf((await page('?after=latest', {})).head) === '4');
}

/** Returns the events of a stream until the text contains `last`. */
async function streamUntil(last: string, options: CallOptions & { after: string }): Promise<string> {
  const headers = { authorization: `Bearer ${options.key ?? api.adminKey}`, ...options.headers };
  const response = await fetch(`${other.url}/v1/events/stream?after=${options.after}`, { headers });
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.includes(last)) break;
  }
  return text;
}

describe('events of a namespace', () => {
  it('a page has the events of the namespace; with `*` it has all events; ids are local', async () => {
    await appendOfEach();
    expect(named((await page('', { key: keyOfA })).items)).toEqual(['team-a twin']);
    expect(named((await page('', { key: keyOfB })).items)).toEqual(['team-b twin']);
    expect(named((await page('', {})).items)).toEqual(['default twin', '* registry']);
    const all = ['default twin', 'team-a twin', 'team-b twin', '* registry'];
    expect(named((await page('', ALL)).items)).toEqual(all);
    expect(named((await page('?agentIds=twin', ALL)).items)).toEqual(all.slice(0, 3));
    for (const id of ['team-b/twin', 'team-b%2Ftwin'])
      expect((await page(`?agentIds=${id}`, { key: keyOfA })).items).toEqual([]);
  });

  it('a viewer of `default` sees no event that concerns all namespaces', async () => {
    await appendOfEach();
    const viewer = await api.issueKeyIn('default', 'viewer');
    expect(named((await page('', { key: viewer })).items)).toEqual(['default twin']);
    expect((await other.call('GET', '/v1/events', { key: viewer, ...ALL })).status).toBe(404);
  });

  it('a registration appears in the events of its own namespace only', async () => {
    await api.call('POST', '/v1/agents', { key: keyOfA, body: registrationBody({ agentId: 'secret' }) });
    await until('the event is logged', async () => (await page('', { key: keyOfA })).items.length === 1);
    expect((await page('', { key: keyOfA })).items[0]).toMatchObject({ subject: 'secret', namespace: 'team-a' });
    expect((await page('', { key: keyOfB })).items).toEqual([]);
  });

  it('a stream of server-sent events has the events of the namespace, old and new', async () => {
    await appendOfEach();
    const stream = streamUntil('"subject":"last"', { key: keyOfA, after: 'oldest' });
    await appendEvents(api, joined('team-b/noise'), joined('noise'), joined('team-a/last'));
    const text = await stream;
    expect(text.match(/"subject":"[^"]*"/g)).toEqual(['"subject":"twin"', '"subject":"last"']);
    expect(text).not.toMatch(/team-b|noise|"registry"/);
  });

  it('a WebSocket, opened with a key or with a ticket of another replica, has the events of the namespace', async () => {
    await appendOfEach();
    const { body } = await api.call<{ ticket: string }>('POST', '/v1/events/tickets', { key: keyOfA });
    const ofAll = await api.call<{ ticket: string }>('POST', '/v1/events/tickets', ALL);
    const clients = await Promise.all(
      [{ key: keyOfA }, { ticket: body.ticket }, { ticket: ofAll.body.ticket }].map(
        async (credential) => await (await EventClient.connect(other.url, credential)).subscribe({ after: 'oldest' }),
      ),
    );
    await appendEvents(api, joined('noise'), joined('team-b/noise'), joined('team-a/last'));
    await until('the last event is received', () => clients.every(({ events }) => events.at(-1)?.subject === 'last'));
    const [byKey, byTicket, all] = clients.map(({ events }) => named(events));
    expect([byKey, byTicket]).toEqual([
      ['team-a twin', 'team-a last'],
      ['team-a twin', 'team-a last'],
    ]);
    expect(all).toHaveLength(7);
    for (const { socket } of clients) socket.terminate();
  });
});

describe('the cursor of a quiet namespace', () => {
  it('advances with the log from page to page, even when a page waits', async () => {
    await appendEvents(api, ...many(2_500));
    await until('the events are logged', async () => seqOf((await page('?after=latest', {})).head) === '2500');
    let cursor = 'oldest';
    const steps: number[] = [];
    for (let done = false; !done;) {
      const one = await page(`?after=${cursor}`, { key: keyOfA });
      cursor = one.next;
      steps.push(Number(seqOf(cursor)));
      done = one.next === one.head;
    }
    expect(steps).toEqual([2_000, 2_500]);
    await until('a page that waits advances', async () => {
      const waiting = page(`?after=${cursor}&waitMs=1000`, { key: keyOfA });
      await appendEvents(api, joined('noise'));
      const { items, next } = await waiting;
      expect(items).toEqual([]);
      const advanced = next !== cursor;
      cursor = next;
      return advanced;
    });
  });

  it('advances over a stream and a WebSocket, so that it does not expire when events of other namespaces are deleted', async () => {
    const client = await (await EventClient.connect(other.url, { key: keyOfA })).subscribe({ after: 'latest' });
    const stream = streamUntil('id: 50-', { key: keyOfA, after: '0' });
    const connections = other.app.nest.get(StreamConnections, { strict: false });
    await until('both are connected', () => connections.count === 2);
    await appendEvents(api, ...many(50));
    const feed = other.app.nest.get(EventFeed, { strict: false });
    // before the pings, because a client that misses a ping is disconnected
    await until('the replica has read the events', () => feed.position === 50);
    await until('the position is sent', () => {
      connections.beat();
      return client.of('position').at(-1)?.['sequence'] === '50';
    });
    expect(await stream).not.toContain('data:');
    await api.database.db.query('DELETE FROM event_log');
    const cursor = String(client.of('position').at(-1)?.['cursor']);
    expect((await other.call('GET', `/v1/events?after=${cursor}`, { key: keyOfA })).status).toBe(200);
    client.socket.terminate();
  });
});

describe('the limit of events of a namespace', () => {
  /** Appends three events of each team, and lets all events of team-a except the newest expire. */
  async function expire(): Promise<void> {
    const body = { limits: { eventsKept: 1 } };
    expect((await api.call('PATCH', '/v1/namespaces/team-a', { body })).body).toMatchObject(body);
    for (let round = 1; round <= 3; round++)
      await appendEvents(api, joined(`team-a/a-${round}`), joined(`team-b/b-${round}`));
    await until('the events are logged', async () => seqOf((await page('?after=latest', {})).head) === '6');
    const { pruner } = await testEvents(api.database.db);
    expect(await pruner.expire()).toEqual({ expired: 2 });
  }
  const problem = { code: 'CURSOR_EXPIRED', oldest: '3', snapshot: '/v1/events/snapshot' };

  it('is shown with the current use, and does not prevent the deletion of the namespace', async () => {
    await expire();
    const { body } = await other.call('GET', '/v1/namespaces/team-a', { key: keyOfA });
    expect(body).toMatchObject({ limits: { eventsKept: 1 }, use: { eventsKept: 1 } });
    expect((await other.call('GET', '/v1/namespaces/team-b')).body).toMatchObject({ use: { eventsKept: 3 } });
    const keys = await api.call<{ items: { id: string }[] }>('GET', '/v1/keys', { key: keyOfA });
    for (const { id } of keys.body.items) await api.call('DELETE', `/v1/keys/${id}`, { headers: ALL.headers });
    expect((await api.call('DELETE', '/v1/namespaces/team-a')).status).toBe(204);
  });

  it('a page, a stream and a WebSocket with a cursor before an expired event get CURSOR_EXPIRED', async () => {
    await expire();
    for (const path of ['?after=0', '?after=2', '/stream?after=2'])
      expect(await other.call('GET', `/v1/events${path}`, { key: keyOfA })).toMatchObject({
        status: 410,
        body: problem,
      });
    const client = await EventClient.connect(other.url, { key: keyOfA });
    client.send('subscribe', { after: '0' });
    await until('the subscription is rejected', () => JSON.stringify(client.frames).includes('CURSOR_EXPIRED'));
    client.socket.terminate();
    expect(named((await page('', { key: keyOfA })).items)).toEqual(['team-a a-3']);
    expect(named((await page('?after=3', { key: keyOfA })).items)).toEqual(['team-a a-3']);
  });

  it('another namespace keeps all its events, and a consumer of all namespaces gets a sequence without a gap', async () => {
    await expire();
    const ofB = await page('?after=0', { key: keyOfB });
    expect([named(ofB.items), seqOf(ofB.next)]).toEqual([['team-b b-1', 'team-b b-2', 'team-b b-3'], '6']);
    const { items } = await page('?after=0', ALL);
    expect(items.map(({ sequence, type }) => `${Number(sequence)} ${type.replace('dev.rollcall.', '')}`)).toEqual([
      '1 event.expired',
      '2 agent.joined',
      '3 event.expired',
      '4 agent.joined',
      '5 agent.joined',
      '6 agent.joined',
    ]);
    expect(items[0]).toMatchObject({ namespace: 'team-a', subject: 'team-a', data: {} });
  });

  it('a webhook of the namespace cannot start before an expired event', async () => {
    await expire();
    const create = async (key: string): Promise<Answer> =>
      await api.call('POST', '/v1/webhooks', { key, body: { url: receiver.url, after: '0' } });
    expect(await create(keyOfA)).toMatchObject({ status: 410, body: problem });
    expect(await create(keyOfB)).toMatchObject({ status: 201 });
  });
});

describe('the snapshot', () => {
  it('has the agents of the namespace, or all agents with `*`', async () => {
    for (const key of [undefined, keyOfA, keyOfB])
      await api.call('POST', '/v1/agents', { key, body: registrationBody({ agentId: 'twin' }) });
    await api.call('POST', '/v1/agents', { key: keyOfB, body: registrationBody({ agentId: 'secret' }) });
    const snapshot = async (options: CallOptions): Promise<string[]> => {
      const { body } = await other.call<{ items: { namespace: string; agentId: string }[]; count: number }>(
        'GET',
        '/v1/events/snapshot',
        options,
      );
      expect(body.count).toBe(body.items.length);
      return body.items.map(({ namespace, agentId }) => `${namespace} ${agentId}`);
    };
    expect(await snapshot({ key: keyOfA })).toEqual(['team-a twin']);
    expect(await snapshot({})).toEqual(['default twin']);
    expect(await snapshot(ALL)).toHaveLength(4);
  });
});

describe('webhooks of a namespace', () => {
  const subscribe = async (options: CallOptions): Promise<Answer<IssuedWebhookView>> =>
    await api.call<IssuedWebhookView>('POST', '/v1/webhooks', { body: { url: receiver.url }, ...options });

  it('receive the events of their namespace; a webhook for all namespaces receives every event', async () => {
    const { body } = await subscribe({ key: keyOfA });
    expect(body).toMatchObject({ namespace: 'team-a' });
    await appendEvents(other, joined('noise'), joined('team-b/noise'), PROTECTION, joined('team-a/mine'));
    await until('the event is received', () => receiver.received.length === 1);
    expect(named(receiver.received.map(({ event }) => event))).toEqual(['team-a mine']);
    const all = (await subscribe(ALL)).body;
    expect(all).toMatchObject({ namespace: '*' });
    await appendEvents(other, joined('team-b/seen'));
    await until('the event is received', () => receiver.subjects.includes('seen'));
    expect(receiver.subjects).toEqual(['mine', 'seen']);
  });

  it('are neither listed nor found nor changed from another namespace; the response is the same as for a missing webhook', async () => {
    const { body } = await subscribe({ key: keyOfB });
    await appendEvents(api, joined('team-b/mine'));
    await until('the event is received', () => receiver.received.length === 1);
    const list = await api.call<{ items: WebhookView[] }>('GET', '/v1/webhooks', { key: keyOfA });
    expect(list.body.items).toEqual([]);
    const routes = [
      ['GET', '', undefined],
      ['PATCH', '', { paused: true }],
      ['POST', '/rotate', {}],
      ['POST', '/replay', {}],
      ['GET', '/deliveries', undefined],
      ['GET', '/deliveries/1', undefined],
      ['POST', '/deliveries/1/replay', undefined],
      ['DELETE', '', undefined],
    ] as const;
    for (const [method, path, sent] of routes) {
      const of = async (id: string): Promise<Answer> =>
        await api.call(method, `/v1/webhooks/${id}${path}`, { key: keyOfA, body: sent });
      const [foreign, missing] = [await of(body.id), await of('wh_missing')];
      expect({ method, path, ...foreign }).toMatchObject({ status: 404, body: { code: 'WEBHOOK_NOT_FOUND' } });
      expect(String(foreign.body['detail']).replace(body.id, 'wh_missing')).toBe(missing.body['detail']);
    }
    expect((await api.call('GET', `/v1/webhooks/${body.id}/deliveries/1`, { key: keyOfB })).status).toBe(200);
    expect((await api.call('GET', `/v1/webhooks/${body.id}`)).status).toBe(404);
    expect((await api.call('GET', `/v1/webhooks/${body.id}`, ALL)).status).toBe(200);
  });

  it('count towards the limit of the namespace, and prevent the deletion of the namespace', async () => {
    await api.call('POST', '/v1/namespaces', { body: { name: 'small', limits: { webhooks: 1 } } });
    const inSmall = { headers: { 'rollcall-namespace': 'small' } };
    const { body } = await subscribe(inSmall);
    expect(await subscribe(inSmall)).toMatchObject({ status: 403, body: { code: 'NAMESPACE_FULL' } });
    expect((await api.call('GET', '/v1/namespaces/small')).body).toMatchObject({ use: { webhooks: 1 } });
    const remove = async (): Promise<Answer> => await api.call('DELETE', '/v1/namespaces/small');
    expect(await remove()).toMatchObject({ status: 409, body: { contains: { webhooks: 1 } } });
    await api.call('DELETE', `/v1/webhooks/${body.id}`, inSmall);
    expect((await remove()).status).toBe(204);
  });

  it('have sinks that are visible and can be replayed only in their namespace', async () => {
    const [a, b, all] = [await subscribe({ key: keyOfA }), await subscribe({ key: keyOfB }), await subscribe(ALL)];
    const sinks = async (options: CallOptions): Promise<string[]> =>
      (await other.call<{ items: SinkView[] }>('GET', '/v1/sinks', options)).body.items.map(({ id }) => id);
    expect(await sinks({ key: keyOfA })).toEqual([a.body.id]);
    expect(await sinks({})).toEqual([all.body.id]);
    expect(await sinks(ALL)).toEqual([a, b, all].map(({ body }) => body.id).toSorted());
    for (const id of [b.body.id, all.body.id]) {
      const replayed = await api.call('POST', `/v1/sinks/${id}/replay`, { key: keyOfA, body: { after: '0' } });
      expect(replayed).toMatchObject({ status: 404, body: { code: 'SINK_NOT_FOUND' } });
    }
  });
});

describe('state of the whole installation', () => {
  it.each(['/metrics', '/v1/registry/protection'])('GET %s requires a credential for all namespaces', async (path) => {
    expect((await api.call('GET', path)).status).toBe(200);
    expect(await api.call('GET', path, { key: keyOfA })).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  });

  it('an administrator of one namespace cannot override self-preservation', async () => {
    const body = { override: 'protect' };
    expect((await api.call('PUT', '/v1/registry/protection', { key: keyOfA, body })).status).toBe(403);
  });
});
