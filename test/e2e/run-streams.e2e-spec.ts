import { until } from '#rollcall/test-support';
import { StreamConnections } from '../../apps/api/src/streams/stream.connections.js';
import { startApi, type TestApi } from '../support/api.js';
import { examplesOf, ExampleRunner } from '../support/doc-example.js';
import { EventClient } from '../support/event-client.js';
import { RunWatcher } from '../support/run-watcher.js';
import { TestAgents } from '../support/test-agents.js';

const STEPS = ['message', 'model-replied', 'tool-called', 'tool-finished', 'model-replied'];

let api: TestApi;
/** Executes no runs. */
let other: TestApi;
let agents: TestAgents;
beforeAll(async () => {
  const constants = { events: { buffer: 64 << 10, slowAfter: 1_000 } };
  api = await startApi({}, { constants });
  other = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
  agents = new TestAgents();
  for (const replica of [api, other]) agents.install(replica);
  await agents.define(api);
});
beforeEach(() => agents.reset());
afterAll(async () => {
  agents.finish();
  await other.stop();
  await api.stop();
});

async function start(definition: string): Promise<string> {
  const { body } = await api.call<{ id: string }>('POST', '/v1/runs', { body: { definition, input: 'Begin.' } });
  return body.id;
}

/** Stores a run whose steps do not fit into the buffers of a connection. */
async function givenLargeRun(id: string): Promise<void> {
  await api.database.db.query(
    `INSERT INTO run (id, namespace, root_id, state, target, agent_id, input, created_by)
     VALUES ($1, 'default', $1, 'waiting', '{}', 'talker', '[]', 'key:other')`,
    [id],
  );
  await api.database.db.query(
    `INSERT INTO run_step (run_id, seq, step)
     SELECT $1, n, json_build_object('type', 'message', 'parts', json_build_array(repeat('x', 200000))) FROM generate_series(1, 300) AS n`,
    [id],
  );
}

const watch = async (at: TestApi, id: string, query = '', headers = {}): Promise<RunWatcher> =>
  await RunWatcher.open(`${at.url}/v1/runs/${id}/stream${query}`, at.adminKey, headers);

const runFrames = (client: EventClient, id: string, type: string): Record<string, unknown>[] =>
  client
    .of('run')
    .filter((frame) => frame['runId'] === id && frame['type'] === type)
    .map(({ data }) => data as Record<string, unknown>);

