import { once, setMaxListeners } from 'node:events';
import { TaskInbox } from '#rollcall/agent-runtime';
import { Database } from '#rollcall/platform';
import { proxyPostgres } from '#rollcall/platform/testing';
import { VendorRegistry } from '#rollcall/providers';
import { callTool as callModelTool, say, ScriptedModel } from '#rollcall/providers/testing';
import type { LeaseCredential } from '#rollcall/registry';
import { until } from '#rollcall/test-support';
import { AgentClient } from '../support/agent-client.js';
import { SHORT_DATABASE_TIMEOUT, startApi, type TestApi } from '../support/api.js';
import { callTool, mcpClient } from '../support/mcp-client.js';
import { PullWorker, taskOn } from '../support/pull-worker.js';

interface RunBody extends Record<string, unknown> {
  id: string;
  state: string;
  attempts: number;
  waitingFor: string | null;
  result: { parts: { text?: string }[]; reason?: string; approvals?: { callId: string; inputHash: string }[] } | null;
  usage: { inputTokens?: number; outputTokens?: number };
}

interface Budget {
  usage: { own: { tokens: number } };
  reserved: { tokens: number };
}

const USAGE = { inputTokens: 30, outputTokens: 12 };

let api: TestApi;
/** A replica that executes no runs. */
let idle: TestApi;
/** Each test has its own agent. */
let agentId: string;
let made = 0;
beforeAll(async () => {
  api = await startApi({ ROLLCALL_QUOTAS: 'agents=0' });
  idle = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
});
beforeEach(() => void (agentId = `worker-${(made += 1)}`));
afterAll(async () => {
  await idle.stop();
  await api.stop();
});

const read = async ({ id }: Pick<RunBody, 'id'>): Promise<RunBody> =>
  (await api.call<RunBody>('GET', `/v1/runs/${id}`)).body;

/** Installs a vendor whose models delegate to the agent of their name, and report what it said. */
function installDelegator({ app }: TestApi): void {
  const delegate = (model: string): ScriptedModel =>
    new ScriptedModel(({ messages }) => {
      const answer = JSON.stringify(messages).includes('SHOUT.');
      return answer
        ? say('It said: SHOUT.')
        : callModelTool('delegate_to_agent', { agent: model, task: 'Shout.' }, 'call-1');
    }, model);
  const vendors = app.nest.get(VendorRegistry, { strict: false });
  vendors.register({ name: 'delegating', needsKey: false, open: ({ model }) => delegate(model) });
}

const register = async (spec: object = {}): Promise<PullWorker> => await PullWorker.register(api, { agentId, ...spec });

const start = async (body: object = {}, at: TestApi = api): Promise<RunBody> => {
  const { status, body: run } = await at.call<RunBody>('POST', '/v1/runs', {
    body: { agent: agentId, input: 'Work.', ...body },
  });
  expect({ status, run }).toMatchObject({ status: 202 });
  return run;
};
const settled = async ({ id }: Pick<RunBody, 'id'>, at: TestApi = api): Promise<RunBody> =>
  (await at.call<RunBody>('GET', `/v1/runs/${id}?waitMs=40000`)).body;
const stepsOf = async ({ id }: Pick<RunBody, 'id'>): Promise<string[]> => {
  const { body } = await api.call<{ items: { type: string }[] }>('GET', `/v1/runs/${id}/steps`);
  return body.items.map(({ type }) => type);
};
const stateOf = async (callId: string): Promise<string | undefined> => {
  const rows = await api.database.db.query<{ state: string }>('SELECT state FROM agent_task WHERE call_id = $1', [
    callId,
  ]);
  return rows[0]?.state;
};
const chargeOf = async (budget: { id: string }): Promise<object> => {
  const { body } = await api.call<Budget>('GET', `/v1/budgets/${budget.id}`);
  return { used: body.usage.own.tokens, reserved: body.reserved.tokens };
};
const agentBudget = async (): Promise<{ id: string }> =>
  (await api.call<{ items: { id: string }[] }>('GET', `/v1/budgets?kind=agent&subject=${agentId}`)).body.items[0] ?? {
    id: '',
  };

