import { until } from '#rollcall/test-support';
import { A2aWire } from '../support/a2a-wire.js';
import { startApi, type TestApi } from '../support/api.js';
import { RemoteAgent, type Seen, type Withdrawal } from '../support/remote-agent.js';
import { piece, type Script, ScriptedBackend, status, TASK, task } from '../support/scripted-backend.js';

const WORKING = task('WORKING');
const DONE = status('COMPLETED');
const QUESTION = task('INPUT_REQUIRED');
/** A call without a reported usage is charged as reserved. */
const UNKNOWN = { used: 32_000, reserved: 0 };
/** An agent executes one run at a time, so that a second task waits. */
const SETTINGS = {
  ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
  ROLLCALL_HEARTBEAT_EVERY: '10m', // the agents send no heartbeats
  ROLLCALL_RUNS_MAX: '2',
};

let api: TestApi;
let key: string;
const backends: ScriptedBackend[] = [];
beforeAll(async () => {
  api = await startApi(SETTINGS);
  key = await api.given.key('caller');
});
afterEach(async () => {
  for (const backend of backends.splice(0)) await backend.stop();
});
afterAll(async () => await api.stop());

async function given(...scripts: Script[]): Promise<RemoteAgent> {
  const agent = await RemoteAgent.register(api, key, scripts);
  backends.push(agent.backend);
  return agent;
}

describe('a backend that answers wrongly', () => {
  const failed = (why: string): Seen => ({ state: 'FAILED', why, says: '' });
  const unreadable = failed('AGENT_ANSWER_UNREADABLE');
  const foreign = 'secret of another caller';

  it.each<[string, Script, Seen]>([
    ['a frame that is not JSON', { frames: [WORKING, 'data: {"jsonrpc"\n\n'] }, unreadable],
    ['a task without an id and a status', { frames: [{ task: {} }] }, failed('AGENT_CRASHED')],
    [
      'a task with wrong types',
      { frames: [{ task: { id: 5, status: 'x', artifacts: 'none' } }] },
      failed('AGENT_CRASHED'),
    ],
    [
      'an artifact with wrong types',
      { frames: [WORKING, { artifactUpdate: { artifact: { parts: 7 } } }] },
      failed('AGENT_CRASHED'),
    ],
    ['a state that does not exist', { frames: [task('DANCING')] }, failed('AGENT_CRASHED')],
    ['an event of another task', { frames: [WORKING, piece(foreign, 'remote-2'), DONE] }, unreadable],
    [
      'another task',
      { frames: [WORKING, { task: { id: 'remote-2', status: { state: 'TASK_STATE_COMPLETED' } } }] },
      unreadable,
    ],
    ['the answer to another request', { answer: { body: '{"jsonrpc":"2.0","id":"other","result":{}}' } }, unreadable],
    ['a page of HTML', { answer: { type: 'text/html', body: '<p>Welcome</p>' } }, unreadable],
    ['an empty object', { answer: { body: '{}' } }, unreadable],
    ['an empty body', { answer: { body: '' } }, unreadable],
    ['an empty stream', { next: 'end' }, failed('AGENT_CRASHED')],
    ['comments only', { frames: [': nothing\n\n', ': nothing\n\n'] }, failed('AGENT_CRASHED')],
    [
      'an error of the protocol',
      { answer: { body: '{"jsonrpc":"2.0","id":"$id","error":{"code":-32603,"message":"no"}}' } },
      failed('AGENT_FAILED'),
    ],
    ['an HTTP error status', { answer: { status: 500, type: 'text/plain', body: 'no' } }, failed('AGENT_FAILED')],
    [
      'another task as the response to a poll',
      {
        streaming: false,
        answer: { body: JSON.stringify({ jsonrpc: '2.0', id: '$id', result: WORKING }) },
        read: { id: 'remote-2', status: { state: 'TASK_STATE_COMPLETED' } },
      },
      unreadable,
    ],
  ])('S3.12 %s: the task fails, and nothing stays reserved', async (_name, script, wanted) => {
    const remote = await given(script);
    expect(await remote.run()).toMatchObject(wanted);
    expect(await remote.charges()).toEqual(UNKNOWN);
  });

  it('S3.12 events after the end are ignored', async () => {
    const remote = await given({
      frames: [
        WORKING,
        piece('One.'),
        DONE,
        piece(' Two.'),
        status('FAILED'),
        status('WORKING'),
        piece('x', 'remote-2'),
      ],
    });
    expect(await remote.read(await remote.follow())).toEqual({ state: 'COMPLETED', says: 'One.' });
    expect(await remote.charges()).toMatchObject({ reserved: 0 });
  });

  it('S3.12 a backend never answers: the task fails at its deadline, and the caller can cancel it earlier', async () => {
    const remote = await given({ next: 'wait' });
    const deadline = new Date(Date.now() + 1_500).toISOString();
    expect(await remote.run({ metadata: { deadline } })).toMatchObject({ state: 'FAILED', why: 'deadline', says: '' });
    expect(await remote.charges()).toMatchObject({ reserved: 0 });
    const id = await remote.begin();
    await until('the backend has the message', () => remote.backend.busy > 0);
    expect((await remote.wire.call('CancelTask', { id })).error).toBeUndefined();
    expect(await remote.read(id)).toMatchObject({ state: 'CANCELED' });
    await until('nothing is reserved', async () => (await remote.charges()).reserved === 0);
  });

  it.each<[string, Script, Seen]>([
    [
      'another task: the task fails',
      { frames: [{ task: { id: 'remote-2', status: { state: 'TASK_STATE_COMPLETED' } } }] },
      { state: 'FAILED', why: 'AGENT_ANSWER_UNREADABLE', says: '' },
    ],
    [
      'an event of another task: the task fails',
      { frames: [piece('secret', 'remote-2'), DONE] },
      { state: 'FAILED', why: 'AGENT_ANSWER_UNREADABLE', says: '' },
    ],
    [
      'its old state first: the task is completed',
      { frames: [QUESTION, piece('Main.'), DONE] },
      { state: 'COMPLETED', says: 'Main.' },
    ],
  ])('S3.12 after the answer to a question, the backend sends %s', async (_name, script, wanted) => {
    const remote = await given({ frames: [QUESTION] }, script);
    const { id } = await remote.run();
    expect(await remote.answer(id)).toEqual(wanted);
    expect(await remote.charges()).toEqual({ used: 2 * UNKNOWN.used, reserved: 0 });
  });
});