describe('the stream of a run over SSE', () => {
  it('B6 resumes on another replica with Last-Event-ID, with each step once, live text, and the last state', async () => {
    const id = await start('talker');
    const first = await watch(other, id);
    await until('the tool call is received', () => first.steps.length === 3);
    first.close();
    agents.worked.resolve();
    const second = await watch(other, id, '', { 'last-event-id': first.lastId });
    await until('live text is received', () => second.of('text').length > 1);
    expect(second.of('text')[0]).toEqual({ text: expect.stringContaining('tick'), afterStep: 4 });
    second.close();
    agents.answered.resolve();
    const third = await (await watch(api, id, `?afterStep=${second.lastId}`)).over();
    expect([...first.steps, ...second.steps, ...third.steps]).toEqual([1, 2, 3, 4, 5]);
    const types = [first, second, third].flatMap((one) => one.of('step').map(({ type }) => type));
    expect(types).toEqual(STEPS);
    expect(third.events.at(-1)).toMatchObject({ id: '5-end', type: 'state', data: { id, state: 'completed' } });
    expect((await watch(other, id, '', { 'last-event-id': '5-end' })).status).toBe(204);
    for (const wrong of ['0-end', '3-end', '9-end', '9'])
      expect(await api.call('GET', `/v1/runs/${id}/stream`, { headers: { 'last-event-id': wrong } })).toMatchObject({
        status: 400,
        body: { errors: [{ field: 'last-event-id' }] },
      });
    expect((await (await watch(other, id)).over()).steps).toEqual([1, 2, 3, 4, 5]);
  });

  it('B6 sends keep-alive comments while the run waits, and ends when the run is cancelled', async () => {
    const id = await start('payer');
    const watcher = await watch(other, id);
    await until('the run waits', () => watcher.states.at(-1) === 'waiting');
    const before = watcher.comments;
    other.app.nest.get(StreamConnections, { strict: false }).beat();
    await until('a comment is received', () => watcher.comments > before);
    await api.call('POST', `/v1/runs/${id}/cancel`, { body: {} });
    await watcher.over();
    expect(watcher.states.at(-1)).toBe('cancelled');
  });

  it('B6 ends when the replica stops, and the client continues on another replica', async () => {
    const stopping = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
    const id = await start('talker');
    const watcher = await watch(stopping, id);
    await until('the tool call is received', () => watcher.steps.length === 3);
    await stopping.stop();
    await watcher.over();
    expect(watcher.events.at(-1)).toMatchObject({ type: 'end', data: { code: 'SHUTTING_DOWN', afterStep: 3 } });
    agents.finish();
    const rest = await (await watch(other, id, '', { 'last-event-id': watcher.lastId })).over();
    expect([rest.steps, rest.states.at(-1)]).toEqual([[4, 5], 'completed']);
  });

  it('B6 disconnects a client that does not read, and does not buffer its events', async () => {
    await givenLargeRun('large');
    const response = await fetch(`${other.url}/v1/runs/large/stream`, {
      headers: { authorization: `Bearer ${other.adminKey}` },
    });
    const connections = other.app.nest.get(StreamConnections, { strict: false });
    await until('the connection is open', () => connections.count === 1);
    await until('the connection is closed', () => connections.count === 0);
    await expect(response.text()).rejects.toThrow();
  });

  it.each([
    ['absent/stream', {}, 404, 'RUN_NOT_FOUND'],
    ['RUN/stream?afterStep=99', {}, 400, 'VALIDATION_FAILED'],
    ['RUN/stream?afterStep=-1', {}, 400, 'VALIDATION_FAILED'],
    ['RUN/stream', { 'last-event-id': '1042-9f3c27d1' }, 400, 'VALIDATION_FAILED'],
    ['RUN/stream', { 'last-event-id': '1-end' }, 400, 'VALIDATION_FAILED'],
  ])('B6 rejects the path %s with the headers %j', async (path, headers, status, code) => {
    const id = await start('payer');
    const answer = await api.call('GET', `/v1/runs/${path.replace('RUN', id)}`, { headers });
    expect(answer).toMatchObject({ status, body: { code } });
  });
});

describe('the streams of runs over a WebSocket', () => {
  it('B6 send several runs, resume after a step on another replica, and stop after unsubscribe-run', async () => {
    const [one, two] = [await start('talker'), await start('payer')];
    const first = await EventClient.connect(other.url, { key: other.adminKey });
    first.send('subscribe-run', { runId: one });
    first.send('subscribe-run', { runId: two });
    await until(
      'both runs are received',
      () =>
        runFrames(first, one, 'step').length === 3 &&
        runFrames(first, two, 'state').some(({ state }) => state === 'waiting'),
    );
    first.send('unsubscribe-run', { runId: two });
    await first.received('run-unsubscribed');
    await api.call('POST', `/v1/runs/${two}/cancel`, { body: {} });
    agents.worked.resolve();
    await until('live text is received', () => runFrames(first, one, 'text').length > 0);
    first.socket.terminate();
    const last = Number(runFrames(first, one, 'step').at(-1)?.['seq']);
    agents.answered.resolve();
    const second = await EventClient.connect(api.url, { key: api.adminKey });
    second.send('subscribe-run', { runId: one, afterStep: last });
    await until('the run is completed', () => runFrames(second, one, 'state').at(-1)?.['state'] === 'completed');
    const seqs = [...runFrames(first, one, 'step'), ...runFrames(second, one, 'step')].map(({ seq }) => seq);
    expect(seqs).toEqual([1, 2, 3, 4, 5]);
    expect(runFrames(first, two, 'state').map(({ state }) => state)).not.toContain('cancelled');
    second.socket.close();
  });

  it('B6 end for a client that does not read, and the error says how to resume the runs', async () => {
    await givenLargeRun('unread');
    const client = await EventClient.connect(other.url, { key: other.adminKey });
    client.send('subscribe-run', { runId: 'unread' });
    await client.received('run-subscribed');
    client.socket.pause();
    const connections = other.app.nest.get(StreamConnections, { strict: false });
    await until('the connection is closed', () => connections.count === 0);
    client.socket.resume();
    expect(await client.closed()).toEqual({ code: 4408, reason: { code: 'SLOW_CONSUMER' } });
    expect(client.of('end')).toEqual([{ code: 'SLOW_CONSUMER', detail: expect.stringContaining('`afterStep`') }]);
  });

  it('B6 end when the replica stops, and reject unknown runs', async () => {
    const stopping = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
    const id = await start('payer');
    const client = await EventClient.connect(stopping.url, { key: stopping.adminKey });
    client.send('subscribe-run', { runId: 'absent' });
    expect(await client.received('error')).toMatchObject({ code: 'RUN_NOT_FOUND', runId: 'absent' });
    client.send('subscribe-run', { runId: id });
    await client.received('run-subscribed');
    await stopping.stop();
    expect(await client.closed()).toMatchObject({ code: 1001, reason: { code: 'SHUTTING_DOWN' } });
  });
});

