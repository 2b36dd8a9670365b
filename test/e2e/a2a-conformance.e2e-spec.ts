import { RoundRobin, until } from '#rollcall/test-support';
import { A2aChecks, message, statesOf, type TaskJson, taskOf } from '../support/a2a-checks.js';
import { BINDINGS } from '../support/a2a-client.js';
import { A2aWire, type Json, type WireAnswer } from '../support/a2a-wire.js';
import { startApi, type TestApi } from '../support/api.js';
import { TestAgents } from '../support/test-agents.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

/**
 * One check for each requirement of the public conformance suite (a2aproject/a2a-tck) that a server must fulfil. The name of a check
 * contains the ids of its requirements. All checks run in both bindings, against two replicas behind a proxy that alternates between
 * them. docs/a2a.md lists the deviations.
 */
type Check = (checks: A2aChecks) => Promise<void>;

const TERMINAL = /^TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED)$/;

/** The events without pieces of the answer, which may be lost. */
const lasting = (answer?: WireAnswer): Json[] =>
  (answer?.events ?? []).filter((event) => !('artifactUpdate' in event) || JSON.stringify(event).includes('lastChunk'));

let proxy: RoundRobin;
let api: TestApi;
let other: TestApi;
let agents: TestAgents;
let receiver: WebhookReceiver;
let key: string;
beforeAll(async () => {
  proxy = await RoundRobin.start();
  receiver = await WebhookReceiver.start();
  const settings = { ROLLCALL_PUBLIC_URL: proxy.url, ROLLCALL_EGRESS_ALLOW: '127.0.0.1' };
  api = await startApi({ ...settings, ROLLCALL_SEALING_KEY: 'k'.repeat(32) });
  other = await api.replica();
  proxy.targets = [api.url, other.url];
  agents = new TestAgents();
  for (const replica of [api, other]) agents.install(replica);
  await agents.define(api);
  const content = { description: 'Echoes.', instructions: 'Echo.', capabilities: ['text.echo'] };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
  key = await api.given.key('caller');
});
beforeEach(() => agents.reset());
afterAll(async () => {
  agents.finish();
  await proxy.stop();
  await receiver.stop();
  await other.stop();
  await api.stop();
});

