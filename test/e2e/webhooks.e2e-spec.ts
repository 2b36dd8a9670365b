import { Webhook } from 'standardwebhooks';
import { until } from '#rollcall/test-support';
import type { DeliveryView, IssuedWebhookView, WebhookView } from '../../apps/api/src/webhooks/webhooks.dto.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { appendEvents, joined, left, seqOf } from '../support/events.js';
import { type Received, WebhookReceiver } from '../support/webhook-receiver.js';

const SETTINGS = { ROLLCALL_SEALING_KEY: 'k'.repeat(32) };
const CONSTANTS = { webhooks: { tries: 3, retryFirst: 10, retryLongest: 50, timeout: 3_000 } };

let api: TestApi;
let receiver: WebhookReceiver;

beforeEach(async () => {
  api = await startApi(SETTINGS, { constants: CONSTANTS });
  receiver = await WebhookReceiver.start();
});
afterEach(async () => {
  await api.stop();
  await receiver.stop();
});

async function subscribe(body: Record<string, unknown> = {}): Promise<IssuedWebhookView> {
  const answer = await api.call<IssuedWebhookView>('POST', '/v1/webhooks', { body: { url: receiver.url, ...body } });
  expect(answer.status).toBe(201);
  return answer.body;
}

const read = async (id: string): Promise<WebhookView> =>
  (await api.call<WebhookView>('GET', `/v1/webhooks/${id}`)).body;
const patch = async (id: string, body: unknown): Promise<Answer> =>
  await api.call('PATCH', `/v1/webhooks/${id}`, { body });
const delivery = async (id: string, sequence: number): Promise<DeliveryView> =>
  (await api.call<DeliveryView>('GET', `/v1/webhooks/${id}/deliveries/${sequence}`)).body;

function verifies(secret: string, { body, headers }: Received): boolean {
  try {
    return Boolean(new Webhook(secret).verify(body, headers as Record<string, string>));
  } catch {
    return false; // the signature does not match
  }
}

/** Waits for a delivery with this signature. A delivery that starts before a rotation may use the old secrets; it is then repeated. */
async function deliverySignedWith(secret: string): Promise<Received> {
  const signed = (): Received[] => receiver.received.filter((one) => verifies(secret, one));
  await until('a delivery is signed with the secret', () => signed().length > 0);
  return signed()[0];
}