describe('a run that waits or is finished', () => {
  const post = async (path: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> =>
    await api.call('POST', `/v1/runs/${path}`, { body });
  const settled = async (id: string): Promise<Record<string, unknown>> =>
    (await api.call('GET', `/v1/runs/${id}?waitMs=20000`)).body;

  it('B6 continues after an approval of exactly the call that waits', async () => {
    const id = await start('payer');
    const waiting = await settled(id);
    expect(waiting).toMatchObject({ state: 'waiting', waitingFor: 'approval' });
    const [pending] = (waiting['result'] as { approvals: { callId: string; inputHash: string; input: unknown }[] })
      .approvals;
    expect(pending).toMatchObject({ callId: 'call-1', tool: 'pay', input: { eur: 5 } });
    const decision = { callId: 'call-1', inputHash: pending?.inputHash ?? '', approved: true };
    expect(await post(`${id}/approvals`, { ...decision, inputHash: 'other' })).toMatchObject({
      status: 409,
      body: { code: 'RUN_DECISION_MISMATCH' },
    });
    expect(await post(`${id}/approvals`, { ...decision, reason: 'Fine.' })).toMatchObject({
      status: 202,
      body: { state: 'queued' },
    });
    expect([(await settled(id))['state'], agents.paid]).toEqual(['completed', 1]);
    const repeated = await post(`${id}/approvals`, { ...decision, reason: 'Fine.' });
    expect(repeated).toMatchObject({ status: 202, body: { state: 'completed' } });
    expect(await post(`${id}/approvals`, { ...decision, approved: false })).toMatchObject({ status: 409 });
    expect(agents.paid).toBe(1);
    const audit = await api.call<{ items: { action: string; details: object }[] }>('GET', '/v1/audit');
    expect(audit.body.items.find(({ action }) => action === 'run.decided')?.details).toMatchObject({
      ...decision,
      reason: 'Fine.',
    });
  });

  it('B6 continues with a message instead of the call, is exported with its steps, and can be repeated', async () => {
    const id = await start('payer');
    await settled(id);
    expect(await post(`${id}/retry`, {})).toMatchObject({ status: 409, body: { code: 'RUN_NOT_FINISHED' } });
    expect(await post(`${id}/messages`, { input: 'Do not pay.' })).toMatchObject({
      status: 202,
      body: { state: 'queued' },
    });
    expect([(await settled(id))['state'], agents.paid]).toEqual(['completed', 0]);
    expect(await post(`${id}/messages`, { input: 'Thanks.' })).toMatchObject({
      status: 409,
      body: { code: 'RUN_FINISHED' },
    });
    const exported = await api.call<{ steps: { type: string }[] }>('GET', `/v1/runs/${id}/export`);
    expect(exported.body).toMatchObject({ run: { id, state: 'completed' }, children: [] });
    expect(exported.body.steps.filter(({ type }) => type === 'message')).toHaveLength(2);
    const { body: tree } = await api.call('GET', `/v1/runs/${id}/tree`);
    expect(tree).toMatchObject({ run: { id }, subtree: { tokens: expect.any(Number) }, children: [] });
    const unknown = { status: 400, body: { errors: [{ field: 'foo', message: 'foo is not a known field' }] } };
    for (const route of ['retry', 'cancel']) {
      expect(await post(`${id}/${route}`, { foo: 1 })).toMatchObject(unknown);
      expect(await post(`${id}/${route}?foo=1`, {})).toMatchObject(unknown);
    }
    for (const route of ['tree', 'export'])
      expect(await api.call('GET', `/v1/runs/${id}/${route}?foo=1`)).toMatchObject(unknown);
    const retried = await post(`${id}/retry`, {});
    expect(retried).toMatchObject({ status: 202, body: { retryOf: id, agentId: 'payer' } });
    expect(await settled(String(retried.body['id']))).toMatchObject({ state: 'waiting', waitingFor: 'approval' });
  });
});

describe('a run that waits while its definition changes', () => {
  const path = '/v1/definitions/buyer';

  it.each([
    ['replaced', async () => await api.call('PUT', path, { body: { content: { description: 'Other.', tools: [] } } })],
    ['removed', async () => await api.call('DELETE', path)],
  ])('S0.2 S0.6 continues with its revision if the definition is %s', async (_name, change) => {
    const { body: payer } = await api.call<{ content: object }>('GET', '/v1/definitions/payer');
    await api.call('DELETE', path);
    await api.call('POST', '/v1/definitions', { body: { name: 'buyer', content: payer.content } });
    const run = `/v1/runs/${await start('buyer')}`;
    const settled = async (): Promise<Record<string, unknown>> => (await api.call('GET', `${run}?waitMs=20000`)).body;
    const { result, definition } = await settled();
    const [{ inputHash }] = (result as { approvals: [{ inputHash: string }] }).approvals;
    expect((await change()).status).toBeLessThan(300);
    await api.call('POST', `${run}/approvals`, { body: { callId: 'call-1', inputHash, approved: true } });
    expect(await settled()).toMatchObject({ state: 'completed', definition });
    expect(agents.paid).toBe(1);
  });
});

describe('the commands of docs/runs.md', () => {
  it('B6 start, follow, approve, continue and cancel runs', async () => {
    agents.finish();
    const examples = new ExampleRunner({ ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey });
    const code = examplesOf('runs.md', 'sh').join(`\necho; echo '==='\n`);
    const { child, output } = examples.script(code);
    await until('the commands have ended', () => child.exitCode !== null, 60_000);
    const printed = output().split('===');
    expect([child.exitCode, output().includes('urn:rollcall:problem')]).toEqual([0, false]);
    expect(printed.map((text) => outlineOf(text.trim()))).toEqual([
      [],
      [],
      ['"state":"completed"'],
      ['"state":"completed"'],
      [...Array<string>(8).fill('step'), 'state', '"state":"completed"'],
      ['step', 'step', 'step', 'state', '"state":"completed"'],
      ['"state":"completed"', '"state":"completed"'],
      ['"state":"completed"', '"state":"completed"'],
      ['"state":"queued"'],
      ['"state":"completed"', '"state":"waiting"', '"state":"queued"'],
      ['"state":"cancelled"'],
      ['"state":"running"'],
    ]);
    examples.stop();
  });
});

/** The events and the states in the output of a command. */
function outlineOf(text: string): string[] {
  const found = text.matchAll(/^event: (?<event>step|state)$|(?<field>"state":"\w+")/gm);
  return [...found].map(({ groups }) => groups?.['event'] ?? groups?.['field'] ?? '');
}
