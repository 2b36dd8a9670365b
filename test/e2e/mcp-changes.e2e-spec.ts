import { createConnection } from 'node:net';
import type { Client } from '@modelcontextprotocol/client';
import { until } from '#rollcall/test-support';
import { StreamConnections } from '../../apps/api/src/streams/stream.connections.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { callTool, ERAS, type Facts, mcpClient, messagesOf, rawRequest } from '../support/mcp-client.js';
import { withBody } from '../support/raw-http.js';
import { TestAgents } from '../support/test-agents.js';

const TASKS = 'io.modelcontextprotocol/tasks';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

let api: TestApi;
/** A replica that executes no runs. */
let other: TestApi;
let agents: TestAgents;
let key: string;
beforeAll(async () => {
  api = await startApi({}, { constants: { mcp: { subscriptions: 3 } } });
  other = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
  agents = new TestAgents();
  for (const replica of [api, other]) agents.install(replica);
  await agents.define(api);
  key = await api.given.key('operator');
});
beforeEach(() => agents.reset());
afterAll(async () => {
  agents.finish();
  await other.stop();
  await api.stop();
});

const at = (on: TestApi = api): string => `${on.url}/mcp`;
const textIn = ({ contents }: Awaited<ReturnType<Client['readResource']>>): Facts => {
  const [first] = contents;
  return JSON.parse(first && 'text' in first ? first.text : '{}') as Facts;
};
const failure = async (promise: Promise<unknown>): Promise<unknown> =>
  await promise.then(
    () => 'none',
    (error: { code?: unknown }) => error.code,
  );

describe.each(ERAS)('resources for a client of %s', (era) => {
  const connect = async (by = key): Promise<Client> => await mcpClient(at(), by, { era });

  it('S3.12 agents, runs and events are resources', async () => {
    const agentId = `team:${era}`;
    await api.given.agent({ agentId, name: 'Builder', capabilities: ['build'] });
    const client = await connect();
    const { resources } = await client.listResources();
    const uri = `rollcall://agents/${encodeURIComponent(agentId)}`;
    expect(resources).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ uri: 'rollcall://agents' }),
        expect.objectContaining({ uri, name: agentId, title: 'Builder' }),
      ]),
    );
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'rollcall://agents/{agentId}',
      'rollcall://runs/{runId}',
      'rollcall://events/{after}',
    ]);
    expect(textIn(await client.readResource({ uri }))).toMatchObject({ agentId, capabilities: ['build'] });
    const { facts } = await callTool(client, 'run_agent', { agent: 'asker', input: 'Build.' });
    const { runId } = facts;
    const run = await client.readResource({ uri: `rollcall://runs/${String(runId)}` });
    expect(textIn(run)).toMatchObject({ id: runId, state: 'waiting' });
    const subjects = async (): Promise<unknown[]> => {
      const { items } = textIn(await client.readResource({ uri: 'rollcall://events/oldest' })) as { items: Facts[] };
      return items.map(({ subject }) => subject);
    };
    // An event gets its sequence shortly after the commit of its run.
    await until('the run has an event', async () => (await subjects()).includes(runId));
  });

  it('S3.12 a resource that is missing or not permitted is not found', async () => {
    const client = await connect(await api.given.key('agent'));
    for (const uri of ['rollcall://agents/nobody', 'rollcall://agents/%ff', 'rollcall://runs/x', 'other://x'])
      expect(await failure(client.readResource({ uri }))).toBe(-32_602);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ name }) => name)).toEqual(['agent']);
    expect(await failure((await connect()).readResource({ uri: 'rollcall://events/never' }))).toBe(-32_602);
  });
});