describe('a webhook', () => {
  it('a webhook receives filtered events in order as signed CloudEvents', async () => {
    const { secret } = await subscribe({ types: ['agent.*'], capabilities: ['code'] });
    await appendEvents(api, joined('a-1', ['code']), joined('a-2', ['paint']), joined('a-3', ['code', 'paint']));
    await until('both events are received', () => receiver.received.length === 2);
    expect(receiver.subjects).toEqual(['a-1', 'a-3']);
    const [first] = receiver.received;
    expect(first?.event).toMatchObject({
      specversion: '1.0',
      type: 'dev.rollcall.agent.joined',
      sequence: '000000000000001',
    });
    expect(first?.headers).toMatchObject({
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'webhook-id': first?.event.id,
    });
    const verified = new Webhook(secret).verify(first?.body ?? '', first?.headers as Record<string, string>);
    expect(verified).toEqual(first?.event);
  });

  it('a webhook can start with past events', async () => {
    await appendEvents(api, joined('a-1'), joined('a-2'));
    await until(
      'the events are in the log',
      async () => seqOf((await api.call('GET', '/v1/events?after=latest')).body['head']) === '2',
    );
    await subscribe({ after: 'oldest' });
    await until('both events are received', () => receiver.received.length === 2);
    const { status, body } = await api.call('POST', '/v1/webhooks', { body: { url: receiver.url, after: '99' } });
    expect({ status, code: body['code'] }).toEqual({ status: 400, code: 'CURSOR_AHEAD' });
  });

  it('shows the secret of a webhook once', async () => {
    const { id, secret } = await subscribe({ description: 'pager' });
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    const seen = await Promise.all(
      [`/v1/webhooks/${id}`, '/v1/webhooks', '/v1/sinks', '/v1/audit', '/metrics'].map((path) => api.call('GET', path)),
    );
    for (const { status, body } of seen) {
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain(secret.slice(6));
    }
    const rows = await api.database.db.query<{ row: string }>('SELECT webhook::text AS row FROM webhook');
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(secret.slice(6), 'base64').toString('hex'));
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(secret).toString('hex'));
  });

  it('a delivery is signed with both secrets during a rotation', async () => {
    const { id, secret: old } = await subscribe();
    const rotated = await api.call<IssuedWebhookView>('POST', `/v1/webhooks/${id}/rotate`, { body: {} });
    expect(rotated).toMatchObject({ status: 201, body: { id } });
    await appendEvents(api, joined('a-1'));
    const first = await deliverySignedWith(rotated.body.secret);
    const withoutOverlap = { body: { overlapSeconds: 0 } };
    const { secret: now } = (await api.call<IssuedWebhookView>('POST', `/v1/webhooks/${id}/rotate`, withoutOverlap))
      .body;
    await appendEvents(api, joined('a-2'));
    const second = await deliverySignedWith(now);
    const secrets = [old, rotated.body.secret, now];
    const verifiers = (one: Received): boolean[] => secrets.map((secret) => verifies(secret, one));
    expect([first.event.subject, second.event.subject]).toEqual(['a-1', 'a-2']);
    expect([verifiers(first), verifiers(second)]).toEqual([
      [true, true, false],
      [false, false, true],
    ]);
  });

  it('a webhook retries after a failure, reports the failure, and parks a delivery after the last attempt', async () => {
    const { id } = await subscribe();
    receiver.answer = ({ event }) => ({ status: event.subject === 'poison' ? 422 : 204 });
    await appendEvents(api, joined('a-1'), joined('poison'), joined('a-2'));
    await until('the other events are received', () => receiver.subjects.join() === 'a-1,a-2');
    expect(await delivery(id, 2)).toMatchObject({
      state: 'parked',
      attempts: 3,
      status: 422,
      error: 'The endpoint responded with 422.',
      type: 'agent.joined',
      subject: 'poison',
    });
    await until('the cursor is stored', async () => (await read(id)).status.cursor === '3');
    expect((await read(id)).status).toMatchObject({ state: 'delivering', lagEvents: 0, lagMs: null, parked: 1 });
    const parked = await api.call<{ items: DeliveryView[] }>('GET', `/v1/webhooks/${id}/deliveries?state=parked`);
    expect(parked.body.items.map(({ sequence }) => sequence)).toEqual(['2']);
    receiver.answer = () => ({ status: 200 });
    const replayed = await api.call('POST', `/v1/webhooks/${id}/deliveries/2/replay`);
    expect(replayed).toMatchObject({ status: 200, body: { state: 'pending' } });
    await until('the event is received', () => receiver.subjects.join() === 'a-1,a-2,poison');
    await until('the delivery is stored as delivered', async () => (await delivery(id, 2)).state === 'delivered');
    expect((await api.call('POST', `/v1/webhooks/${id}/replay`, { body: { after: '1' } })).status).toBe(200);
    await until(
      'all events after the first are received again',
      () => receiver.subjects.join() === 'a-1,a-2,poison,poison,a-2',
    );
  });

  it('replays all parked deliveries', async () => {
    const { id } = await subscribe();
    receiver.answer = () => ({ status: 500 });
    await appendEvents(api, joined('a-1'), joined('a-2'));
    await until('both deliveries are parked', async () => (await read(id)).status.parked === 2);
    receiver.answer = () => ({ status: 204 });
    expect((await api.call('POST', `/v1/webhooks/${id}/replay`, { body: {} })).status).toBe(200);
    await until('both events are received', () => receiver.subjects.join() === 'a-1,a-2');
    await until('no delivery is parked', async () => (await read(id)).status.parked === 0);
  });

  it('treats null like a missing field: no past events are replayed, and a rotation keeps its overlap', async () => {
    await appendEvents(api, joined('a-0'));
    await until(
      'the events are in the log',
      async () => seqOf((await api.call('GET', '/v1/events?after=latest')).body['head']) === '1',
    );
    const { id } = await subscribe({ after: null });
    await appendEvents(api, joined('a-1'));
    await until('the event is received', () => receiver.subjects.includes('a-1'));
    expect(receiver.subjects).toEqual(['a-1']);
    await api.call('POST', `/v1/webhooks/${id}/replay`, { body: { after: null } });
    await appendEvents(api, joined('a-2'));
    await until('the event is received', () => receiver.subjects.includes('a-2'));
    expect(receiver.subjects).toEqual(['a-1', 'a-2']);
    const rotated = await api.call('POST', `/v1/webhooks/${id}/rotate`, { body: { overlapSeconds: null } });
    expect(Date.parse(String(rotated.body['oldSecretUntil']))).toBeGreaterThan(Date.now() + 3_600_000);
    const changed = await patch(id, { url: null, paused: null });
    expect([changed.status, (await read(id)).url]).toEqual([200, receiver.url]);
    expect((await api.call('POST', '/v1/webhooks', { body: { url: null } })).status).toBe(400);
  });

  it('a webhook that times out, redirects or refuses connections fails without delaying other webhooks', async () => {
    const silent = await WebhookReceiver.start();
    silent.answer = () => undefined;
    const redirecting = await WebhookReceiver.start();
    redirecting.answer = () => ({ status: 307, headers: { location: receiver.url } });
    const stopped = await WebhookReceiver.start();
    const urls = [silent.url, redirecting.url, stopped.url];
    await stopped.stop();
    const hooks = await Promise.all(urls.map(async (url) => await subscribe({ url })));
    await subscribe();
    await appendEvents(api, ...Array.from({ length: 20 }, (_, index) => joined(`a-${index}`)));
    await until('the healthy webhook has received all events', () => receiver.received.length === 20);
    await until('the other webhooks have failed', async () => {
      const errors = await Promise.all(hooks.map(async ({ id }) => (await read(id)).status.lastError));
      return errors.every((error) => error !== null);
    });
    const errors = await Promise.all(hooks.map(async ({ id }) => (await read(id)).status.lastError ?? ''));
    expect(errors[0]).toContain('did not');
    expect(errors[1]).toContain('redirect');
    expect(errors[2]).toContain('ECONNREFUSED');
    await silent.stop();
    await redirecting.stop();
  });

  it('a webhook can be paused, updated, listed and deleted', async () => {
    const { id } = await subscribe({ types: ['agent.left'] });
    expect(await patch(id, { paused: true, types: null, description: 'all' })).toMatchObject({
      status: 200,
      body: { types: null, description: 'all', status: { state: 'paused' } },
    });
    await appendEvents(api, joined('a-1'), left('a-1'));
    await until('the events are in the log', async () => (await read(id)).status.lagEvents === 2);
    expect(receiver.received).toEqual([]);
    await patch(id, { paused: false, agentIds: ['a-1'] });
    await until('both events are received', () => receiver.received.length === 2);
    const page = await api.call<{ items: WebhookView[] }>('GET', '/v1/webhooks?limit=1');
    expect(page.body.items.map((one) => [one.id, one.url, one.agentIds])).toEqual([[id, receiver.url, ['a-1']]]);
    const sequences = ['7', '99999999999999999999'];
    const codeOf = async (sequence: string): Promise<unknown> =>
      (await api.call('GET', `/v1/webhooks/${id}/deliveries/${sequence}`)).body['code'];
    for (const sequence of sequences) expect(await codeOf(sequence)).toBe('DELIVERY_NOT_FOUND');
    expect((await api.call('DELETE', `/v1/webhooks/${id}`)).status).toBe(204);
    expect((await api.call('DELETE', `/v1/webhooks/${id}`)).body['code']).toBe('WEBHOOK_NOT_FOUND');
    expect((await api.call('GET', `/v1/webhooks/${id}/deliveries`)).body['code']).toBe('WEBHOOK_NOT_FOUND');
    expect((await patch(id, { paused: true })).body['code']).toBe('WEBHOOK_NOT_FOUND');
    for (const sequence of sequences) expect(await codeOf(sequence)).toBe('WEBHOOK_NOT_FOUND');
    expect((await api.call<{ items: unknown[] }>('GET', '/v1/sinks')).body.items).toEqual([]);
  });

  it('rejects a new webhook and an update if the URL is invalid or in a forbidden network', async () => {
    const { id } = await subscribe();
    for (const url of [
      'http://169.254.169.254/latest',
      'https://10.0.0.1/',
      'ftp://example.org/',
      'nonsense',
      'http://1.1.1.1/',
    ]) {
      const refused = await api.call('POST', '/v1/webhooks', { body: { url } });
      expect([url, refused.status, refused.body['code']]).toEqual([url, 400, 'EGRESS_DENIED']);
      expect((await patch(id, { url })).body['code']).toBe('EGRESS_DENIED');
    }
    const faulty = { url: receiver.url, types: ['agent.nonsense'], agentIds: [], after: 'now', extra: 1 };
    const { status, body } = await api.call<{ errors: { field: string }[] }>('POST', '/v1/webhooks', { body: faulty });
    expect([status, body.errors.map(({ field }) => field).toSorted()]).toEqual([
      400,
      ['after', 'agentIds', 'extra', 'types'],
    ]);
  });

  it.each([{}, { url: null }, { url: '' }])('requires a url: %j is rejected', async (body) => {
    const answer = await api.call<{ code: string; errors: { field: string }[] }>('POST', '/v1/webhooks', { body });
    const fields = new Set(answer.body.errors.map(({ field }) => field));
    expect([answer.status, answer.body.code, fields]).toEqual([400, 'VALIDATION_FAILED', new Set(['url'])]);
  });

  it('operators can manage webhooks, but viewers and agents cannot', async () => {
    const viewer = await api.given.key('viewer', 'agent');
    expect((await api.call('GET', '/v1/webhooks', { key: viewer })).status).toBe(403);
    expect((await api.call('GET', '/v1/sinks', { key: viewer })).status).toBe(200);
    expect((await api.call('GET', '/v1/webhooks', { key: await api.given.key('operator') })).status).toBe(200);
  });

  it('when a replica stops, another one delivers the events of its webhooks', async () => {
    const { id } = await subscribe();
    await until('the replica holds the webhook', async () => (await read(id)).status.held);
    const holder = api;
    api = await startApi(SETTINGS, { database: holder.database, constants: CONSTANTS });
    await appendEvents(holder, joined('a-1'));
    await until('the first event is received', () => receiver.subjects.join() === 'a-1');
    await holder.app.nest.close();
    await appendEvents(api, joined('a-2'));
    await until('the second event is received', () => receiver.subjects.join() === 'a-1,a-2');
  });

  it('exposes delivery metrics of webhooks', async () => {
    const { id } = await subscribe();
    await appendEvents(api, joined('a-1'));
    await until('the event is received', () => receiver.received.length === 1);
    const scrape = async (): Promise<string> => (await api.call<string>('GET', '/metrics')).body;
    await until('the lag is 0', async () =>
      (await scrape()).includes(`rollcall_sink_lag_events{sink="${id}",kind="webhook",namespace="default"} 0`),
    );
    expect(await scrape()).toContain('rollcall_sink_deliveries_total{kind="webhook",outcome="delivered"} 1');
    expect(await scrape()).toContain(`rollcall_sink_parked_events{sink="${id}",kind="webhook",namespace="default"} 0`);
  });

  it('the first scrape of a replica has the lag and the parked events of a webhook', async () => {
    const { id } = await subscribe();
    receiver.answer = () => ({ status: 422 });
    await appendEvents(api, joined('a-1'));
    await until('the event is parked', async () => {
      const { parked, cursor } = (await read(id)).status;
      return parked === 1 && cursor === '1';
    });
    await patch(id, { paused: true });
    await appendEvents(api, joined('a-2'));
    await until('the webhook is behind', async () => (await read(id)).status.lagEvents === 1);
    const replica = await api.replica();
    const { body } = await replica.call<string>('GET', '/metrics');
    await replica.stop();
    const labels = `sink="${id}",kind="webhook",namespace="default"`;
    const seconds = new RegExp(`^rollcall_sink_lag_seconds{${labels},state="paused"} (.+)$`, 'm').exec(body)?.[1];
    expect(Number(seconds)).toBeGreaterThan(0);
    expect(body).toContain(`rollcall_sink_lag_events{${labels}} 1\n`);
    expect(body).toContain(`rollcall_sink_parked_events{${labels}} 1\n`);
  });
});

describe('without a sealing key and with an external Postgres', () => {
  it('a webhook is rejected, and the error names the missing setting', async () => {
    const bare = await startApi({ DATABASE_URL: 'postgres://elsewhere/db', ROLLCALL_EGRESS_ALLOW: '127.0.0.0/8' });
    const { status, body } = await bare.call('POST', '/v1/webhooks', { body: { url: receiver.url } });
    expect({ status, code: body['code'] }).toEqual({ status: 500, code: 'SEALING_KEY_MISSING' });
    expect(body['detail']).toContain('ROLLCALL_SEALING_KEY');
    await bare.stop();
  });
});
