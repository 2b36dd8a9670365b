import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { EventClient } from '../support/event-client.js';
import { type Facts, mcpClient, messagesOf, callTool, rawRequest } from '../support/mcp-client.js';

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const TASKS = 'io.modelcontextprotocol/tasks';
const A2A = { 'a2a-version': '1.0' };

let api: TestApi;
let keys: Record<'owner' | 'stranger' | 'viewer' | 'operator' | 'watcher', string>;
/** A run of the owner, and the run that it delegated. */
let root: string;
let child: string;

beforeAll(async () => {
  api = await startApi();
  keys = {
    owner: await api.given.key('caller'),
    stranger: await api.given.key('caller'),
    viewer: await api.given.key('viewer'),
    operator: await api.given.key('operator'),
    watcher: await api.given.key('caller', 'viewer'),
  };
  for (const name of ['boss', 'helper'])
    await api.call('POST', '/v1/definitions', { body: { name, content: { description: `The ${name}.` } } });
  const body = { definition: 'boss', input: 'Ask helper: Hello.' };
  const started = await api.call<{ id: string; state: string }>('POST', '/v1/runs?waitMs=20000', {
    key: keys.owner,
    body,
  });
  expect(started.body.state).toBe('completed');
  root = started.body.id;
  const tree = await api.call<{ children: { run: { id: string } }[] }>('GET', `/v1/runs/${root}/tree`);
  child = tree.body.children[0]?.run.id ?? '';
});
afterAll(async () => await api.stop());

const isListed = async (path: string, key: string, id: string, headers = {}): Promise<boolean> =>
  JSON.stringify((await api.call('GET', path, { key, headers })).body).includes(id);