describe('a task that an agent takes over REST', () => {
  it('N-3 a run waits for the result, which any replica accepts, and is charged what the agent reports', async () => {
    const worker = await register();
    const budget = await agentBudget();
    const run = await start({ data: { branch: 'main' } });
    const task = await worker.next({}, idle);
    expect(task).toMatchObject({ callId: `${run.id}-1`, runId: run.id, text: 'Work.', data: { branch: 'main' } });
    expect(task['budget']).toEqual({ tokens: 32_000 });
    expect(await worker.result(task.callId, { text: 'It works.', usage: USAGE }, idle)).toMatchObject({
      status: 200,
      body: { callId: task.callId, state: 'finished' },
    });
    expect(await settled(run)).toMatchObject({
      state: 'completed',
      attempts: 1,
      result: { parts: [{ type: 'text', text: 'It works.' }] },
      usage: USAGE,
    });
    expect(await stepsOf(run)).toEqual(['message', 'agent-called', 'finished']);
    expect(await chargeOf(budget)).toEqual({ used: 42, reserved: 0 });
  });

  it('N-3 a request that waits gets the task when it is offered, on each replica', async () => {
    const worker = await register();
    for (const at of [api, idle]) {
      const taken = worker.next({}, at);
      const run = await start();
      expect((await taken).runId).toBe(run.id);
      await worker.result(`${run.id}-1`);
      expect((await settled(run)).state).toBe('completed');
    }
  });

  it('N-3 a request gets at most as many tasks as it asks for, the oldest first, and none when its time is over', async () => {
    const worker = await register();
    expect((await worker.take({ waitMs: 0 })).body).toEqual({ tasks: [], cancelled: [] });
    const runs: RunBody[] = [];
    while (runs.length < 3) {
      const run = await start();
      await until('the task is offered', async () => (await stateOf(`${run.id}-1`)) === 'offered');
      runs.push(run);
    }
    const { body } = await worker.take({ max: 2 });
    expect(body.tasks.map(({ runId }) => runId)).toEqual([runs[0]?.id, runs[1]?.id]);
    expect((await worker.take({ max: 100 })).body.tasks).toHaveLength(1);
  });

  it('N-3 text and progress reach those who follow the run, from any replica', async () => {
    const worker = await register();
    const run = await start();
    const stop = new AbortController();
    const response = await fetch(`${api.url}/v1/runs/${run.id}/stream`, {
      headers: { authorization: `Bearer ${api.adminKey}` },
      signal: stop.signal,
    });
    let seen = '';
    const reading = (async () => {
      for await (const chunk of response.body ?? []) seen += Buffer.from(chunk as Uint8Array).toString();
    })().catch(() => undefined);
    const { callId } = await worker.next();
    for (const at of [api, idle]) {
      const text = at === api ? 'here' : 'there';
      expect(await worker.progress(callId, { text }, at)).toMatchObject({ status: 200, body: { state: 'taken' } });
      expect((await worker.progress(callId, { progress: `I am ${text}` }, at)).status).toBe(200);
    }
    const faces = '😀'.repeat(2_000);
    await worker.progress(callId, { text: `x${faces}` }, idle); // sent in pieces
    await until('the events arrive', () =>
      ['"here"', '"there"', '"I am here"', '"I am there"'].every((one) => seen.includes(one)),
    );
    await until('all pieces arrive', () => seen.split('😀').length > 2_000);
    expect(seen).not.toContain('\uFFFD');
    await worker.result(callId);
    expect((await settled(run)).state).toBe('completed');
    stop.abort();
    await reading;
  });

  it('N-3 a question waits for a message, and the answer is a new task of the same conversation', async () => {
    const worker = await register();
    const run = await start();
    const question = await worker.next();
    await worker.result(question.callId, { outcome: 'input-required', text: 'Which one?', conversationId: 'c-1' });
    expect(await settled(run)).toMatchObject({ state: 'waiting', waitingFor: 'input' });
    await api.call('POST', `/v1/runs/${run.id}/messages`, { body: { input: 'The first.' } });
    const answer = await worker.next();
    expect(answer).toMatchObject({ callId: `${run.id}-2`, text: 'The first.', conversationId: 'c-1' });
    await worker.result(answer.callId, { text: 'Done.' });
    expect(await settled(run)).toMatchObject({ state: 'completed', result: { parts: [{ text: 'Done.' }] } });
  });

  it.each([
    ['refused', { outcome: 'refused', text: 'No.' }, { state: 'refused' }],
    [
      'stopped',
      { outcome: 'stopped', reason: 'turns', detail: 'Too many.' },
      { state: 'stopped', result: { reason: 'turns' } },
    ],
    [
      'failed',
      { outcome: 'failed', detail: 'It broke.' },
      { state: 'failed', result: { error: { code: 'AGENT_FAILED' } } },
    ],
    [
      'completed, with files and artifacts',
      {
        data: { a: 1 },
        artifacts: [{ id: 'r', name: 'r.md', parts: [{ type: 'file', bytes: 'aGk=', mediaType: 'text/plain' }] }],
      },
      {
        state: 'completed',
        result: {
          parts: [
            { type: 'data', data: { a: 1 } },
            { type: 'file', bytes: 'aGk=' },
          ],
        },
      },
    ],
  ])('N-3 the outcome %s becomes the state of the run', async (_name, report, expected) => {
    const worker = await register();
    const run = await start();
    const { callId } = await worker.next();
    expect((await worker.result(callId, { ...report, usage: USAGE })).status).toBe(200);
    expect(await settled(run)).toMatchObject(expected);
  });
});

