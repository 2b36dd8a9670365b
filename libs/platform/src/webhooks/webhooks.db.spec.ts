import { until } from '#rollcall/test-support';
import type { RegistryEvent } from '../events/event.js';
import type { EventDraft } from '../events/event.outbox.js';
import { NamespaceAdmission } from '../namespaces/namespace.admission.js';
import { NamespaceContents } from '../namespaces/namespace.contents.js';
import { NamespaceStore } from '../namespaces/namespace.store.js';
import { NO_QUOTA } from '../quota.js';
import { DeliveryStore } from '../sinks/delivery.store.js';
import { SinkStore } from '../sinks/sink.store.js';
import { SinksService } from '../sinks/sinks.service.js';
import {
  SOME_EVENTS,
  type TestDatabase,
  type TestEvents,
  testPlatformOptions,
  testReplica,
  type TestReplica,
} from '../testing/index.js';
import { signedHeaders, type WebhookSecrets } from './webhook.signature.js';
import {
  type WebhookAnswer,
  type WebhookOptions,
  type WebhookRequest,
  WebhookSinks,
  type WebhookTransport,
} from './webhook.sink.js';
import { type WebhookFields, WebhookStore } from './webhook.store.js';
import { WebhooksService } from './webhooks.service.js';

const NOW_MS = Date.parse('2026-11-17T12:00:00Z');
const FIELDS: WebhookFields = {
  url: 'https://ops.example/hook',
  description: null,
  types: ['agent.resumed'],
  agentIds: null,
  capabilities: null,
};

const OWNER = { createdBy: 'key:a', namespace: 'default' };

const DRAFT: EventDraft = { type: 'agent.resumed', subject: 'a-1', data: { by: 'test' } };

let replica: TestReplica;
let database: TestDatabase;
let events: TestEvents;
let requests: WebhookRequest[];
let answer: WebhookAnswer;
let now: number;

const secrets: WebhookSecrets = {
  seal: (secret, owner) => Buffer.from(`${owner} ${secret.reveal()}`),
  open: (sealed, owner) => ({ reveal: () => sealed.toString().slice(owner.length + 1) }),
};
const transport: WebhookTransport = {
  post: async (request) => {
    requests.push(request);
    return answer;
  },
};

beforeEach(async () => {
  replica = await testReplica();
  ({ database, events } = replica);
  events.start();
  requests = [];
  answer = { status: 204 };
  now = NOW_MS;
});
afterEach(async () => await replica.stop());

function webhooks(quota = NO_QUOTA): { service: WebhooksService; sinks: WebhookSinks } {
  const options: WebhookOptions = {
    quota,
    retries: { maxAttempts: 3, firstDelayMs: 1, maxDelayMs: 2 },
    now: () => now,
  };
  const store = new WebhookStore(database.db);
  const sinks = new SinksService(
    database.db,
    events.log,
    new SinkStore(database.db),
    new DeliveryStore(database.db),
    testPlatformOptions(database.db),
  );
  const namespaces = new NamespaceAdmission(database.db, new NamespaceStore(database.db));
  const contents = new NamespaceContents();
  return {
    service: new WebhooksService(database.db, store, sinks, secrets, namespaces, contents, options),
    sinks: new WebhookSinks(store, secrets, transport, SOME_EVENTS, options),
  };
}

async function loggedEvent(): Promise<RegistryEvent> {
  await database.db.transaction(async () => await events.outbox.appendAll([DRAFT]));
  await until('the event is logged', async () => (await events.log.head()) === 1);
  const [event] = (await events.log.page(0, 1)).events;
  if (!event) throw new Error('the log has no event');
  return event;
}

describe('a webhook', () => {
  it('posts a CloudEvent that is signed with both secrets during the overlap after a rotation', async () => {
    const { service, sinks } = webhooks();
    const { row, secret: old } = await service.create({ fields: FIELDS, paused: true, ...OWNER });
    const { secret: current, row: rotated } = await service.rotate(row.id, 60_000, null);
    const event = await loggedEvent();
    const sink = await sinks.create(row.id);
    expect(sink?.matches(event)).toBe(true);
    now = (rotated.oldSecretUntil?.getTime() ?? 0) - 1;
    expect(await sink?.deliver([event], AbortSignal.abort())).toEqual({ status: 204 });
    now += 1;
    await sink?.deliver([event], AbortSignal.abort());
    const seconds = Math.floor(now / 1_000);
    const [first, second] = requests;
    expect(first).toMatchObject({ url: FIELDS.url, headers: { 'webhook-id': event.id } });
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      specversion: '1.0',
      sequence: '000000000000001',
      type: 'dev.rollcall.agent.resumed',
    });
    expect(first?.headers['webhook-signature']?.split(' ')).toHaveLength(2);
    expect(second?.headers).toMatchObject(signedHeaders(event.id, seconds, second?.body ?? '', [current]));
    expect(second?.headers).not.toMatchObject(signedHeaders(event.id, seconds, second?.body ?? '', [old]));
  });

  it('reports the status and the requested delay of a failed delivery', async () => {
    const { service, sinks } = webhooks();
    const { row } = await service.create({ fields: FIELDS, paused: true, ...OWNER });
    answer = { status: 503, retryAfterMs: 2_000 };
    const event = await loggedEvent();
    const delivery = (await sinks.create(row.id))?.deliver([event], new AbortController().signal);
    await expect(delivery).rejects.toMatchObject({ details: { status: 503, retryAfterMs: 2_000 } });
  });

  it('a removed webhook has no sink and is not found', async () => {
    const { service, sinks } = webhooks();
    const { row } = await service.create({ fields: FIELDS, paused: false, ...OWNER });
    await service.remove(row.id, null);
    expect(await sinks.create(row.id)).toBeUndefined();
    await expect(service.get(row.id, null)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
  });

  it('A6 rejects a webhook beyond the quota of its creator, even if many webhooks are created at the same time', async () => {
    const { service } = webhooks({ limit: 3, setting: 'QUOTA' });
    const create = async (by: string): Promise<unknown> =>
      await service.create({ fields: FIELDS, paused: true, ...OWNER, createdBy: by });
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => create('key:a')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    await expect(create('key:a')).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', details: { limit: 3 } });
    await expect(create('key:b')).resolves.toBeDefined();
  });
});
