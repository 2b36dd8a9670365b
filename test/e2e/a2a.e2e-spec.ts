import { type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { until } from '#rollcall/test-support';
import { FakeA2aServer } from '#rollcall/providers/testing';
import { a2aClient, BINDINGS, collect, messageTo, send, textOf } from '../support/a2a-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { exampleOf, examplesOf, ExampleRunner } from '../support/doc-example.js';
import { TestAgents } from '../support/test-agents.js';

const FACTS = 'urn:rollcall:a2a:v1';
const NO_METADATA = { tenant: '', metadata: undefined };

let api: TestApi;
/** Executes no runs. */
let other: TestApi;
let agents: TestAgents;
let remote: FakeA2aServer;
let key: string;
let stranger: string;
beforeAll(async () => {
  // the remote agent sends no heartbeats
  api = await startApi({
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
    ROLLCALL_HEARTBEAT_EVERY: '10m',
    ROLLCALL_SEALING_KEY: 'k'.repeat(32),
  });
  other = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
  agents = new TestAgents();
  for (const replica of [api, other]) agents.install(replica);
  await agents.define(api);
  [key, stranger] = [await api.given.key('caller'), await api.given.key('caller')];
  const content = { description: 'Echoes.', instructions: 'Echo.', capabilities: ['text.echo'] };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
  remote = await FakeA2aServer.start();
  const facts = { endpoint: remote.url, agentCard: { name: 'Remote' }, capabilities: ['files.copy'] };
  await api.given.agent({ agentId: 'remote', ...facts });
});
beforeEach(() => agents.reset());
afterAll(async () => {
  agents.finish();
  await other.stop();
  await api.stop();
  await remote.close();
});

const agentUrl = (id: string, on: TestApi = api): string => `${on.url}/a2a/agents/${id}`;
const stateOf = ({ status }: Pick<Task, 'status'>): string => TaskState[status?.state ?? -1] ?? 'none';
const casesOf = (events: readonly StreamResponse[]): (string | undefined)[] =>
  events.map(({ payload }) =>
    payload?.$case === 'statusUpdate' ? stateOf(payload.value).replace('TASK_STATE_', '') : payload?.$case,
  );
/** The name of the error that the client of the SDK throws. */
const failure = async (promise: Promise<unknown>): Promise<string> =>
  await promise.then(
    () => 'none',
    (error: Error) => error.name,
  );

describe.each(BINDINGS)('A2A over %s', (binding) => {
  const clientOf = async (id: string, on: TestApi = api, by: string = key): Promise<Client> =>
    await a2aClient(agentUrl(id, on), by, binding);

  it('S3.12 a message runs the agent, and any replica returns the finished task with its usage', async () => {
    const sent = messageTo('Hello.', { contextId: 'talk' });
    const task = await send(await clientOf('echo', other), sent);
    expect(task).toMatchObject({
      contextId: 'talk',
      status: { state: TaskState.TASK_STATE_COMPLETED },
      history: [{ messageId: sent.message?.messageId }],
      metadata: { [FACTS]: { agentId: 'echo', state: 'completed', usage: { outputTokens: expect.any(Number) } } },
    });
    expect(textOf(task)).toBe('You said: Hello.');
    expect(await (await clientOf('echo')).getTask({ tenant: '', id: task.id })).toEqual(task);
    const short = await (await clientOf('echo')).getTask({ tenant: '', id: task.id, historyLength: 0 });
    expect(short.history).toEqual([]);
  });

  it('S3.12 a repeated message returns the same task, and another message with the same id is rejected', async () => {
    const client = await clientOf('echo');
    const sent = messageTo('Once.');
    const first = await send(client, sent);
    expect((await send(await clientOf('echo', other), sent)).id).toBe(first.id);
    const { messageId } = sent.message ?? { messageId: '' };
    expect(await failure(send(client, messageTo('Twice.', { messageId })))).toBe('RequestMalformedError');
    expect(await failure(send(await clientOf('talker'), sent))).toBe('RequestMalformedError');
    expect((await send(await clientOf('echo', api, stranger), sent)).id).not.toBe(first.id);
  });

  it('S3.12 a stream sends the task, then each change once, with pieces of the answer', async () => {
    const client = await clientOf('talker', other);
    const events: StreamResponse[] = [];
    const reading = (async (): Promise<void> => {
      for await (const event of client.sendMessageStream(messageTo('Begin.'))) events.push(event);
    })();
    await until('the task is received', () => events.length > 0);
    agents.worked.resolve();
    await until('a piece is received', () => casesOf(events).includes('artifactUpdate'));
    agents.answered.resolve();
    await reading;
    const cases = casesOf(events);
    expect(cases[0]).toBe('task');
    expect(cases.slice(-2)).toEqual(['artifactUpdate', 'COMPLETED']);
    expect(cases.filter((one) => one === 'task' || one === 'COMPLETED')).toEqual(['task', 'COMPLETED']);
    expect(cases.filter((one) => one === 'WORKING').length).toBeLessThan(2); // there is none if the snapshot already has this state
    expect(events.at(-2)?.payload?.value).toMatchObject({
      append: false,
      lastChunk: true,
      artifact: { parts: [{ content: { value: 'done' } }] },
    });
  });

  it('S3.12 two subscribers on different replicas get a snapshot and then the same changes', async () => {
    const task = await send(await clientOf('payer'), messageTo('Pay.'));
    expect(stateOf(task)).toBe('TASK_STATE_AUTH_REQUIRED');
    const streams = await Promise.all(
      [api, other].map(async (on) => {
        const events = (await clientOf('payer', on)).resubscribeTask({ tenant: '', id: task.id });
        return { first: await events.next(), events };
      }),
    );
    for (const { first } of streams)
      expect(first.value).toMatchObject({ payload: { $case: 'task', value: { id: task.id, status: task.status } } });
    const rest = streams.map(async ({ events }) => casesOf(await collect(events)).at(-1));
    await (await clientOf('payer', other)).cancelTask({ ...NO_METADATA, id: task.id });
    expect(await Promise.all(rest)).toEqual(['CANCELED', 'CANCELED']);
    expect(agents.paid).toBe(0);
  });

  it('S3.12 a tool that needs an approval runs after a decision about exactly its input, not after a text', async () => {
    const client = await clientOf('tipper');
    const { id, metadata } = await send(client, messageTo('Pay.'));
    const { approvals } = (metadata ?? {})[FACTS] as { approvals: { callId: string; inputHash: string }[] };
    const [{ callId, inputHash } = { callId: '', inputHash: '' }] = approvals;
    const decide = (hash: string): Promise<Task> =>
      send(
        client,
        messageTo('', { taskId: id, parts: [{ data: { decision: { callId, inputHash: hash, approved: true } } }] }),
      );
    expect(await failure(decide('other'))).toBe('RequestMalformedError');
    expect(stateOf(await decide(inputHash))).toBe('TASK_STATE_COMPLETED');
    expect(agents.paid).toBe(1);
    const refused = await send(client, messageTo('Pay.'));
    expect(textOf(await send(client, messageTo('Do not pay.', { taskId: refused.id })))).toBe('done');
    expect(agents.paid).toBe(1);
  });

  it('S3.12 a question interrupts the task, and the answer continues it in the same context', async () => {
    const client = await clientOf('asker');
    const events = await collect(client.sendMessageStream(messageTo('Build.')));
    expect(['INPUT_REQUIRED', 'task']).toContain(casesOf(events).at(-1)); // the first event may already have the question
    const last = (events.at(-1)?.payload?.value ?? {}) as { taskId?: string; id?: string; status: Task['status'] };
    const { taskId = last.id ?? '', status } = last;
    expect(status?.message?.parts).toMatchObject([{ content: { value: 'Which branch?' } }]);
    expect(await failure(send(client, messageTo('main', { taskId, contextId: 'other' })))).toBe(
      'RequestMalformedError',
    );
    const answered = await send(client, messageTo('main', { taskId }));
    expect([answered.id, stateOf(answered), answered.history.length]).toEqual([taskId, 'TASK_STATE_COMPLETED', 2]);
    expect(await failure(send(client, messageTo('again', { taskId })))).toBe('UnsupportedOperationError');
    expect(await failure(collect(client.resubscribeTask({ tenant: '', id: taskId })))).toBe(
      'UnsupportedOperationError',
    );
    expect(await failure(client.cancelTask({ ...NO_METADATA, id: taskId }))).toBe('TaskNotCancelableError');
  });

  it('P-5 a task that is cancelled while it asks a question has no result', async () => {
    const client = await clientOf('asker');
    const { id } = await send(client, messageTo('Build.'));
    const cancelled = await client.cancelTask({ ...NO_METADATA, id });
    expect([stateOf(cancelled), cancelled.artifacts]).toEqual(['TASK_STATE_CANCELED', []]);
    expect((await client.getTask({ tenant: '', id })).artifacts).toEqual([]);
  });

  it('S3.12 files and data pass through a remote agent without a change', async () => {
    const bytes = Buffer.from([0, 255, 1, 254, 10, 13]);
    const parts = [
      { text: JSON.stringify({ does: 'echo' }) },
      { raw: bytes.toString('base64'), mediaType: 'image/png', filename: 'a b.png' },
      { url: 'https://files.example.com/report.pdf', mediaType: 'application/pdf' },
      { data: { list: [1, null, 'é'] } },
    ];
    const { artifacts, ...task } = await send(await clientOf('remote'), messageTo('', { parts }));
    expect(stateOf(task)).toBe('TASK_STATE_COMPLETED');
    expect(artifacts[0]?.parts).toMatchObject([
      { content: { $case: 'raw', value: bytes }, mediaType: 'image/png', filename: 'a b.png' },
      { content: { $case: 'url', value: 'https://files.example.com/report.pdf' }, mediaType: 'application/pdf' },
      { content: { $case: 'data', value: { list: [1, null, 'é'] } } },
    ]);
  });

  it('S3.12 a task can be cancelled on any replica, and a second cancel returns the task', async () => {
    const client = await clientOf('talker');
    const task = await send(client, messageTo('Begin.', { configuration: { returnImmediately: true } }));
    expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(stateOf(task));
    expect(await failure(send(client, messageTo('More.', { taskId: task.id })))).toBe('UnsupportedOperationError');
    for (const on of [other, api]) {
      const cancelled = await (await clientOf('talker', on)).cancelTask({ ...NO_METADATA, id: task.id });
      expect(stateOf(cancelled)).toBe('TASK_STATE_CANCELED');
    }
  });

  it('S3.12 a task of another caller or of another agent is not found', async () => {
    const { id } = await send(await clientOf('echo'), messageTo('Mine.'));
    for (const client of [await clientOf('echo', api, stranger), await clientOf('talker')]) {
      const failures = [
        client.getTask({ tenant: '', id }),
        client.cancelTask({ ...NO_METADATA, id }),
        collect(client.resubscribeTask({ tenant: '', id })),
        send(client, messageTo('Hello.', { taskId: id })),
        client.getTask({ tenant: '', id: 'a:b/C%20' }),
      ].map(failure);
      expect(await Promise.all(failures)).toEqual(Array(5).fill('TaskNotFoundError'));
    }
    const operator = await clientOf('echo', api, await api.given.key('operator'));
    expect((await operator.getTask({ tenant: '', id })).id).toBe(id);
  });

  it('S3.12 the list has pages, the last changed task first, and only the tasks of the caller', async () => {
    const by = await api.given.key('caller');
    const client = await clientOf('echo', api, by);
    const ids: string[] = [];
    for (const text of ['1', '2', '3']) ids.unshift((await send(client, messageTo(text, { contextId: 'pages' }))).id);
    const query = { tenant: '', contextId: 'pages', status: TaskState.TASK_STATE_COMPLETED, pageToken: '' };
    const list = async (more: object): ReturnType<Client['listTasks']> =>
      await client.listTasks({ ...query, statusTimestampAfter: undefined, ...more });
    const first = await list({ pageSize: 2 });
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3, tasks: [{ id: ids[0], artifacts: [] }, { id: ids[1] }] });
    const second = await list({ pageSize: 2, pageToken: first.nextPageToken, includeArtifacts: true });
    expect(second).toMatchObject({ nextPageToken: '', tasks: [{ id: ids[2], artifacts: [{ artifactId: 'result' }] }] });
    expect(await list({ status: TaskState.TASK_STATE_FAILED })).toMatchObject({
      tasks: [],
      totalSize: 0,
      pageSize: 50,
    });
    const [newest] = first.tasks;
    expect((await list({ statusTimestampAfter: newest?.status?.timestamp })).tasks).toEqual([]);
    for (const more of [{ pageSize: 0 }, { pageSize: 101 }, { pageToken: 'forged' }, { historyLength: -1 }])
      expect(await failure(list(more))).toBe('RequestMalformedError');
    const theirs = await (
      await clientOf('echo', api, stranger)
    ).listTasks({ ...query, statusTimestampAfter: undefined });
    expect(theirs.tasks).toEqual([]);
  });

  it('S3.12 Rollcall chooses the agent by capabilities or tenant, and rejects work that no agent can do', async () => {
    const client = await a2aClient(api.url, key, binding);
    const text = JSON.stringify({ does: 'answer', pieces: ['copied'] });
    const found = await send(client, messageTo(text, { metadata: { capabilities: ['files.copy'] } }));
    expect([textOf(found), found.metadata?.[FACTS]]).toMatchObject(['copied', { agentId: 'remote' }]);
    expect(textOf(await send(client, { ...messageTo('Hello.'), tenant: 'echo' }))).toBe('You said: Hello.');
    const rejected = await send(client, messageTo('Fly.', { metadata: { capabilities: ['fly'] } }));
    expect([stateOf(rejected), rejected.metadata?.[FACTS]]).toMatchObject([
      'TASK_STATE_REJECTED',
      { code: 'RUN_TARGET_UNAVAILABLE' },
    ]);
    expect(await failure(send(client, messageTo('Hello.')))).toBe('RequestMalformedError'); // no default agent
    const wrong = messageTo('Hello.', { metadata: { capabilities: 'all' } });
    expect(await failure(send(client, wrong))).toBe('RequestMalformedError');
  });
});