describe('the ways on which work reaches an agent that takes its tasks', () => {
  it('N-3 a call of the MCP tool run_agent, at any replica', async () => {
    const worker = await register();
    const client = await mcpClient(`${idle.url}/mcp`, await api.given.key('caller'));
    const called = callTool(client, 'run_agent', { agent: agentId, input: 'Shout.' });
    const task = await worker.next();
    expect(task.text).toBe('Shout.');
    await worker.result(task.callId, { text: 'SHOUT.', usage: USAGE });
    expect(await called).toMatchObject({ isError: false, text: 'SHOUT.', facts: { runId: task.runId } });
  });

  it('N-3 a run that names capabilities', async () => {
    const worker = await register({ capabilities: ['shout.loudly'] });
    const run = await start({ agent: undefined, capabilities: ['shout.loudly'] });
    const task = await worker.next();
    expect(task.runId).toBe(run.id);
    await worker.result(task.callId);
    expect(await settled(run)).toMatchObject({ state: 'completed', agentId });
  });

  it('N-3 B12 a delegation, which continues on another replica: the task is sent once, and its run pays for it', async () => {
    const worker = await register();
    const first = await api.replica();
    for (const replica of [api, first]) installDelegator(replica);
    const content = {
      description: 'Delegates.',
      model: { vendor: 'delegating', model: agentId },
      tools: ['delegate_to_agent'],
    };
    const name = `delegator-${made}`;
    expect((await api.call('POST', '/v1/definitions', { body: { name, content } })).status).toBe(201);
    const run = await start({ agent: undefined, definition: name }, first);
    const task = await worker.next();
    expect(task).toMatchObject({ text: 'Shout.', context: { rootRunId: run.id, depth: 1 } });
    await first.stop();
    await until('the other replica executes it', async () => (await read(run)).attempts === 2);
    expect((await worker.take({ waitMs: 0, max: 10 })).body.tasks).toEqual([]);
    expect((await worker.result(task.callId, { text: 'SHOUT.', usage: USAGE })).status).toBe(200);
    expect(await settled(run)).toMatchObject({ state: 'completed', result: { parts: [{ text: 'It said: SHOUT.' }] } });
    expect(await api.call('GET', `/v1/runs/${task.runId}`)).toMatchObject({
      body: { state: 'completed', usage: USAGE },
    });
  });
});

