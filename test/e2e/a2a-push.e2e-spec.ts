import type { Task, TaskPushNotificationConfig } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { until } from '#rollcall/test-support';
import { a2aClient, BINDINGS, messageTo, send, withKey } from '../support/a2a-client.js';
import { startApi, type TestApi } from '../support/api.js';
import { TestAgents } from '../support/test-agents.js';
import { type Received, WebhookReceiver } from '../support/webhook-receiver.js';

interface Notification {
  task?: { id: string; status: { state: string }; artifacts?: object[] };
  statusUpdate?: { taskId: string; status: { state: string; message?: object } };
}

const VERSION = { 'a2a-version': '1.0' };
const SECRETS = { token: 'token-1', authentication: { scheme: 'Bearer', credentials: 'secret-1' } };

let api: TestApi;
let other: TestApi;
let agents: TestAgents;
let receiver: WebhookReceiver;
let key: string;
let stranger: string;
beforeAll(async () => {
  api = await startApi(
    { ROLLCALL_EGRESS_ALLOW: '127.0.0.1', ROLLCALL_SEALING_KEY: 'k'.repeat(32) },
    { constants: { webhooks: { tries: 3, retryFirst: 20 } } },
  );
  other = await api.replica();
  agents = new TestAgents();
  for (const replica of [api, other]) agents.install(replica);
  await agents.define(api);
  const content = { description: 'Echoes.', instructions: 'Echo.' };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
  [key, stranger] = [await api.given.key('caller'), await api.given.key('caller')];
});
beforeEach(async () => {
  agents.reset();
  receiver = await WebhookReceiver.start();
});
afterEach(async () => await receiver.stop());
afterAll(async () => {
  agents.finish();
  await other.stop();
  await api.stop();
});

const bodyOf = ({ body }: Received): Notification => JSON.parse(body) as Notification;
/** The state of each notification, with the prefix `task` for a whole task. */
const states = (): string[] =>
  receiver.received
    .map(bodyOf)
    .map(({ task, statusUpdate }) =>
      task
        ? `task ${task.status.state.slice('TASK_STATE_'.length)}`
        : `${statusUpdate?.status.state.slice('TASK_STATE_'.length)}`,
    );
const sinks = async (): Promise<number> => {
  const rows = await api.database.db.query<{ count: string }>(`SELECT count(*) FROM event_sink WHERE kind = 'push'`);
  return Number(rows[0]?.count);
};
const noSinks = async (): Promise<void> => await until('no sink is left', async () => (await sinks()) === 0);
const failure = async (promise: Promise<unknown>): Promise<string> =>
  await promise.then(
    () => 'none',
    (error: Error) => error.name,
  );
const configOf = (task: Task, more: object = {}): TaskPushNotificationConfig => ({
  tenant: '',
  taskId: task.id,
  id: '',
  url: receiver.url,
  token: '',
  authentication: undefined,
  ...more,
});