describe('a backend that dies', () => {
  it.each<[string, Script, string]>([
    ['the connection breaks', { frames: [WORKING, piece('Half')], next: 'drop' }, 'AGENT_UNREACHABLE'],
    ['the stream ends, and the task is lost', { frames: [WORKING, piece('Half')] }, 'AGENT_CRASHED'],
  ])(
    'S3.12 %s: the task fails, the reserved amount is charged, and the failure counts for the agent',
    async (_name, script, why) => {
      const remote = await given(script);
      expect(await remote.read(await remote.follow())).toEqual({ state: 'FAILED', why, says: '' });
      expect(await remote.charges()).toEqual(UNKNOWN);
      // outcomes are recorded after the call, and the answer does not wait for that
      await until('the failure is counted', async () => {
        const { body } = await api.call<{ health: { consecutiveFailures: number } }>(
          'GET',
          `/v1/agents/${remote.agentId}`,
        );
        return body.health.consecutiveFailures === 1;
      });
    },
  );

  it('S3.12 the stream ends, but the task has a result: the task is completed', async () => {
    const done = {
      id: TASK,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', parts: [{ text: 'Half done.' }] }],
    };
    const remote = await given({ frames: [WORKING, piece('Half')], read: done });
    expect(await remote.run()).toMatchObject({ state: 'COMPLETED', says: 'Half done.' });
    expect(await remote.charges()).toEqual(UNKNOWN);
  });

  it('S3.12 a backend dies before it is polled: its work is charged, although the connection is refused', async () => {
    const remote = await given({
      streaming: false,
      answer: { body: JSON.stringify({ jsonrpc: '2.0', id: '$id', result: WORKING }) },
    });
    const id = await remote.begin();
    await until('the backend has the message', () => remote.backend.methods.includes('SendMessage'));
    await remote.backend.stop();
    expect(await remote.ended(id)).toEqual({ state: 'FAILED', why: 'AGENT_UNREACHABLE', says: '' });
    expect(await remote.charges()).toEqual(UNKNOWN);
  });

  it('S3.12 a backend dies before the task begins: nothing is charged', async () => {
    const remote = await given({ frames: [WORKING, DONE] });
    await remote.backend.stop();
    expect(await remote.run()).toMatchObject({ state: 'FAILED', why: 'AGENT_UNREACHABLE', says: '' });
    expect(await remote.charges()).toEqual({ used: 0, reserved: 0 });
  });
});