describe('a task that an agent takes over its socket', () => {
  const connect = async (worker: PullWorker, at: TestApi = api): Promise<AgentClient> => {
    const socket = await AgentClient.connect(at.url, worker.registration);
    await socket.received('welcome');
    return socket;
  };

  it('N-3 a socket at one replica serves runs of another one: each slot is used once', async () => {
    const worker = await register();
    const socket = await connect(worker, idle);
    socket.send('work', { slots: 2, holding: [] });
    const runs = [await start(), await start(), await start()];
    const tasks = [await taskOn(socket, 1), await taskOn(socket, 2)];
    expect(new Set(tasks.map(({ runId }) => runId)).size).toBe(2);
    socket.send('progress', { callId: tasks[0]?.callId, progress: 'Half.' });
    for (const { callId } of tasks) socket.send('result', { callId, text: 'done', usage: USAGE });
    expect(await socket.received('reported', 2)).toMatchObject({ state: 'finished' });
    expect(socket.count('task')).toBe(2);
    socket.send('work', { slots: 1 });
    socket.send('result', { callId: (await taskOn(socket, 3)).callId });
    for (const run of runs) expect((await settled(run)).state).toBe('completed');
    expect(socket.count('error')).toBe(0);
  });

  it('N-3 a task whose frame was lost is delivered again when the agent states what it holds, at any replica', async () => {
    const worker = await register();
    const first = await connect(worker, idle);
    first.send('work', { slots: 2 });
    const runs = [await start(), await start()];
    const [held] = [await taskOn(first, 1), await taskOn(first, 2)];
    first.socket.terminate();
    const second = await connect(worker);
    second.send('work', { slots: 0, holding: [held.callId, 'gone-1'] });
    const again = await taskOn(second);
    expect(again.callId).not.toBe(held.callId);
    expect(await second.received('control')).toEqual({ action: 'cancel', callId: 'gone-1' });
    for (const { callId } of [held, again]) second.send('result', { callId });
    for (const run of runs) expect((await settled(run)).state).toBe('completed');
    expect(second.count('task')).toBe(1);
  });

  it('N-3 an invalid frame about work is rejected with the task that it names, and the socket stays open', async () => {
    const worker = await register();
    const socket = await connect(worker);
    socket.send('work', { slots: -1 });
    expect(await socket.received('error', 1)).toMatchObject({ code: 'VALIDATION_FAILED' });
    socket.send('result', { callId: 'nothing', text: 'x' });
    expect(await socket.received('error', 2)).toMatchObject({ code: 'TASK_NOT_FOUND', callId: 'nothing' });
    socket.send('result', { callId: 'nothing', colour: 'red' });
    expect(await socket.received('error', 3)).toMatchObject({ code: 'VALIDATION_FAILED', callId: 'nothing' });
    socket.send('result', { callId: 'nothing', text: 'a\0b' });
    expect(await socket.received('error', 4)).toMatchObject({ code: 'MALFORMED_JSON', callId: 'nothing' });
    socket.send('beat');
    await socket.received('beaten');
  });

  it('B11 a result that does not fit into a frame closes the socket with 1009, and is accepted as a request', async () => {
    const worker = await register();
    const socket = await connect(worker, idle);
    socket.send('work', { slots: 1 });
    const run = await start();
    const { callId } = await taskOn(socket);
    const closed = once(socket.socket, 'close');
    const text = 'x'.repeat(64 << 10);
    socket.send('result', { callId, text });
    expect((await closed)[0]).toBe(1009);
    expect((await worker.result(callId, { text }, idle)).status).toBe(200);
    expect((await settled(run)).result?.parts[0]?.text).toBe(text);
  });

  it('N-3 an agent that does not pull gets AGENT_NOT_PULL', async () => {
    const pushed = new PullWorker(api, await api.given.agent({ agentId: 'pushed' }));
    const socket = await connect(pushed);
    socket.send('work', { slots: 1 });
    expect(await socket.received('error')).toMatchObject({ code: 'AGENT_NOT_PULL', status: 409 });
    expect(await pushed.take()).toMatchObject({ status: 409, body: { code: 'AGENT_NOT_PULL' } });
  });
});