describe('a registration with a card', () => {
  const register = async (body: object): Promise<Answer> => await api.call('POST', '/v1/agents', { body });

  it('S3.2 C1 the URL of a card is enough to register and to call an agent', async () => {
    const { status, body } = await register({ agentId: 'by-url', cardUrl: remote.url, version: '9' });
    const agent = { name: 'fake', version: '9', capabilities: ['scenario', 'test'], endpoint: remote.url };
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { agent: { ...agent, agentCard: { name: 'fake' } } },
    });
    const client = await a2aClient(agentUrl('by-url'), key, 'JSONRPC');
    const text = JSON.stringify({ does: 'answer', pieces: ['called'] });
    expect(textOf(await send(client, messageTo(text)))).toBe('called');
  });

  it('S3.2 an inline card supplies missing fields, and an invalid card is rejected with all its faults', async () => {
    const skills = [{ id: 'code.review', name: 'Review', description: 'Reviews.', tags: ['Quality', 'a, b'] }];
    const card = { name: 'Reviewer', description: 'Reviews code.', version: '3.1', skills };
    const legacy = { ...card, url: 'http://127.0.0.1:8099/a2a', protocolVersion: '0.3.0' };
    const { body } = await register({ agentCard: legacy, name: 'Mine' });
    const capabilities = ['code.review', 'Quality'];
    expect(body['agent']).toMatchObject({
      name: 'Mine',
      version: '3.1',
      capabilities,
      endpoint: legacy.url,
      agentCard: legacy,
    });
    const invalid = await register({ agentCard: { ...card, name: ' ', skills: [{ id: 'x' }] } });
    expect(invalid).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect((invalid.body['errors'] as { field: string }[]).map(({ field }) => field).toSorted()).toEqual([
      'agentCard.name',
      'agentCard.skills.0.description',
      'agentCard.skills.0.name',
      'agentCard.skills.0.tags',
      'agentCard.supportedInterfaces',
    ]);
  });

  it.each([
    [{ cardUrl: 'no url' }, 'EGRESS_DENIED'],
    [{ cardUrl: 'http://169.254.169.254/card.json' }, 'EGRESS_DENIED'],
    [{ agentCard: null }, 'VALIDATION_FAILED'],
    [{ agentCard: {}, name: 5 }, 'VALIDATION_FAILED'],
    [{ capabilities: ['a'] }, 'VALIDATION_FAILED'],
  ])('S3.2 rejects the registration %j', async (body, code) => {
    expect(await register(body)).toMatchObject({ status: 400, body: { code } });
  });
});

