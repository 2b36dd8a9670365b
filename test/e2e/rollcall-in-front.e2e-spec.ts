import { until } from '#rollcall/test-support';
import { A2aWire, type Json } from '../support/a2a-wire.js';
import { startApi, type TestApi } from '../support/api.js';
import { A2aWorker, HttpWorker } from '#rollcall/providers/testing';
import { TestAgents } from '../support/test-agents.js';

const SETTINGS = { ROLLCALL_EGRESS_ALLOW: '127.0.0.1', ROLLCALL_HEARTBEAT_EVERY: '10m' };
const FILE = {
  type: 'file',
  bytes: Buffer.from('a,b\n1,2\n').toString('base64'),
  mediaType: 'text/csv',
  name: 'table.csv',
};

/** The agents of `back` are registered at `front`, as agents that use A2A. */
let back: TestApi;
let front: TestApi;
let files: HttpWorker;
let worker: A2aWorker;
let caller: string;

beforeAll(async () => {
  back = await startApi(SETTINGS);
  const key = await back.given.key('caller');
  const credentials = JSON.stringify({ BACK_KEY: back.url });
  front = await startApi({ ...SETTINGS, BACK_KEY: key, ROLLCALL_AGENT_CREDENTIALS: credentials });
  const agents = new TestAgents();
  agents.install(back);
  await agents.define(back);
  files = await HttpWorker.start({ isIdempotent: false, result: { parts: [FILE] } });
  files.release();
  worker = await A2aWorker.start();
  await back.given.agent({ agentId: 'filer', endpoint: files.url, capabilities: ['work'] });
  await back.given.agent({
    agentId: 'worker',
    endpoint: worker.url,
    agentCard: { name: 'worker' },
    capabilities: ['work'],
  });
  for (const agentId of ['asker', 'payer', 'filer', 'worker'])
    await front.given.agent({
      agentId,
      endpoint: `${back.url}/a2a/agents/${agentId}/.well-known/agent-card.json`,
      agentCard: { name: agentId },
      capabilities: ['work'],
    });
  caller = await front.given.key('caller');
});
afterAll(async () => {
  await front.stop();
  await back.stop();
  await files.close();
  await worker.close();
});

const wireTo = (agentId: string): A2aWire => new A2aWire('JSONRPC', `${front.url}/a2a/agents/${agentId}`, caller);

const messageOf = (text: string, more: object = {}): Json => ({
  messageId: crypto.randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text }],
  ...more,
});

async function send(agentId: string, message: Json): Promise<Json> {
  const { result, error } = await wireTo(agentId).call('SendMessage', { message });
  if (error) throw new Error(error.message);
  return result?.['task'] as Json;
}

async function begin(
  agentId: string,
  message = messageOf('Work.'),
  headers: Record<string, string> = {},
): Promise<string> {
  const configuration = { returnImmediately: true };
  const { result } = await wireTo(agentId).call('SendMessage', { message, configuration }, headers);
  const task = result?.['task'] as Json | undefined;
  return String(task?.['id']);
}

async function read(agentId: string, id: string): Promise<Json> {
  return (await wireTo(agentId).call('GetTask', { id })).result ?? {};
}

const stateOf = (task: Json): string => String((task['status'] as Json)['state']).replace('TASK_STATE_', '');