describe('changes', () => {
  const listening = async (on: TestApi, path: string, filter: Parameters<Client['listen']>[0], by = key) => {
    const client = await mcpClient(`${on.url}${path}`, by);
    const seen: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void seen.push(params.uri));
    client.setNotificationHandler('notifications/resources/list_changed', () => void seen.push('resources'));
    client.setNotificationHandler('notifications/tools/list_changed', () => void seen.push('tools'));
    return { seen, subscription: await client.listen(filter) };
  };

  it('S3.12 a client is notified by the replica that holds its stream, whichever replica makes the change', async () => {
    const uris = ['rollcall://agents/changing', 'rollcall://events/latest', 'rollcall://agents/silent'];
    const filter = { resourcesListChanged: true, resourceSubscriptions: uris };
    const { seen, subscription } = await listening(other, '/mcp', filter);
    expect(subscription.honoredFilter).toEqual(filter);
    await api.given.agent({ agentId: 'changing' });
    await until('the client is notified', () => new Set(seen).size === 3);
    expect([...new Set(seen)].toSorted()).toEqual([
      'resources',
      'rollcall://agents/changing',
      'rollcall://events/latest',
    ]);
    await subscription.close();
  });

  it('S3.12 a client is not notified of changes in another namespace', async () => {
    const uris = ['rollcall://agents', 'rollcall://agents/shared', 'rollcall://agents/marker'];
    const filter = { resourcesListChanged: true, resourceSubscriptions: uris };
    const { seen, subscription } = await listening(other, '/mcp', filter);
    await api.given.namespace('elsewhere');
    await api.given.agent({ agentId: 'shared' }, await api.issueKeyIn('elsewhere', 'operator'));
    const content = { description: 'Marks the end.', instructions: 'Work.' };
    const marker = await api.call('POST', '/v1/definitions', { body: { name: 'marker', content } });
    expect(marker.status).toBe(201);
    await until('the client is notified of the later change', () => seen.includes('rollcall://agents/marker'));
    expect(seen).toEqual(['rollcall://agents/marker']);
    await subscription.close();
  });

  it('S3.12 the tool of an agent changes with its definition', async () => {
    const { seen, subscription } = await listening(other, '/mcp/agents/payer', { toolsListChanged: true });
    const content = { description: 'Pays more.', instructions: 'Work.', model: { vendor: 'test', model: 'payer' } };
    await api.call('POST', '/v1/definitions', { body: { name: 'payer', content: { ...content, tools: ['pay'] } } });
    const revised = await api.call('PUT', '/v1/definitions/payer', {
      body: { content: { ...content, tools: ['pay'] } },
    });
    expect([200, 201]).toContain(revised.status);
    await until('the client is notified', () => seen.includes('tools'));
    await subscription.close();
  });

  it('S3.12 the number of subscriptions is limited, and a subscription that ends frees its slot', async () => {
    const open = async (): Promise<Awaited<ReturnType<Client['listen']>>> =>
      (await listening(api, '/mcp', { resourcesListChanged: true })).subscription;
    const [first] = [await open(), await open(), await open()];
    expect(await failure(open())).toBe(-32_603);
    await first.close();
    await until('there is space', async () => (await failure(open())) === 'none');
  });

  it('S3.12 requests that arrive together get at most the allowed number of subscriptions', async () => {
    const replica = await api.replica({}, { constants: { mcp: { subscriptions: 2 } } });
    const filter = { resourcesListChanged: true };
    const { body, headers } = rawRequest('subscriptions/listen', { notifications: filter });
    const socket = createConnection(Number(new URL(replica.url).port), '127.0.0.1');
    const request = withBody('/mcp', { ...headers, host: 'localhost', authorization: `Bearer ${key}` }, body);
    socket.write(request.repeat(8));
    const connections = replica.app.nest.get(StreamConnections, { strict: false });
    await until('streams are open', () => connections.count >= 2);
    expect(connections.count).toBe(2);
    socket.destroy();
    await until('no stream is open', () => connections.count === 0);
    for (const place of ['first', 'second'])
      await until(`the ${place} place is free`, async () => {
        return (await failure(listening(replica, '/mcp', filter))) === 'none';
      });
    await replica.stop();
  });

  it('S3.12 a subscription ends when its credential ends', async () => {
    const created = await api.call<{ id: string; key: string }>('POST', '/v1/keys', {
      body: { name: 'short', roles: ['operator'], namespace: 'default' },
    });
    const { subscription } = await listening(other, '/mcp', { resourcesListChanged: true }, created.body.key);
    await api.call('DELETE', `/v1/keys/${created.body.id}`);
    expect(['graceful', 'remote']).toContain(await subscription.closed);
  });
});