const OPERATIONS: Record<string, Check> = {
  'CORE-SEND-001, DM-TASK-001, DM-STATUS-001, DM-ART-001: a message returns a complete task': async (c) => {
    const task = await c.completed();
    expect(task).toMatchObject({ id: expect.any(String), status: { state: 'TASK_STATE_COMPLETED' } });
    expect(task.artifacts).toMatchObject([{ artifactId: expect.any(String), parts: [{ text: expect.any(String) }] }]);
  },
  'CORE-SEND-002: a message to a finished task is rejected': async (c) => {
    const { id: taskId } = await c.completed();
    c.fails(await c.echo.call('SendMessage', { message: message({ taskId }) }), 'UNSUPPORTED_OPERATION');
  },
  'CORE-GET-001: GetTask returns the task': async (c) => {
    const task = await c.completed();
    expect(taskOf(await c.echo.call('GetTask', { id: task.id }))).toEqual(task);
  },
  'CORE-GET-002, CORE-ERR-001: GetTask rejects an unknown task': async (c) =>
    c.fails(await c.echo.call('GetTask', { id: 'absent' }), 'TASK_NOT_FOUND'),
  'CORE-LIST-001, 003, 004, 005: a list has the latest change first, all fields, and no artifacts': async (c) => {
    const contextId = crypto.randomUUID();
    for (let count = 0; count < 3; count += 1) await c.completed({ contextId });
    const { result } = await c.echo.call('ListTasks', { contextId });
    const { tasks, ...page } = result as { tasks: TaskJson[] };
    expect(page).toEqual({ nextPageToken: '', pageSize: 50, totalSize: 3 });
    const times = tasks.map(({ status }) => status.timestamp);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(tasks.filter((task) => 'artifacts' in task)).toEqual([]);
    const stranger = new A2aWire(c.binding, `${proxy.url}/a2a/agents/echo`, await api.given.key('caller'));
    expect((await stranger.call('ListTasks', { contextId })).result).toMatchObject({ tasks: [], totalSize: 0 });
  },
  'CORE-LIST-002: a list has pages': async (c) => {
    const contextId = crypto.randomUUID();
    for (let count = 0; count < 3; count += 1) await c.completed({ contextId });
    const first = (await c.echo.call('ListTasks', { contextId, pageSize: 2 })).result;
    const pageToken = first?.['nextPageToken'];
    const second = (await c.echo.call('ListTasks', { contextId, pageSize: 2, pageToken })).result;
    const ids = [first, second].flatMap((page) => ((page?.['tasks'] ?? []) as TaskJson[]).map(({ id }) => id));
    expect(new Set(ids).size).toBe(3);
    expect(second?.['nextPageToken']).toBe('');
  },
  'CORE-CANCEL-001: CancelTask cancels a task': async (c) => {
    const { id } = await c.interrupted();
    expect(taskOf(await c.asker.call('CancelTask', { id }))).toMatchObject({
      id,
      status: { state: 'TASK_STATE_CANCELED' },
    });
  },
  'CORE-CANCEL-002: CancelTask rejects a finished task': async (c) => {
    const { id } = await c.completed();
    c.fails(await c.echo.call('CancelTask', { id }), 'TASK_NOT_CANCELABLE');
  },
  'CORE-CANCEL-003: CancelTask rejects an unknown task': async (c) =>
    c.fails(await c.echo.call('CancelTask', { id: 'absent' }), 'TASK_NOT_FOUND'),
  'CORE-EXECUTION-MODE-001: SendMessage waits for the end or for a question': async (c) => {
    expect((await c.completed()).status.state).toMatch(TERMINAL);
    expect(await c.interrupted()).toMatchObject({ status: { state: 'TASK_STATE_INPUT_REQUIRED' } });
  },
  'CORE-EXECUTION-MODE-002: SendMessage returns immediately on request': async (c) => {
    const request = { message: message(), configuration: { returnImmediately: true } };
    const task = taskOf(await c.talker.call('SendMessage', request));
    expect(task.status.state).toMatch(/^TASK_STATE_(SUBMITTED|WORKING)$/);
    await c.talker.call('CancelTask', { id: task.id });
  },
  'CORE-ERR-002, DM-MSG-001, DM-PART-001, DM-SERIAL-004: invalid messages are rejected': async (c) => {
    const { messageId: _, ...unnamed } = message();
    for (const invalid of [
      undefined,
      unnamed,
      message({ parts: [] }),
      message({ role: 'ROLE_OTHER' }),
      message({ parts: [{ text: 'a', url: 'https://a.example' }] }),
    ])
      c.fails(await c.echo.call('SendMessage', { message: invalid }), 'INVALID_PARAMS');
  },
  'CORE-MULTI-001a, 002: a task has the context of its message, or a new one': async (c) => {
    expect((await c.completed()).contextId).not.toBe('');
    expect((await c.completed({ contextId: 'mine' })).contextId).toBe('mine');
  },
  'CORE-MULTI-003: each task has its own id': async (c) =>
    expect((await c.completed()).id).not.toBe((await c.completed()).id),
  'CORE-MULTI-004: a message to an unknown task is rejected': async (c) =>
    c.fails(await c.echo.call('SendMessage', { message: message({ taskId: 'absent' }) }), 'TASK_NOT_FOUND'),
  'CORE-MULTI-005: an answer without a context keeps the context of its task': async (c) => {
    const { id: taskId, contextId } = await c.interrupted();
    const answered = taskOf(await c.asker.call('SendMessage', { message: message({ taskId }) }));
    expect(answered).toMatchObject({ id: taskId, contextId, status: { state: 'TASK_STATE_COMPLETED' } });
  },
  'CORE-MULTI-006: a message whose context differs from its task is rejected': async (c) => {
    const { id: taskId } = await c.interrupted();
    const mismatch = message({ taskId, contextId: 'another' });
    c.fails(await c.asker.call('SendMessage', { message: mismatch }), 'INVALID_PARAMS');
  },
  'CORE-HIST-001, 002, 003, 005, 006: the history has the newest messages in order': async (c) => {
    const { id: taskId } = await c.interrupted();
    const answer = message({ taskId, parts: [{ text: 'main' }] });
    const { id } = taskOf(await c.asker.call('SendMessage', { message: answer }));
    const history = async (historyLength: number): Promise<TaskJson['history']> =>
      taskOf(await c.asker.call('GetTask', { id, historyLength })).history;
    expect(await history(0)).toBeUndefined();
    expect(await history(1)).toMatchObject([{ messageId: answer['messageId'], parts: [{ text: 'main' }] }]);
    expect(await history(9)).toMatchObject([{ role: 'ROLE_USER', parts: [{ text: 'Hello.' }] }, {}]);
    const sent = await c.echo.call('SendMessage', { message: message(), configuration: { historyLength: 0 } });
    expect(taskOf(sent).history).toBeUndefined();
  },
  'DM-SERIAL-001, 002, 003: field names are in camel case, states are names, and times are in UTC': async (c) => {
    const task = await c.completed();
    expect(JSON.stringify(task)).not.toMatch(/"[a-z]+_[a-z]+":/);
    expect(task.status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  },
  'DM-SERIAL-005: unknown fields are ignored': async (c) => {
    const answer = await c.echo.call('SendMessage', { message: message({ later: 1 }), another: true });
    expect(taskOf(answer).status.state).toBe('TASK_STATE_COMPLETED');
  },
};

const STREAMS: Record<string, Check> = {
  'CORE-STREAM-001, 003, JSONRPC-SSE-001, HTTP_JSON-SSE-001: a stream begins with the task and ends when the task ends':
    async (c) => {
      const { events, headers } = await c.echo.call('SendStreamingMessage', { message: message() });
      expect(headers.get('content-type')).toContain('text/event-stream');
      expect(Object.keys(events[0] ?? {})).toEqual(['task']);
      expect(statesOf(events).at(-1)).toBe('TASK_STATE_COMPLETED');
    },
  'CORE-STREAM-002: a stream with a message contains nothing else': async (c) => {
    const root = new A2aWire(c.binding, `${proxy.url}/a2a`, key);
    const asked = message({ parts: [{ data: { skill: 'query', input: {} } }] });
    const { events } = await root.call('SendStreamingMessage', { message: asked });
    expect(events.map((event) => Object.keys(event))).toEqual([['message']]);
  },
  'STREAM-ORDER-001 to 004, STREAM-SUB-001, 002: all streams have the same events, and closing one stream ends no other':
    async (c) => {
      const { id } = await c.interrupted();
      const aborted = new AbortController();
      const closed = fetch(`${proxy.url}/a2a/agents/asker/tasks/${id}:subscribe`, {
        headers: { authorization: `Bearer ${key}`, 'a2a-version': '1.0' },
        signal: aborted.signal,
      });
      const streams = [c.asker.call('SubscribeToTask', { id }), c.asker.call('SubscribeToTask', { id })];
      await (await closed).body?.getReader().read();
      aborted.abort();
      await c.asker.call('SendMessage', { message: message({ taskId: id }) });
      const [first, second] = await Promise.all(streams);
      for (const stream of [first, second]) {
        expect(Object.keys(stream?.events[0] ?? {})).toEqual(['task']);
        expect(statesOf(stream?.events ?? []).at(-1)).toBe('TASK_STATE_COMPLETED');
      }
      const [longer = [], shorter = []] = [first, second]
        .map((stream) => statesOf(lasting(stream)).slice(1))
        .toSorted((left, right) => right.length - left.length);
      expect(shorter).toEqual(longer.slice(longer.length - shorter.length)); // the shorter stream may begin with a later snapshot
    },
  'STREAM-SUB-003: a subscription to a finished task is rejected': async (c) => {
    const { id } = await c.completed();
    c.fails(await c.echo.call('SubscribeToTask', { id }), 'UNSUPPORTED_OPERATION');
  },
  'STREAM-SUB-004: a subscription to an unknown task is rejected': async (c) =>
    c.fails(await c.echo.call('SubscribeToTask', { id: 'absent' }), 'TASK_NOT_FOUND'),
};

const PUSHES: Record<string, Check> = {
  'PUSH-CREATE-001, 002, PUSH-GET-001, PUSH-LIST-001: a configuration is stored with its id': async (c) => {
    const { id: taskId } = await c.completed();
    const config = { taskId, id: 'push-1', url: 'https://client.example/push' };
    expect((await c.echo.call('CreateTaskPushNotificationConfig', config)).result).toEqual(config);
    expect((await c.echo.call('GetTaskPushNotificationConfig', { taskId, id: 'push-1' })).result).toEqual(config);
    const { result } = await c.echo.call('ListTaskPushNotificationConfigs', { taskId });
    expect(result).toMatchObject({ configs: [config] });
  },
  'PUSH-GET-002: an unknown configuration is rejected': async (c) => {
    const { id: taskId } = await c.completed();
    c.fails(await c.echo.call('GetTaskPushNotificationConfig', { taskId, id: 'absent' }), 'TASK_NOT_FOUND');
  },
  'PUSH-DEL-001, 002: a configuration can be deleted, and deleted again': async (c) => {
    const { id: taskId } = await c.completed();
    await c.echo.call('CreateTaskPushNotificationConfig', { taskId, id: 'push-1', url: 'https://client.example/' });
    for (let count = 0; count < 2; count += 1) {
      const deleted = await c.echo.call('DeleteTaskPushNotificationConfig', { taskId, id: 'push-1' });
      expect(deleted.error).toBeUndefined();
    }
    c.fails(await c.echo.call('GetTaskPushNotificationConfig', { taskId, id: 'push-1' }), 'TASK_NOT_FOUND');
  },
  'PUSH-DELIVER-001, 002, 003: a notification has the credentials of the client, and an event of a stream as its body':
    async (c) => {
      receiver.received.length = 0;
      const authentication = { scheme: 'Bearer', credentials: `secret-of-${c.binding}` };
      const { id } = await c.interrupted({ taskPushNotificationConfig: { url: receiver.url, authentication } });
      await c.asker.call('SendMessage', { message: message({ taskId: id }) });
      const bodies = (): Json[] => receiver.received.map(({ body }) => JSON.parse(body) as Json);
      await until('the end is sent', () => statesOf(bodies()).at(-1) === 'TASK_STATE_COMPLETED');
      expect(receiver.received[0]?.headers.authorization).toBe(`Bearer secret-of-${c.binding}`);
      expect(bodies().map((body) => Object.keys(body).length)).toEqual(bodies().map(() => 1));
    },
};

const VERSIONS_AND_CARDS: Record<string, Check> = {
  'VER-SERVER-001, VER-CLIENT-002: the patch number of the version is ignored': async (c) => {
    const answer = await c.echo.call('SendMessage', { message: message() }, { 'a2a-version': '1.0.7' });
    expect(taskOf(answer).status.state).toBe('TASK_STATE_COMPLETED');
  },
  'VER-SERVER-002: an unknown version is rejected': async (c) =>
    c.fails(await c.echo.call('GetTask', { id: 'x' }, { 'a2a-version': '99.0' }), 'VERSION_NOT_SUPPORTED'),
  'VER-SERVER-003: an empty version means 0.3': async (c) => {
    const answer = await c.echo.call('ListTasks', {}, { 'a2a-version': '' });
    if (c.binding === 'HTTP+JSON') return c.fails(answer, 'VERSION_NOT_SUPPORTED');
    expect(answer.error?.code).toBe(-32_601); // ListTasks is a method of 1.0
    const legacy = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'absent' } };
    expect((await c.echo.rpc(JSON.stringify(legacy), { 'a2a-version': '' })).error?.code).toBe(-32_001);
  },
  'CARD-DISC-001, CARD-PROTO-001, 002, CARD-STRUCT-001, CARD-CACHE-001, 002: the card is complete and can be cached':
    async (c) => {
      const response = await fetch(`${proxy.url}/.well-known/agent-card.json`);
      expect(response.headers.get('cache-control')).toContain('max-age=');
      expect(response.headers.get('etag')).toMatch(/^".+"$/);
      const card = (await response.json()) as Json;
      const required = ['name', 'description', 'version', 'supportedInterfaces', 'capabilities', 'skills'];
      expect(Object.keys(card)).toEqual(
        expect.arrayContaining([...required, 'defaultInputModes', 'defaultOutputModes']),
      );
      expect(Object.keys(card['capabilities'] as object).toSorted()).toEqual(
        ['extendedAgentCard', 'extensions', 'pushNotifications', 'streaming'].toSorted(),
      );
      expect(card['supportedInterfaces']).toContainEqual({
        url: `${proxy.url}/a2a`,
        protocolBinding: c.binding,
        protocolVersion: '1.0',
      });
    },
  'CARD-EXT-001: the extended card needs a credential': async (c) => {
    const root = `${proxy.url}/a2a`;
    expect((await new A2aWire(c.binding, root, key).call('GetExtendedAgentCard')).result).toMatchObject({
      name: 'Rollcall',
    });
    expect((await new A2aWire(c.binding, root, 'wrong').call('GetExtendedAgentCard')).status).toBe(401);
  },
  'JSONRPC-FMT-001, 002, JSONRPC-ERR-001, HTTP_JSON-SVC-001, HTTP_JSON-ERR-001: responses have the required form':
    async (c) => {
      const [good, bad] = [await c.echo.call('ListTasks'), await c.echo.call('GetTask', { id: 'absent' })];
      const type = c.binding === 'JSONRPC' ? 'application/json' : 'application/a2a+json';
      for (const { headers } of [good, bad]) expect(headers.get('content-type')).toContain(type);
      expect(bad.status).toBe(c.binding === 'JSONRPC' ? 200 : 404);
      if (c.binding === 'HTTP+JSON') return;
      expect((await c.echo.rpc('{')).error?.code).toBe(-32_700);
      expect((await c.echo.rpc('{"jsonrpc":"1.0","id":1,"method":"GetTask"}')).error?.code).toBe(-32_600);
      expect((await c.echo.rpc('{"jsonrpc":"2.0","id":1,"method":"message/send"}')).error?.code).toBe(-32_601);
    },
  'a body of another media type is rejected': async (c) => {
    const answer = await c.echo.call('SendMessage', { message: message() }, { 'content-type': 'text/plain' });
    c.fails(answer, 'CONTENT_TYPE_NOT_SUPPORTED');
  },
};

describe.each(BINDINGS)('S3.12 the conformance of %s', (binding) => {
  let checks: A2aChecks;
  beforeAll(() => void (checks = new A2aChecks(binding, proxy.url, key)));

  it.each(Object.entries(OPERATIONS))('%s', async (_, check) => await check(checks));
  it.each(Object.entries(STREAMS))('%s', async (_, check) => await check(checks));
  it.each(Object.entries(PUSHES))('%s', async (_, check) => await check(checks));
  it.each(Object.entries(VERSIONS_AND_CARDS))('%s', async (_, check) => await check(checks));
});