describe('the end of a task', () => {
  it('B11 the same result again gets the same answer, and another one is rejected', async () => {
    const worker = await register();
    const run = await start();
    const { callId } = await worker.next();
    const answers = await Promise.all(['a', 'a', 'b', 'b'].map(async (text) => await worker.result(callId, { text })));
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(2);
    expect(answers.filter(({ status }) => status === 409).map(({ body }) => body['code'])).toEqual([
      'TASK_FINISHED',
      'TASK_FINISHED',
    ]);
    const { result } = await settled(run);
    const text = result?.parts[0]?.text;
    expect(await worker.result(callId, { text }, idle)).toMatchObject({ status: 200, body: { state: 'finished' } });
    expect(await worker.result(callId, { text: 'c' }, idle)).toMatchObject({ body: { code: 'TASK_FINISHED' } });
    expect(await worker.progress(callId, { text: 'x' })).toMatchObject({ body: { code: 'TASK_FINISHED' } });
  });

  it('B11 only the registration that has taken a task can report about it', async () => {
    const worker = await register();
    const other = await register({ agentId: 'other' });
    const run = await start();
    await until('the task is offered', async () => (await stateOf(`${run.id}-1`)) === 'offered');
    const offered = await worker.result(`${run.id}-1`);
    expect(offered).toMatchObject({ status: 409, body: { code: 'TASK_NOT_HELD' } });
    const { callId } = await worker.next();
    expect(await other.result(callId)).toMatchObject({ status: 404, body: { code: 'TASK_NOT_FOUND' } });
    expect(await worker.result('nothing')).toMatchObject({ status: 404, body: { code: 'TASK_NOT_FOUND' } });
    const stranger = { ...worker.registration, leaseToken: other.registration.leaseToken };
    expect(await new PullWorker(api, stranger).result(callId)).toMatchObject({
      status: 403,
      body: { code: 'LEASE_TOKEN_REFUSED' },
    });
    expect((await worker.result(callId)).status).toBe(200);
  });

  it('B11 a cancelled task is reported in heartbeats, in a frame and to the next request, and its result is rejected', async () => {
    const worker = await register();
    const socket = await AgentClient.connect(idle.url, worker.registration);
    socket.send('work', { slots: 1 });
    const run = await start();
    const { callId } = await taskOn(socket);
    await api.call('POST', `/v1/runs/${run.id}/cancel`);
    expect(await socket.received('control')).toEqual({ action: 'cancel', callId });
    expect((await worker.beat(idle)).body).toMatchObject({ cancelled: [callId] });
    socket.send('beat');
    expect(await socket.received('beaten')).toMatchObject({ cancelled: [callId] });
    const { generation, leaseToken } = worker.registration;
    const batch = await idle.call('POST', '/v1/heartbeats', { body: { beats: [{ agentId, generation, leaseToken }] } });
    expect(batch.body).toMatchObject({ results: [{ ok: true, cancelled: [callId] }] });
    expect((await worker.take({ holding: [callId] })).body).toEqual({ tasks: [], cancelled: [callId] });
    expect(await worker.result(callId)).toMatchObject({ status: 409, body: { code: 'TASK_CANCELLED' } });
    expect(await worker.progress(callId, { text: 'x' })).toMatchObject({
      status: 409,
      body: { code: 'TASK_CANCELLED' },
    });
    expect((await settled(run)).state).toBe('cancelled');
  });

  it('B11 a result after the deadline is rejected, and a task that nobody took is not charged', async () => {
    const worker = await register();
    const budget = await agentBudget();
    const [late, untaken] = [await start({ deadline: soon() }), await start({ deadline: soon() })];
    const { callId, runId } = await worker.next();
    for (const run of [late, untaken])
      expect(await settled(run)).toMatchObject({ state: 'stopped', result: { reason: 'deadline' } });
    expect(await worker.result(callId)).toMatchObject({ status: 409, body: { code: 'TASK_TOO_LATE' } });
    expect((await worker.take({ waitMs: 0, max: 10 })).body.tasks).toEqual([]);
    expect(runId).toBe(late.id);
    expect(await chargeOf(budget)).toEqual({ used: 32_000, reserved: 0 }); // the usage of the late task is unknown
  });

  it('B11 draining is reported in heartbeats; a draining agent finishes its tasks, and gets no new run', async () => {
    const worker = await register();
    const run = await start();
    const { callId } = await worker.next();
    await api.call('POST', `/v1/agents/${agentId}/drain`);
    await until('the heartbeat reports it', async () => (await worker.beat()).body['desiredState'] === 'draining');
    const refused = await api.call('POST', '/v1/runs', { body: { agent: agentId, input: 'More.' } });
    expect(refused).toMatchObject({ status: 409, body: { code: 'RUN_TARGET_UNAVAILABLE' } });
    await worker.result(callId);
    expect((await settled(run)).state).toBe('completed');
  });

  it('B11 an agent in quarantine gets no task until it is resumed', async () => {
    const worker = await register();
    const run = await start();
    await until('the task is offered', async () => (await stateOf(`${run.id}-1`)) === 'offered');
    await api.call('POST', `/v1/agents/${agentId}/quarantine`);
    expect((await worker.take({ waitMs: 0 })).body.tasks).toEqual([]);
    await api.call('POST', `/v1/agents/${agentId}/resume`);
    await worker.result((await worker.next()).callId);
    expect((await settled(run)).state).toBe('completed');
  });

  it('B11 a large answer is stored, and a result of 32 MB is rejected with 413', async () => {
    const worker = await register();
    const run = await start();
    const { callId } = await worker.next();
    expect(await worker.result(callId, { text: 'x'.repeat(32 << 20) })).toMatchObject({
      status: 413,
      body: { code: 'BODY_TOO_LARGE' },
    });
    expect((await worker.result(callId, { text: 'x'.repeat(1_000_000) })).status).toBe(200);
    expect((await settled(run)).result?.parts[0]?.text).toHaveLength(1_000_000);
  });
});

