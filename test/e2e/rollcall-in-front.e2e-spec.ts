import { until } from '#rollcall/test-support';
import { A2aWire, type Json } from '../support/a2a-wire.js';
import { startApi, type TestApi } from '../support/api.js';
import { A2aWorker, HttpWorker } from '#rollcall/providers/testing';
import { PullWorker } from '../support/pull-worker.js';
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
/** An agent that takes its tasks from `back`. */
let puller: PullWorker;
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
  puller = await PullWorker.register(back, { agentId: 'puller' });
  for (const agentId of ['asker', 'payer', 'filer', 'worker', 'puller'])
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

describe('a Rollcall in front of a Rollcall whose agent takes its tasks', () => {
  it('N-3 P-2 text and progress of the agent reach the caller piece by piece, before the answer, and its usage is charged', async () => {
    const stream = await TaskEvents.open(wireTo('puller'), messageOf('Write.'));
    const task = await puller.next();
    expect(task).toMatchObject({ text: 'Write.' });
    const said = ['The ', 'answer ', '😀'];
    for (const [index, text] of said.entries()) {
      expect((await puller.progress(task.callId, { text })).status).toBe(200);
      await until('the piece arrives', () => stream.text === said.slice(0, index + 1).join(''));
    }
    await puller.progress(task.callId, { progress: 'I am checking it.' });
    await until('the progress arrives', () => stream.received.includes('I am checking it.'));
    expect(stream.states).not.toContain('COMPLETED');
    const usage = { inputTokens: 20, outputTokens: 3 };
    await puller.result(task.callId, { text: 'The answer 😀', usage });
    await stream.ended;
    expect(stream.states.at(-1)).toBe('COMPLETED');
    expect(stream.text).toBe('The answer 😀'); // the answer replaces the pieces
    expect(await front.call('GET', `/v1/runs/${stream.id}`)).toMatchObject({ body: { state: 'completed', usage } });
  });

  it('N-3 P-1 a question of the agent and the answer of the caller pass through both, and each call is charged once', async () => {
    const sent = send('puller', messageOf('Begin.'));
    const first = await puller.next();
    const question = { outcome: 'input-required', text: 'Which branch?', conversationId: 'c-1' };
    await puller.result(first.callId, { ...question, usage: { inputTokens: 10, outputTokens: 4 } });
    const asked = await sent;
    expect(stateOf(asked)).toBe('INPUT_REQUIRED');
    expect(JSON.stringify(asked['status'])).toContain('Which branch?');
    const answered = send('puller', messageOf('The red one.', { taskId: asked['id'] }));
    const second = await puller.next();
    expect(second).toMatchObject({ text: 'The red one.', conversationId: 'c-1' });
    expect(second.runId).toBe(first.runId);
    await puller.result(second.callId, { text: 'done', usage: { inputTokens: 5, outputTokens: 1 } });
    expect(stateOf(await answered)).toBe('COMPLETED');
    const usage = { inputTokens: 15, outputTokens: 5 };
    expect(await front.call('GET', `/v1/runs/${String(asked['id'])}`)).toMatchObject({ body: { usage } });
    const budgets = await front.call<{ items: { usage: { own: { tokens: number } } }[] }>(
      'GET',
      `/v1/budgets?kind=run&subject=${String(asked['id'])}`,
    );
    expect(budgets.body.items).toMatchObject([{ usage: { own: { tokens: 20 } } }]);
  });

  it('N-3 P-6 files pass through both, in both directions', async () => {
    const raw = Buffer.from('x').toString('base64');
    const parts = [{ text: 'Convert.' }, { raw, mediaType: 'text/plain', filename: 'in.txt' }];
    const sent = send('puller', messageOf('', { parts }));
    const task = await puller.next();
    expect(task['parts']).toContainEqual({ type: 'file', bytes: raw, mediaType: 'text/plain', name: 'in.txt' });
    await puller.result(task.callId, { artifacts: [{ id: 'table', name: 'table', parts: [FILE] }] });
    expect(JSON.stringify((await sent)['artifacts'])).toContain(FILE.bytes);
  });

  it('N-3 P-2 a cancellation reaches the agent', async () => {
    const id = await begin('puller');
    const { callId } = await puller.next();
    await wireTo('puller').call('CancelTask', { id });
    await until('the heartbeat reports it', async () => {
      const { body } = await puller.beat();
      return JSON.stringify(body['cancelled'] ?? []).includes(callId);
    });
    expect(await puller.result(callId)).toMatchObject({ status: 409, body: { code: 'TASK_CANCELLED' } });
    expect(stateOf(await read('puller', id))).toBe('CANCELED');
  });
});

/** The events of one message, as they arrive. */
class TaskEvents {
  /** The text of the answer so far. */
  text = '';
  id = '';
  /** All events, as JSON. */
  received = '';
  readonly states: string[] = [];

  private constructor(response: Response) {
    this.ended = this.readAll(response);
  }

  readonly ended: Promise<void>;

  static async open(wire: A2aWire, message: Json): Promise<TaskEvents> {
    return new TaskEvents(await wire.stream('SendStreamingMessage', { message }));
  }

  private async readAll(response: Response): Promise<void> {
    let unread = '';
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      const lines = (unread + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n');
      unread = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: ')) this.read(line.slice('data: '.length));
    }
  }

  private read(json: string): void {
    this.received += json;
    const { task, statusUpdate, artifactUpdate } = (JSON.parse(json) as { result: Record<string, Json> }).result;
    if (task) this.id = String(task['id']);
    const changed = task ?? statusUpdate;
    if (changed) this.states.push(stateOf(changed));
    if (!artifactUpdate) return;
    const { parts } = artifactUpdate['artifact'] as { parts: { text?: string }[] };
    const text = parts.map((part) => part.text ?? '').join('');
    this.text = artifactUpdate['append'] === true ? this.text + text : text;
  }
}