describe('a Rollcall in front of a Rollcall', () => {
  it('P-1 passes a question and its answer: each message of the run has an id of its own', async () => {
    const asked = await send('asker', messageOf('Begin.'));
    expect(asked['status']).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', message: {} });
    expect(JSON.stringify(asked['status'])).toContain('Which branch?');
    const answered = await send('asker', messageOf('The red one.', { taskId: asked['id'] }));
    expect(stateOf(answered)).toBe('COMPLETED');
    expect(JSON.stringify(answered['artifacts'])).toContain('done');
  });

  it('P-6 passes files in both directions', async () => {
    const raw = Buffer.from('x').toString('base64');
    const parts = [{ text: 'Convert.' }, { raw, mediaType: 'text/plain', filename: 'in.txt' }];
    const task = await send('filer', messageOf('', { parts }));
    const { parts: answer } = (task['artifacts'] as { parts: Json[] }[])[0] ?? { parts: [] };
    expect(answer).toContainEqual({ raw: FILE.bytes, mediaType: 'text/csv', filename: 'table.csv' });
    const received = files.requests.at(-1)?.body as { parts: Json[] };
    expect(received.parts).toContainEqual({ type: 'file', bytes: raw, mediaType: 'text/plain', name: 'in.txt' });
  });

  it('P-6 the remote agent receives the contextId, metadata, references and extensions of the caller', async () => {
    const extension = 'https://extensions.example/traceability';
    const message = messageOf('Work.', {
      contextId: 'conversation-7',
      metadata: { ticket: 'T-1' },
      referenceTaskIds: ['earlier-1'],
      extensions: [extension],
    });
    await begin('worker', message, { 'a2a-extensions': 'https://extensions.example/other' });
    await until('the worker works', () => worker.busy > 0);
    expect(worker.messages.at(-1)).toMatchObject({
      contextId: 'conversation-7',
      metadata: { ticket: 'T-1' },
      referenceTaskIds: ['earlier-1'],
      extensions: [extension, 'https://extensions.example/other'],
    });
    expect(worker.requests.at(-1)?.headers['a2a-extensions']).toContain('https://extensions.example/other');
    worker.release();
  });

  it('P-2 passes a cancellation', async () => {
    const id = await begin('worker');
    await until('the worker works', () => worker.busy > 0);
    await wireTo('worker').call('CancelTask', { id });
    await until('the task of the worker is cancelled', () => worker.busy === 0);
    expect([...worker.tasks.values()].at(-1)?.state).toBe('CANCELED');
    expect(stateOf(await read('worker', id))).toBe('CANCELED');
  });

  it('P-2 a task that needs an authorization stays AUTH_REQUIRED, and continues when it has been given', async () => {
    const sent = send('worker', messageOf('Work.'));
    await until('the worker works', () => worker.busy > 0);
    worker.enter('AUTH_REQUIRED');
    const task = await sent; // a blocking call returns at an interrupted state
    expect(stateOf(task)).toBe('AUTH_REQUIRED');
    expect(JSON.stringify(task['status'])).toContain('https://login.example');
    const id = String(task['id']);
    const { result } = await wireTo('worker').call('ListTasks', { status: 'TASK_STATE_AUTH_REQUIRED' });
    expect(result?.['tasks']).toMatchObject([{ id }]);
    const run = await front.call('GET', `/v1/runs/${id}`);
    expect(run.body).toMatchObject({ state: 'running', waitingFor: 'authorization' });
    worker.enter('WORKING');
    await until('the task continues', async () => stateOf(await read('worker', id)) === 'WORKING');
    worker.release();
    await until('the task is completed', async () => stateOf(await read('worker', id)) === 'COMPLETED');
    expect(await front.call('GET', `/v1/runs/${id}`)).toMatchObject({ body: { state: 'completed', waitingFor: null } });
  });

  it('P-2 passes an approval that an operator gives behind', async () => {
    const task = await send('payer', messageOf('Pay.'));
    expect(stateOf(task)).toBe('AUTH_REQUIRED');
    const { body } = await back.call<{ items: { id: string }[] }>('GET', '/v1/runs?state=waiting');
    const [{ id } = { id: '' }] = body.items; // no other run waits behind
    const waiting = await back.call<{ result: { approvals: { callId: string; inputHash: string }[] } }>(
      'GET',
      `/v1/runs/${id}`,
    );
    const [{ callId, inputHash } = { callId: '', inputHash: '' }] = waiting.body.result.approvals;
    await back.call('POST', `/v1/runs/${id}/approvals`, { body: { callId, inputHash, approved: true } });
    await until('the task is completed', async () => stateOf(await read('payer', String(task['id']))) === 'COMPLETED');
  });

  it('P-2 streams the states and the artifacts, and stays open while an authorization is missing', async () => {
    const streamed = wireTo('worker').call('SendStreamingMessage', { message: messageOf('Work.') });
    await until('the worker works', () => worker.busy > 0);
    worker.enter('AUTH_REQUIRED');
    await until('the authorization is asked for', async () => {
      const { result } = await wireTo('worker').call('ListTasks', { status: 'TASK_STATE_AUTH_REQUIRED' });
      const tasks = result?.['tasks'] as Json[] | undefined;
      return tasks?.length === 1;
    });
    worker.release();
    const { events } = await streamed;
    const states = events.flatMap(({ statusUpdate }) => (statusUpdate ? [stateOf(statusUpdate as Json)] : []));
    expect(states.slice(-2)).toEqual(['AUTH_REQUIRED', 'COMPLETED']);
    expect(JSON.stringify(events)).toContain('did Work.');
  });
});