describe('the lease of an agent is the lease of its tasks', () => {
  it.each([
    ['a new registration', async (worker: PullWorker) => await worker.again(api, { idempotent: true })],
    [
      'an eviction',
      async () => {
        await api.call('POST', `/v1/agents/${agentId}/evict`);
        return await register({ idempotent: true });
      },
    ],
    [
      'its departure',
      async ({ registration: { generation, leaseToken: key } }: PullWorker) => {
        await api.call('DELETE', `/v1/agents/${agentId}?generation=${generation}`, { key });
        return await register({ idempotent: true });
      },
    ],
  ])('B11 after %s, the task of an idempotent agent is offered again', async (_name, renew) => {
    const worker = await register({ idempotent: true });
    const run = await start();
    const before = await worker.next();
    const current = await renew(worker);
    const after = await current.next();
    expect(after.callId).toBe(before.callId);
    expect(await worker.result(before.callId)).toMatchObject({
      body: { code: expect.stringMatching(/STALE|REFUSED/) },
    });
    await current.result(after.callId, { text: 'again' });
    expect(await settled(run)).toMatchObject({ state: 'completed', result: { parts: [{ text: 'again' }] } });
  });

  it('B11 otherwise the run waits for a review, the result of the old registration is rejected, and an approval repeats the call', async () => {
    const worker = await register();
    const run = await start();
    const { callId } = await worker.next();
    const current = await worker.again(api);
    const waiting = await settled(run);
    expect(waiting).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    expect(await worker.result(callId)).toMatchObject({ status: 409, body: { code: 'STALE_GENERATION' } });
    expect(await current.result(callId)).toMatchObject({ status: 409, body: { code: 'TASK_NOT_HELD' } });
    const [approval] = waiting.result?.approvals ?? [];
    const decided = await api.call('POST', `/v1/runs/${run.id}/approvals`, {
      body: { ...pick(approval), approved: true },
    });
    expect(decided.status).toBe(202);
    const repeated = await current.next();
    expect(repeated.callId).toBe(`${run.id}-2`);
    await current.result(repeated.callId, { usage: USAGE });
    expect((await settled(run)).state).toBe('completed');
  });

  it('B11 a task that nobody has taken outlives registrations', async () => {
    const worker = await register();
    const run = await start();
    await until('the task is offered', async () => (await stateOf(`${run.id}-1`)) === 'offered');
    await worker.again(api);
    const current = await worker.again(api, { takeover: true });
    await current.result((await current.next()).callId);
    expect((await settled(run)).state).toBe('completed');
  });
});