describe.each(BINDINGS)('push notifications over %s', (binding) => {
  const clientOf = async (id: string, on: TestApi = api, by: string = key): Promise<Client> =>
    await a2aClient(`${on.url}/a2a/agents/${id}`, by, binding);
  const inline = (more: object = {}): { configuration: object } => ({
    configuration: { taskPushNotificationConfig: { url: receiver.url, ...more } },
  });

  it('S3.12 a configuration in a message sends every change of the task in order, with the credentials', async () => {
    const client = await clientOf('asker');
    const asked = await send(client, messageTo('Build.', inline(SECRETS)));
    await until('the question is sent', () => states().length === 3);
    await send(await clientOf('asker', other), messageTo('main', { taskId: asked.id }));
    await until('the end is sent', () => states().at(-1)?.startsWith('task') === true);
    expect(states()).toEqual(['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'SUBMITTED', 'task COMPLETED']);
    const bodies = receiver.received.map(bodyOf);
    expect(bodies[2]?.statusUpdate).toMatchObject({
      taskId: asked.id,
      status: { message: { parts: [{ text: 'Which branch?' }] } },
    });
    expect(bodies.at(-1)?.task).toMatchObject({ id: asked.id, artifacts: [{ parts: [{ text: 'done' }] }] });
    for (const { headers } of receiver.received)
      expect(headers).toMatchObject({
        'content-type': 'application/a2a+json',
        authorization: 'Bearer secret-1',
        'x-a2a-notification-token': 'token-1',
      });
    await noSinks();
    const stored = await api.database.db.query<{ secrets: Buffer | null }>('SELECT secrets FROM push_config');
    expect(stored.map(({ secrets }) => secrets?.toString('latin1')).join()).not.toContain('secret-1');
  });

  it('S3.12 a failed notification is repeated before later ones are sent, and a notification that always fails is skipped', async () => {
    const tried: string[] = [];
    receiver.answer = (request) => {
      const { task, statusUpdate } = bodyOf(request);
      const state = (task ?? statusUpdate)?.status.state ?? '';
      tried.push(state);
      if (state === 'TASK_STATE_SUBMITTED') return { status: 302, headers: { location: `${receiver.url}/other` } };
      return { status: state === 'TASK_STATE_WORKING' && tried.length < 5 ? 503 : 200 };
    };
    await send(await clientOf('echo'), messageTo('Hello.', inline()));
    await noSinks();
    expect(tried.map((state) => state.slice('TASK_STATE_'.length))).toEqual([
      'SUBMITTED',
      'SUBMITTED',
      'SUBMITTED',
      'WORKING',
      'WORKING',
      'COMPLETED',
    ]);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook']);
  });

  it('S3.12 a caller creates, reads, replaces, lists and deletes the configurations of its task', async () => {
    const client = await clientOf('payer');
    const task = await send(client, messageTo('Pay.'));
    const config = configOf(task, { id: 'mine', ...SECRETS });
    const created = await client.createTaskPushNotificationConfig(config);
    const shown = { ...config, token: '', authentication: { scheme: 'Bearer', credentials: '' } };
    expect(created).toEqual(shown);
    const again = await clientOf('payer', other);
    const named = { tenant: '', taskId: task.id, id: 'mine' };
    expect(await again.getTaskPushNotificationConfig(named)).toEqual(shown);
    const { id } = await client.createTaskPushNotificationConfig(configOf(task));
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    await client.createTaskPushNotificationConfig({ ...config, url: `${receiver.url}/new`, authentication: undefined });
    const all = { tenant: '', taskId: task.id, pageSize: 0, pageToken: '' };
    const listed = await again.listTaskPushNotificationConfig(all);
    expect(listed.configs.map((one) => [one.id, one.url, one.authentication?.scheme])).toEqual([
      ['mine', `${receiver.url}/new`, undefined],
      [id, receiver.url, undefined],
    ]);
    await client.deleteTaskPushNotificationConfig({ ...named, id });
    await client.deleteTaskPushNotificationConfig({ ...named, id });
    expect(await failure(client.getTaskPushNotificationConfig({ ...named, id }))).toBe('TaskNotFoundError');
    await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    await until('the end is sent', () => states().includes('task CANCELED'));
    // the previous state may be sent, too, if its event was not sequenced when the configurations were created
    const ends = receiver.received.filter((request) => bodyOf(request).task?.status.state === 'TASK_STATE_CANCELED');
    expect(ends.map(({ path }) => path)).toEqual(['/hook/new']);
    await noSinks();
  });

  it('S3.12 configurations are not found by another caller, at another agent or for an unknown task', async () => {
    const client = await clientOf('payer');
    const task = await send(client, messageTo('Pay.', inline({ id: 'mine' })));
    const named = { tenant: '', taskId: task.id, id: 'mine' };
    const all = { tenant: '', taskId: task.id, pageSize: 0, pageToken: '' };
    for (const one of [await clientOf('payer', api, stranger), await clientOf('echo')]) {
      expect(await failure(one.createTaskPushNotificationConfig(configOf(task)))).toBe('TaskNotFoundError');
      expect(await failure(one.getTaskPushNotificationConfig(named))).toBe('TaskNotFoundError');
      expect(await failure(one.listTaskPushNotificationConfig(all))).toBe('TaskNotFoundError');
      expect(await failure(one.deleteTaskPushNotificationConfig(named))).toBe('TaskNotFoundError');
    }
    const absent = client.getTaskPushNotificationConfig({ ...named, taskId: 'absent' });
    expect(await failure(absent)).toBe('TaskNotFoundError');
    expect((await client.listTaskPushNotificationConfig(all)).configs).toHaveLength(1);
    await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    await noSinks();
  });

  it('S3.12 a finished task keeps its configurations for a while, and sends nothing', async () => {
    const client = await clientOf('echo');
    const task = await send(client, messageTo('Hello.'));
    await client.createTaskPushNotificationConfig(configOf(task, { id: 'late' }));
    const all = { tenant: '', taskId: task.id, pageSize: 0, pageToken: '' };
    expect((await client.listTaskPushNotificationConfig(all)).configs).toMatchObject([{ id: 'late' }]);
    expect(await sinks()).toBe(0);
  });
});

describe('push notifications', () => {
  const create = async (taskId: string, body: object): Promise<unknown> => {
    const path = `/a2a/tasks/${taskId}/pushNotificationConfigs`;
    return await api.call('POST', path, { key, headers: VERSION, body });
  };
  const invalid = (text: string): object => ({
    status: 400,
    body: { error: { message: expect.stringContaining(text), details: [{ reason: 'INVALID_PARAMS' }] } },
  });

  it('S3.12 a URL that may not be called and a value that cannot be in a header are rejected', async () => {
    const task = await send(await a2aClient(`${api.url}/a2a/agents/echo`, key, 'HTTP+JSON'), messageTo('Hello.'));
    for (const url of ['http://169.254.169.254/latest', 'http://[fd00::1]/', 'https://10.0.0.1/'])
      expect(await create(task.id, { url })).toMatchObject(invalid('not allowed'));
    expect(await create(task.id, { url: 'ftp://example.com' })).toMatchObject(invalid('http'));
    expect(await create(task.id, {})).toMatchObject(invalid('url'));
    const { url } = receiver;
    expect(await create(task.id, { url, token: 'a\r\nb: c' })).toMatchObject(invalid('token'));
    const authentication = { scheme: 'Bearer x', credentials: '' };
    expect(await create(task.id, { url, authentication })).toMatchObject(invalid('authentication.scheme'));
    const sent = messageTo('Hello.', {
      configuration: { taskPushNotificationConfig: { url: 'http://169.254.169.254/' } },
    });
    const client = await a2aClient(`${api.url}/a2a/agents/echo`, key, 'JSONRPC');
    expect(await failure(client.sendMessage(sent))).toBe('RequestMalformedError');
  });

  it('S3.12 a task has at most ten configurations, and a list of them has pages', async () => {
    const task = await send(await a2aClient(`${api.url}/a2a/agents/echo`, key, 'HTTP+JSON'), messageTo('Hello.'));
    for (let id = 1; id <= 10; id += 1) await create(task.id, { id: String(id), url: receiver.url });
    expect(await create(task.id, { id: '11', url: receiver.url })).toMatchObject(invalid('at most 10'));
    const path = `/a2a/tasks/${task.id}/pushNotificationConfigs`;
    const page = async (query: string): Promise<{ configs: object[]; nextPageToken: string }> =>
      (await api.call<{ configs: object[]; nextPageToken: string }>('GET', path + query, { key, headers: VERSION }))
        .body;
    const first = await page('?pageSize=6');
    expect(first.configs).toHaveLength(6);
    const second = await page(`?pageSize=6&pageToken=${first.nextPageToken}`);
    expect(second).toMatchObject({ configs: [{ id: '7' }, { id: '8' }, { id: '9' }, { id: '10' }], nextPageToken: '' });
    for (const query of ['', '?pageSize=0']) expect((await page(query)).configs).toHaveLength(10);
    for (const query of ['?pageSize=NaN', '?pageSize=101', '?pageSize=-1'])
      expect(await api.call('GET', path + query, { key, headers: VERSION })).toMatchObject(invalid('from 0 to 100'));
    const forged = await api.call('GET', `${path}?pageToken=forged`, { key, headers: VERSION });
    expect(forged).toMatchObject(invalid('nextPageToken'));
  });

  it('S3.12 an operator cannot replay the sink of a task, which is not listed', async () => {
    const client = await a2aClient(`${api.url}/a2a/agents/payer`, key, 'HTTP+JSON');
    const task = await send(client, messageTo('Pay.'));
    await create(task.id, { url: receiver.url });
    const rows = await api.database.db.query<{ id: string }>(`SELECT id FROM event_sink WHERE kind = 'push'`);
    expect(rows).toHaveLength(1);
    const replayed = await api.call('POST', `/v1/sinks/${rows[0]?.id}/replay`, { body: { after: '0' } });
    expect(replayed).toMatchObject({ status: 404, body: { code: 'SINK_NOT_FOUND' } });
    await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    await noSinks();
  });

  it('S3.12 a client of version 0.3 gets the task itself', async () => {
    const fetchImpl = withKey(key);
    const legacyCompat = { enabled: true };
    const legacyFetch: typeof fetch = async (input, init = {}) =>
      await fetchImpl(input, { ...init, headers: { 'a2a-version': '0.3' } });
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: legacyFetch, legacyCompat }),
    });
    const client = await factory.createFromUrl(`${api.url}/a2a/agents/payer/`);
    const task = await send(client, messageTo('Pay.'));
    await client.createTaskPushNotificationConfig(configOf(task, { id: 'mine', ...SECRETS }));
    const all = { tenant: '', taskId: task.id, pageSize: 0, pageToken: '' };
    expect((await client.listTaskPushNotificationConfig(all)).configs).toMatchObject([{ id: 'mine' }]);
    await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    const last = (): { kind?: string } => JSON.parse(receiver.received.at(-1)?.body ?? '{}') as { kind?: string };
    await until('the end is sent', () => last().kind === 'task'); // the question may be sent before it
    expect(receiver.received.at(-1)).toMatchObject({ headers: { authorization: 'Bearer secret-1' } });
    expect(last()).toMatchObject({ kind: 'task', status: { state: 'canceled' } });
  });
});