const isFound = async (path: string, key: string, headers = {}): Promise<boolean> => {
  const response = await fetch(api.url + path, { headers: { authorization: `Bearer ${key}`, ...headers } });
  await response.body?.cancel();
  if (response.status !== 200 && response.status !== 404) throw new Error(`${path}: ${response.status}`);
  return response.status === 200;
};
async function isFollowed(key: string, runId: string): Promise<boolean> {
  const socket = await EventClient.connect(api.url, { key });
  socket.send('subscribe-run', { runId, afterStep: 0 });
  await until('the subscription is answered', () => socket.count('run-subscribed') + socket.count('error') > 0);
  socket.socket.close();
  return socket.count('run-subscribed') > 0;
}
async function withMcp(
  key: string,
  work: (client: Awaited<ReturnType<typeof mcpClient>>) => Promise<boolean>,
): Promise<boolean> {
  const client = await mcpClient(`${api.url}/mcp`, key);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
const hasTask = async (key: string, taskId: string): Promise<boolean> => {
  const { body, headers } = rawRequest('tasks/get', { taskId });
  const params = body['params'] as Facts;
  const _meta = { ...(params['_meta'] as Facts), [CAPABILITIES]: { extensions: { [TASKS]: {} } } };
  const answer = await api.call('POST', '/mcp', { key, headers, body: { ...body, params: { ...params, _meta } } });
  return answer.body['error'] === undefined;
};

/** Every way to read a run. Each returns whether the key sees the run. */
const READS: Record<string, (key: string, id: string) => Promise<boolean>> = {
  'GET /v1/runs': async (key) => await isListed('/v1/runs', key, root),
  'GET /v1/runs?root': async (key, id) => await isListed(`/v1/runs?root=${root}`, key, id),
  'GET /v1/runs/{id}': async (key, id) => await isFound(`/v1/runs/${id}`, key),
  'GET /v1/runs/{id}?waitMs': async (key, id) => await isFound(`/v1/runs/${id}?waitMs=1`, key),
  'GET /v1/runs/{id}/steps': async (key, id) => await isFound(`/v1/runs/${id}/steps`, key),
  'GET /v1/runs/{id}/stream': async (key, id) => await isFound(`/v1/runs/${id}/stream`, key),
  'GET /v1/runs/{id}/tree': async (key, id) => await isFound(`/v1/runs/${id}/tree`, key),
  'GET /v1/runs/{id}/export': async (key, id) => await isFound(`/v1/runs/${id}/export`, key),
  'GET /v1/runs/{id}/files': async (key, id) => await isFound(`/v1/runs/${id}/files`, key),
  'MCP get_run': async (key, runId) =>
    await withMcp(key, async (client) => (await callTool(client, 'get_run', { runId })).facts['runId'] === runId),
  'MCP resources': async (key, id) =>
    await withMcp(key, async (client) => {
      const read = client.readResource({ uri: `rollcall://runs/${id}` });
      return await read.then(
        () => true,
        () => false,
      );
    }),
};
/** These edges show only runs that no other run delegated. */
const TASK_READS: Record<string, (key: string, id: string) => Promise<boolean>> = {
  'MCP tasks': hasTask,
  'A2A GetTask': async (key, id) => await isFound(`/a2a/tasks/${id}`, key, A2A),
  'A2A ListTasks': async (key, id) => await isListed('/a2a/tasks', key, id, A2A),
};

const SEES = { owner: true, stranger: false, viewer: true, operator: true, watcher: true };
type Who = keyof typeof SEES;

async function seenBy(read: (key: string, id: string) => Promise<boolean>, id: string): Promise<object> {
  const seen = await Promise.all(
    Object.entries(keys).map(async ([who, key]) => [who, await read(key, id)] as [Who, boolean]),
  );
  return Object.fromEntries(seen);
}

describe('who sees which runs', () => {
  it.each(Object.keys({ ...READS, ...TASK_READS }))(
    'S-20 %s: the caller that started a run, operators and viewers',
    async (edge) => {
      expect(await seenBy({ ...READS, ...TASK_READS }[edge] ?? hasTask, root)).toEqual(SEES);
    },
  );

  it.each(Object.keys(READS))('S-20 %s: a delegated run is seen by those who see its root', async (edge) => {
    expect(await seenBy(READS[edge] ?? hasTask, child)).toEqual(SEES);
  });

  it.each(Object.keys(TASK_READS))('S-20 %s: a delegated run is not a task', async (edge) => {
    const nobody = { owner: false, stranger: false, viewer: false, operator: false, watcher: false };
    expect(await seenBy(TASK_READS[edge] ?? hasTask, child)).toEqual(nobody);
  });

  it('S-20 the WebSocket: viewers and operators follow every run; other roles cannot open it', async () => {
    for (const who of ['viewer', 'operator', 'watcher'] as const) expect(await isFollowed(keys[who], root)).toBe(true);
    for (const who of ['owner', 'stranger'] as const)
      expect(await EventClient.refusal(api.url, { key: keys[who] })).toMatchObject({ code: 'FORBIDDEN' });
  });

  it('S-20 a stranger can neither answer, cancel, retry nor approve a run, which does not exist for it', async () => {
    const decision = { callId: 'call-1', inputHash: 'hash', approved: true };
    const bodies = { messages: { input: 'Yes.' }, cancel: {}, retry: {}, approvals: decision };
    for (const [action, body] of Object.entries(bodies)) {
      const answer = await api.call('POST', `/v1/runs/${root}/${action}`, { key: keys.stranger, body });
      expect(answer).toMatchObject({ status: 404, body: { code: 'RUN_NOT_FOUND' } });
    }
  });

  it('S-20 a caller that may see all runs cannot change the push notifications of others', async () => {
    const config = `/a2a/tasks/${root}/pushNotificationConfigs`;
    const body = { url: 'https://hooks.example.com/a2a' };
    const by = async (key: string, method: string): Promise<number> =>
      (await api.call(method, config, { key, headers: A2A, ...(method === 'POST' && { body }) })).status;
    expect([await by(keys.watcher, 'POST'), await by(keys.watcher, 'GET')]).toEqual([404, 404]);
    expect(await by(keys.owner, 'GET')).toBe(200);
  });
});

describe('subscriptions of MCP', () => {
  /** The filter that the server acknowledges. */
  async function acknowledged(key: string, notifications: object): Promise<unknown> {
    const { body, headers } = rawRequest('subscriptions/listen', { notifications });
    const params = body['params'] as Facts;
    const _meta = { ...(params['_meta'] as Facts), [CAPABILITIES]: { extensions: { [TASKS]: {} } } };
    const stop = new AbortController();
    const response = await fetch(`${api.url}/mcp`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ ...body, params: { ...params, _meta } }),
      signal: stop.signal,
    });
    const first = (await messagesOf(response).next()).value as { params: { notifications: unknown } };
    stop.abort();
    return first.params.notifications;
  }

  it('S-17 a client cannot name a task as a resource, which would skip the check of its visibility', async () => {
    const resourceSubscriptions = [`task:${root}`, 'rollcall://agents'];
    for (const key of [keys.stranger, keys.owner])
      expect(await acknowledged(key, { resourceSubscriptions })).toEqual({
        resourceSubscriptions: ['rollcall://agents'],
      });
    expect(await acknowledged(keys.stranger, { resourceSubscriptions, taskIds: [root] })).toEqual({
      resourceSubscriptions: ['rollcall://agents'],
    });
    expect(await acknowledged(keys.owner, { taskIds: [root] })).toEqual({ taskIds: [root] });
  });

  it('S-17 S-20 a client is not notified of changes of runs that it does not see', async () => {
    const resourceSubscriptions = [`rollcall://runs/${root}`, 'rollcall://agents'];
    expect(await acknowledged(keys.stranger, { resourceSubscriptions })).toEqual({
      resourceSubscriptions: ['rollcall://agents'],
    });
    for (const who of ['owner', 'viewer', 'operator'] as const)
      expect(await acknowledged(keys[who], { resourceSubscriptions })).toEqual({ resourceSubscriptions });
  });
});