describe('the tour of docs/a2a.md', () => {
  it('S3.12 the commands and the program work as shown', async () => {
    await api.given.namespace('tour');
    const examples = new ExampleRunner({ ROLLCALL_URL: api.url, ROLLCALL_KEY: await api.issueKeyIn('tour', 'admin') });
    const { child, output } = examples.script(examplesOf('a2a.md', 'sh').join(`\necho; echo '==='\n`));
    await until('the commands have ended', () => child.exitCode !== null, 60_000);
    const [, card, task, more, routed, ranking, notified] = output().split('===');
    expect(card).toContain('"skills":[{"id":"text.echo"');
    expect(task).toContain('"state":"TASK_STATE_COMPLETED"');
    expect(task).toContain('"text":"You said: Hello."');
    expect(more?.match(/"jsonrpc":"2.0"|"totalSize":\d|data: \{"\w+"|"error"/g)?.slice(0, 3)).toEqual([
      '"jsonrpc":"2.0"',
      '"totalSize":1',
      'data: {"task"',
    ]);
    expect(more).toContain('"text":"You said: Again."');
    expect(routed).toContain('"text":"You said: Hello."');
    expect(ranking).toContain('"prefer":"cheapest"');
    expect(notified).toContain('{"task":{"id":');
    const program = examples.node(withFiles(exampleOf('a2a.md', 'js')));
    await until('the program has ended', () => program.child.exitCode !== null, 60_000);
    expect(program.output()).toBe('You said: Hello.\n');
    examples.stop();
  });
});

/** The program runs outside this project, so it imports the files of the SDK. */
function withFiles(code: string): string {
  const folder = new URL('../../node_modules/@a2a-js/sdk/dist/', import.meta.url);
  return code
    .replace("'@a2a-js/sdk'", `'${new URL('index.js', folder).href}'`)
    .replace("'@a2a-js/sdk/client'", `'${new URL('client/index.js', folder).href}'`);
}