describe('an agent that becomes unavailable', () => {
  const LONG: Script = { frames: [WORKING, piece('Half')], next: 'wait', later: [piece(' done.'), DONE] };

  it.each<[Withdrawal, string]>([
    ['drain', 'RUN_TARGET_UNAVAILABLE'],
    ['quarantine', 'RUN_TARGET_UNAVAILABLE'],
    ['out of budget', 'SPENDING_LIMIT_REACHED'],
    ['evict', 'AGENT_NOT_FOUND'],
  ])('S3.12 %s: the task in progress ends as usual, and the next task is rejected', async (how, code) => {
    const remote = await given(LONG);
    const id = await remote.beginAndWait();
    await remote.withdraw(how);
    expect(await remote.rejection()).toBe(code);
    remote.backend.release();
    expect(await remote.ended(id)).toEqual({ state: 'COMPLETED', says: 'Half done.' });
    expect(remote.backend.methods).toEqual(['SendStreamingMessage']);
    expect(await remote.charges()).toEqual(UNKNOWN);
  });

  it.each<[Withdrawal, string]>([
    ['drain', 'RUN_TARGET_UNAVAILABLE'],
    ['quarantine', 'RUN_TARGET_UNAVAILABLE'],
    ['out of budget', 'RUN_TARGET_UNAVAILABLE'],
    ['evict', 'RUN_TARGET_UNKNOWN'],
  ])('S3.12 %s: a task that has not begun fails without a call', async (how, why) => {
    const remote = await given(LONG);
    await remote.beginAndWait();
    const waiting = await remote.begin();
    await remote.withdraw(how);
    remote.backend.release();
    expect(await remote.ended(waiting)).toEqual({ state: 'FAILED', why, says: '' });
    expect(remote.backend.methods).toEqual(['SendStreamingMessage']);
    expect(await remote.charges()).toEqual(UNKNOWN);
  });

  it('S3.12 drain: a task that waits for an answer continues', async () => {
    const remote = await given({ frames: [QUESTION] }, { frames: [piece('Main.'), DONE] });
    const { id } = await remote.run();
    await remote.withdraw('drain');
    expect(await remote.answer(id)).toEqual({ state: 'COMPLETED', says: 'Main.' });
  });

  it.each<[Withdrawal, string]>([
    ['quarantine', 'RUN_TARGET_UNAVAILABLE'],
    ['out of budget', 'RUN_TARGET_UNAVAILABLE'],
    ['evict', 'RUN_TARGET_UNKNOWN'],
  ])('S3.12 %s: a task that waits for an answer fails without a call', async (how, why) => {
    const remote = await given({ frames: [QUESTION] });
    const { id } = await remote.run();
    await remote.withdraw(how);
    expect(await remote.answer(id)).toEqual({ state: 'FAILED', why, says: '' });
    expect(remote.backend.methods).toEqual(['SendStreamingMessage']);
    expect(await remote.charges()).toEqual(UNKNOWN);
  });
});

describe('the tasks of an agent that has left', () => {
  it('S3.12 can be read, listed, followed and cancelled at the address of the agent, which no longer has a card', async () => {
    const remote = await given({ next: 'wait' });
    const id = await remote.beginAndWait();
    await remote.withdraw('evict');
    const following = remote.wire.call('SubscribeToTask', { id });
    expect(await remote.read(id)).toMatchObject({ state: 'WORKING' });
    expect((await remote.wire.call('ListTasks')).result).toMatchObject({ totalSize: 1 });
    const card = async (): Promise<number> => (await api.call('GET', `/a2a/agents/${remote.agentId}`)).status;
    await until('the card is gone', async () => (await card()) === 404);
    expect((await remote.wire.call('GetExtendedAgentCard')).error?.info).toMatchObject({ reason: 'AGENT_NOT_FOUND' });
    await remote.wire.call('CancelTask', { id });
    expect((await following).events.at(-1)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } },
    });
    const stranger = new A2aWire('JSONRPC', `${api.url}/a2a/agents/${remote.agentId}`, await api.given.key('caller'));
    expect((await stranger.call('GetTask', { id })).error?.info).toMatchObject({ reason: 'TASK_NOT_FOUND' });
  });
});