describe('tasks', () => {
  const send = async (
    method: string,
    params: Facts,
    capabilities: Facts = { extensions: { [TASKS]: {} } },
    by = key,
  ): Promise<Answer> => {
    const { body, headers } = rawRequest(method, params);
    const { _meta, ...rest } = body['params'] as { _meta: Facts };
    const declared = { ...body, params: { ...rest, _meta: { ..._meta, [CAPABILITIES]: capabilities } } };
    return await other.call('POST', '/mcp', { key: by, body: declared, headers });
  };
  const start = async (agent: string, capabilities?: Facts): Promise<Facts> => {
    const input = { name: 'run_agent', arguments: { agent, input: 'Work.', waitMs: 0 } };
    return (await send('tools/call', input, capabilities)).body['result'] as Facts;
  };
  const get = async (taskId: unknown): Promise<Facts> => (await send('tasks/get', { taskId })).body['result'] as Facts;
  const errorOf = ({ body }: Answer): unknown => (body['error'] as Facts)['code'];
  const both = { elicitation: { form: {} }, extensions: { [TASKS]: {} } };

  it('S3.12 a run that takes longer than the client waits becomes a task, if the client supports tasks', async () => {
    const task = await start('talker');
    expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null, pollIntervalMs: 1_000 });
    const { taskId } = task;
    expect(await get(taskId)).toMatchObject({ resultType: 'complete', taskId, status: 'working' });
    agents.finish();
    await until('the task is completed', async () => (await get(taskId))['status'] === 'completed');
    expect(await get(taskId)).toMatchObject({
      result: { content: [{ type: 'text', text: 'done' }], structuredContent: { runId: taskId, state: 'completed' } },
    });
    expect(await start('talker', {})).toMatchObject({ resultType: 'complete', structuredContent: { state: 'queued' } });
  });

  it('S3.12 tasks/cancel cancels the run', async () => {
    const { taskId } = await start('talker');
    expect((await send('tasks/cancel', { taskId })).body['result']).toMatchObject({ resultType: 'complete' });
    expect(await get(taskId)).toMatchObject({ status: 'cancelled' });
    expect((await send('tasks/cancel', { taskId })).body['result']).toMatchObject({ resultType: 'complete' });
  });

  it('S3.12 tasks/update answers the question of a run, and ignores other answers', async () => {
    const { taskId } = await start('asker', both);
    await until('the run asks', async () => (await get(taskId))['status'] === 'input_required');
    const { inputRequests } = (await get(taskId)) as { inputRequests: Record<string, Facts> };
    const [question = ''] = Object.keys(inputRequests);
    expect(inputRequests[question]).toMatchObject({
      method: 'elicitation/create',
      params: { message: 'Which branch?', requestedSchema: { required: ['answer'] } },
    });
    const reply = { action: 'accept', content: { answer: 'main' } };
    const update = async (name: string): Promise<unknown> =>
      (await send('tasks/update', { taskId, inputResponses: { [name]: reply } })).body['result'];
    expect(await update('other')).toMatchObject({ resultType: 'complete' });
    expect(await get(taskId)).toMatchObject({ status: 'input_required' });
    expect(await update(question)).toMatchObject({ resultType: 'complete' });
    await until('the task is completed', async () => (await get(taskId))['status'] === 'completed');
  });

  it('S3.12 tasks/update approves a tool call of a run', async () => {
    const { taskId } = await start('payer', both);
    await until('the run asks', async () => (await get(taskId))['status'] === 'input_required');
    const { inputRequests } = (await get(taskId)) as { inputRequests: Record<string, Facts> };
    const [approval = ''] = Object.keys(inputRequests);
    const inputResponses = { [approval]: { action: 'accept', content: { approved: true } } };
    await send('tasks/update', { taskId, inputResponses });
    await until('the task is completed', async () => (await get(taskId))['status'] === 'completed');
    expect(agents.paid).toBe(1);
  });

  it('S3.12 a request for an unknown task, or without the tasks extension, is rejected', async () => {
    const { taskId } = await start('talker');
    expect(errorOf(await send('tasks/get', { taskId: 'x' }))).toBe(-32_602);
    const declared = await send('tasks/get', { taskId }, {});
    expect([declared.status, errorOf(declared)]).toEqual([400, -32_021]);
    const { headers } = rawRequest('tasks/get', { taskId });
    const legacy = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId } };
    const old = await api.call('POST', '/mcp', { key, body: legacy, headers: { accept: headers['accept'] ?? '' } });
    expect(JSON.stringify(old.body)).toContain('error');
  });

  it('S3.12 the task of another caller is not found', async () => {
    const { taskId } = await start('talker');
    const stranger = await api.given.key('caller');
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const { body } = await send(method, { taskId }, undefined, stranger);
      expect(body['error']).toMatchObject({ code: -32_602, data: { code: 'RUN_NOT_FOUND' } });
    }
    expect(await get(taskId)).toMatchObject({ status: 'working' });
  });

  it('S3.12 a client that listens to a task gets each of its states', async () => {
    const { taskId } = await start('talker');
    const { body, headers } = rawRequest('subscriptions/listen', { notifications: { taskIds: [taskId, 'unknown'] } });
    const { _meta, ...rest } = body['params'] as { _meta: Facts };
    const params = { ...rest, _meta: { ..._meta, [CAPABILITIES]: { extensions: { [TASKS]: {} } } } };
    const refused = await api.call('POST', '/mcp', { key, body, headers });
    expect([refused.status, errorOf(refused)]).toEqual([400, -32_021]);
    const stop = new AbortController();
    const response = await fetch(at(other), {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ ...body, params }),
      signal: stop.signal,
    });
    const messages = messagesOf(response);
    expect((await messages.next()).value).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [taskId] } },
    });
    agents.finish();
    for await (const { method, params: task } of messages) {
      expect({ method, task }).toMatchObject({ method: 'notifications/tasks', task: { taskId } });
      if ((task as Facts)['status'] === 'completed') break;
    }
    stop.abort();
  });

  it.each([
    ['more than 100 tasks', Array.from({ length: 101 }, (_, index) => `task-${index}`)],
    ['tasks that are not a list', 5],
  ])('S3.12 a subscription to %s is rejected', async (_, taskIds) => {
    const answer = await send('subscriptions/listen', { notifications: { taskIds } });
    expect([answer.status, errorOf(answer)]).toEqual([400, -32_602]);
    expect(answer.body['error']).toMatchObject({
      message: expect.stringContaining('taskIds must be a list of at most 100'),
      data: { code: 'VALIDATION_FAILED', errors: [{ field: 'taskIds' }] },
    });
  });

  it('S3.12 a request state that the server did not issue is rejected', async () => {
    const forged = { name: 'run_agent', arguments: { agent: 'asker', input: 'x' }, requestState: 'forged' };
    expect(errorOf(await send('tools/call', forged))).toBe(-32_602);
  });
});