describe('a replica that stops while its runs wait for tasks', () => {
  it('B12 another replica continues to wait, also after many crashes: the task is sent once, and charged once', async () => {
    const worker = await register();
    const budget = await agentBudget();
    const first = await api.replica();
    const run = await start({}, first);
    const { callId } = await worker.next();
    await api.database.db.query('UPDATE run SET crashes = 5, crashes_in_step = 5 WHERE id = $1', [run.id]);
    await first.stop();
    await until('the other replica executes it', async () => (await read(run)).attempts === 2);
    expect((await worker.take({ waitMs: 0, max: 10 })).body.tasks).toEqual([]);
    await worker.result(callId, { text: 'late', usage: USAGE });
    expect(await settled(run)).toMatchObject({
      state: 'completed',
      attempts: 2,
      result: { parts: [{ text: 'late' }] },
    });
    expect(await stepsOf(run)).toEqual(['message', 'agent-called', 'finished']);
    expect(await chargeOf(budget)).toEqual({ used: 42, reserved: 0 });
  });

  it('B12 a result that arrives while no replica executes the run is used, also after the agent has left', async () => {
    const worker = await register();
    const first = await api.replica();
    const run = await start({}, first);
    const { callId } = await worker.next();
    await api.database.db.query(`UPDATE run SET lease_token = gen_random_uuid() WHERE id = $1`, [run.id]); // the lease is lost
    await worker.result(callId, { text: 'kept', usage: USAGE }, idle);
    const { generation, leaseToken: key } = worker.registration;
    await api.call('DELETE', `/v1/agents/${agentId}?generation=${generation}`, { key });
    await api.database.db.query(`UPDATE run SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1`, [
      run.id,
    ]);
    expect(await settled(run)).toMatchObject({ state: 'completed', result: { parts: [{ text: 'kept' }] } });
    await first.stop();
  });
});

describe('a replica with a frozen database, or with many idle agents', () => {
  it('B11 a result that is posted while Postgres does not respond gets 503, and its repetition is accepted once', async () => {
    const { proxy, url } = await proxyPostgres(api.database.url);
    const frozen = await api.replica({ ...SHORT_DATABASE_TIMEOUT, ROLLCALL_RUNS_MAX: '0' }, { databaseUrl: url });
    try {
      const worker = await register();
      const run = await start();
      const { callId } = await worker.next({}, frozen);
      proxy.stall();
      expect((await worker.result(callId, { text: 'once', usage: USAGE }, frozen)).status).toBe(503);
      proxy.heal();
      await until('the replica works again', async () => {
        return (await worker.result(callId, { text: 'once', usage: USAGE }, frozen)).status === 200;
      });
      expect(await settled(run)).toMatchObject({ state: 'completed', result: { parts: [{ text: 'once' }] } });
      expect(await chargeOf(await agentBudget())).toEqual({ used: 42, reserved: 0 });
    } finally {
      proxy.heal();
      await frozen.stop();
      await proxy.stop();
    }
  });

  it('N-3 10,000 agents that wait for tasks send no statement, and a task wakes only its agent', async () => {
    const inbox = idle.app.nest.get(TaskInbox, { strict: false });
    const db = idle.app.nest.get(Database, { strict: false });
    const credentials: LeaseCredential[] = [];
    for (let batch = 0; batch < 10; batch += 1) {
      const agents = Array.from({ length: 1_000 }, (_, n) => {
        return { agentId: `idle-${batch}-${n}`, name: 'idle', capabilities: ['idle'], work: 'pull' };
      });
      const { status } = await api.call('POST', '/v1/agents/batch', { body: { agents } });
      expect(status).toBe(200);
      credentials.push(...agents.map((agent) => ({ agentId: agent.agentId, generation: 1, tokenHash: null })));
    }
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    let woken = 0;
    const taken = credentials.map(async (credential) => {
      const delivery = await inbox.takeLater({ credential, most: 1, waitMs: 60_000, signal: stop.signal });
      woken += 1;
      return delivery.tasks;
    });
    await inbox.idle();
    const statements: string[] = [];
    const query = db.query.bind(db);
    db.query = async (sql, ...rest) => {
      statements.push(typeof sql === 'string' ? sql : sql.text);
      return await query(sql, ...rest);
    };
    const sweeps = (): number => statements.filter((sql) => sql.includes('agent_lease')).length;
    await until('the replica has done its periodic work several times', () => sweeps() >= 3);
    expect(statements.filter((sql) => sql.includes('agent_task'))).toEqual([]);
    expect(woken).toBe(0);
    const run = await start({ agent: 'idle-5-500' });
    expect(await taken[5_500]).toMatchObject([{ runId: run.id }]);
    expect(woken).toBe(1);
    db.query = query;
    stop.abort();
    await Promise.all(taken);
  });
});

const soon = (): string => new Date(Date.now() + 3_000).toISOString();

function pick(approval: { callId: string; inputHash: string } | undefined): object {
  return { callId: approval?.callId, inputHash: approval?.inputHash };
}
