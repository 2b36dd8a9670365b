import { connect } from 'node:net';
import { SchedulerRegistry } from '@nestjs/schedule';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer, CallOptions } from '../support/call.js';
import { mcpEdge } from '../support/mcp-run-edge.js';
import { httpJsonEdge, restEdge, rpcEdge } from '../support/run-edges.js';
import { RunWatcher } from '../support/run-watcher.js';
import { TestAgents } from '../support/test-agents.js';

interface RunBody {
  id: string;
  state: string;
  [field: string]: unknown;
}

/** Longer than the time limit of `until`, which therefore fails if a wait misses the end of its run. */
const LONG = 'waitMs=50000';
const DONE = { state: 'completed', result: { parts: [{ type: 'text', text: 'You said: Hello.' }] } };
const BUSY = { status: 429, body: { code: 'TOO_MANY_CONCURRENT_REQUESTS' } };

/** Executes the runs. */
let api: TestApi;
/** Executes no runs. */
let other: TestApi;
let agents: TestAgents;
beforeAll(async () => {
  api = await startApi({ ROLLCALL_CONCURRENT_STREAMS: '50' });
  other = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
  agents = new TestAgents();
  for (const replica of [api, other]) prepare(replica);
  await agents.define(api);
  const content = { description: 'Echoes.', instructions: 'Echo.' };
  for (const name of ['echo', 'brief']) await api.call('POST', '/v1/definitions', { body: { name, content } });
});
beforeEach(() => agents.reset());
afterAll(async () => {
  agents.finish();
  await other.stop();
  await api.stop();
});

/** Stops the check that finds missed ends, so that only the announcement of an end can end a wait. */
function prepare(replica: TestApi): void {
  agents.install(replica);
  const scheduler = replica.app.nest.get(SchedulerRegistry, { strict: false });
  for (const name of scheduler.getIntervals()) if (name.includes('check_observed')) scheduler.deleteInterval(name);
}

const start = async (definition: string, query = '', options: CallOptions & { on?: TestApi } = {}) => {
  const { on = api, ...rest } = options;
  return await on.call<RunBody>('POST', `/v1/runs${query}`, { body: { definition, input: 'Hello.' }, ...rest });
};
const get = async (path: string, on: TestApi = api): Promise<Answer<RunBody>> =>
  await on.call<RunBody>('GET', `/v1/runs/${path}`);
/** The results of waits that end before their time is over. */
async function inTime<Result>(waits: readonly Promise<Result>[]): Promise<Result[]> {
  const results: Result[] = [];
  const all = Promise.all(waits.map(async (wait) => results.push(await wait)));
  await until('every wait has ended', () => results.length === waits.length);
  await all;
  return results;
}
const countRuns = async (): Promise<number> => (await api.database.db.query('SELECT FROM run')).length;

describe('POST /v1/runs with waitMs', () => {
  it('R-3 returns the finished run, as a later read returns it', async () => {
    const { status, headers, body } = await start('echo', `?${LONG}`);
    expect({ status, body }).toMatchObject({ status: 202, body: { ...DONE, attempts: 1 } });
    expect(headers.has('preference-applied')).toBe(false);
    expect(body).toEqual((await get(body.id)).body);
  });

  it('R-3 returns the run when it waits for its caller, and so do an answer and a decision', async () => {
    const { body: asked } = await start('asker', `?${LONG}`);
    expect(asked).toMatchObject({ state: 'waiting', waitingFor: 'input' });
    const answer = { body: { input: 'The branch main.' } };
    const answered = await api.call('POST', `/v1/runs/${asked.id}/messages?${LONG}`, answer);
    expect(answered).toMatchObject({ status: 202, body: { id: asked.id, state: 'completed', attempts: 2 } });
    const { body: paying } = await start('payer', `?${LONG}`);
    const { approvals } = paying['result'] as { approvals: { callId: string; inputHash: string }[] };
    const [{ callId, inputHash } = { callId: '', inputHash: '' }] = approvals;
    const decision = { body: { callId, inputHash, approved: true } };
    const decided = await other.call('POST', `/v1/runs/${paying.id}/approvals?${LONG}`, decision);
    expect(decided).toMatchObject({ status: 202, body: { id: paying.id, state: 'completed' } });
    expect(agents.paid).toBe(1);
  });

  it('R-3 returns a run that does not end in time as it is', async () => {
    const { status, body } = await start('talker', '?waitMs=1');
    expect({ status, body }).toMatchObject({ status: 202, body: { state: 'running', result: null } });
    agents.finish();
    expect((await get(`${body.id}?${LONG}`)).body).toMatchObject({ state: 'completed' });
  });

  it('R-3 returns a run that is cancelled on the other replica', async () => {
    const waiting = start('talker', `?${LONG}`);
    let id = '';
    await until('the run is running', async () => {
      const { body } = await other.call<{ items: RunBody[] }>('GET', '/v1/runs?state=running');
      id = body.items[0]?.id ?? '';
      return id !== '';
    });
    await other.call('POST', `/v1/runs/${id}/cancel`);
    expect(await inTime([waiting])).toMatchObject([{ body: { id, state: 'cancelled' } }]);
  });

  it('R-3 if the client disconnects, the run continues', async () => {
    const { hostname, port } = new URL(api.url);
    const body = JSON.stringify({ definition: 'talker', input: 'Leave.' });
    const socket = connect(Number(port), hostname);
    const head = ['Host: here', `Authorization: Bearer ${api.adminKey}`, 'Content-Type: application/json'];
    const lines = [`POST /v1/runs?${LONG} HTTP/1.1`, ...head, `Content-Length: ${body.length}`, '', body];
    socket.write(lines.join('\r\n'));
    const stateOf = async (): Promise<unknown> => {
      const sql = `SELECT state FROM run WHERE input::text LIKE '%Leave.%'`;
      return (await api.database.db.query<RunBody>(sql))[0]?.state;
    };
    await until('the run is running', async () => (await stateOf()) === 'running');
    socket.destroy();
    agents.finish();
    await until('the run is completed', async () => (await stateOf()) === 'completed');
  });

  it.each(['-1', '50001', '1.5', 'soon', ''])('R-3 rejects waitMs=%s, and starts no run', async (waitMs) => {
    const before = await countRuns();
    const { status, headers, body } = await start('echo', `?waitMs=${waitMs}`);
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: [{ field: 'waitMs' }] },
    });
    expect(headers.get('content-type')).toContain('application/problem+json');
    expect(await countRuns()).toBe(before);
  });
});

describe('Prefer: wait', () => {
  const prefer = (value: string): CallOptions => ({ headers: { prefer: value } });

  it.each(['wait=20', 'respond-async, wait=20', 'WAIT = "20"; strict', 'wait=86400', 'wait=99999999999'])(
    'R-3 is honoured and confirmed: %s',
    async (value) => {
      const { status, headers, body } = await start('echo', '', prefer(value));
      expect({ status, body }).toMatchObject({ status: 202, body: DONE });
      expect(headers.get('preference-applied')).toBe('wait');
    },
  );

  it.each(['wait=soon', 'wait=-1', 'wait', 'await=20', 'return=minimal', 'wait=0'])(
    'R-3 is ignored: %s',
    async (value) => {
      const { status, headers, body } = await start('talker', '', prefer(value));
      expect({ status, body }).toMatchObject({ status: 202, body: { state: 'running' } });
      expect(headers.has('preference-applied')).toBe(false);
    },
  );

  it('R-3 waitMs takes precedence', async () => {
    const { headers, body } = await start('talker', '?waitMs=0', prefer('wait=50'));
    expect(body).toMatchObject({ state: 'running' });
    expect(headers.has('preference-applied')).toBe(false);
  });

  it('R-3 applies to GET too', async () => {
    const { body: run } = await start('echo');
    const { headers, body } = await api.call('GET', `/v1/runs/${run.id}`, prefer('wait=20'));
    expect(body).toMatchObject(DONE);
    expect(headers.get('preference-applied')).toBe('wait');
  });
});

describe('a wait on a replica that does not execute the run', () => {
  it('R-3 ends with the run, however short the run is, without the check for missed ends', async () => {
    const started = await Promise.all(Array.from({ length: 40 }, async () => await start('echo', '', { on: other })));
    const reads = started.map(async ({ body }) => await get(`${body.id}?${LONG}`, other));
    const starts = Array.from({ length: 40 }, async () => await start('echo', `?${LONG}`, { on: other }));
    for (const { body } of await inTime([...reads, ...starts])) expect(body).toMatchObject(DONE);
  });

  it('R-3 ends with the run over REST, A2A and MCP', async () => {
    const { url } = other;
    const key = await api.given.key('caller');
    const edges = [...[restEdge, rpcEdge, httpJsonEdge].map((edge) => edge(url, key)), await mcpEdge(url, key)];
    const runs = Array.from({ length: 10 }, () =>
      edges.map(async (edge) => await edge.run('echo', { text: 'Hello.' })),
    );
    for (const outcome of await inTime(runs.flat())) expect(outcome).toMatchObject({ says: DONE.result.parts });
  });
});

describe('the repetition of a start that waits', () => {
  /** The same caller on both replicas. */
  const once = (key: string): CallOptions => ({ key: api.adminKey, headers: { 'idempotency-key': key } });

  it('R-3 returns the run of the first request, when it has ended', async () => {
    const { headers, body: first } = await start('echo', `?${LONG}`, once('wait-1'));
    expect(headers.has('idempotency-replayed')).toBe(false);
    const again = await start('echo', `?${LONG}`, { ...once('wait-1'), on: other });
    expect(again).toMatchObject({ status: 202, body: first });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await start('echo', '?waitMs=1', once('wait-1'))).body).toEqual(first);
    const { body: unwaited } = await start('echo', '', once('wait-1'));
    expect(unwaited).toMatchObject({ id: first.id, state: 'running', result: null }); // the first response without its wait
  });

  it('R-3 has no effect if it is sent at the same time', async () => {
    const before = await countRuns();
    const send = async (index: number): Promise<Answer<RunBody>> =>
      await start('echo', `?${LONG}`, { ...once('wait-2'), on: index % 2 === 0 ? api : other });
    const answers = await Promise.all(Array.from({ length: 6 }, async (_, index) => await send(index)));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    for (const { status, body } of answers) expect({ status, body }).toMatchObject({ status: 202, body: DONE });
    expect(await countRuns()).toBe(before + 1);
  });

  it('R-3 returns the run even if it could not be started any more', async () => {
    const { body: first } = await start('brief', `?${LONG}`, once('wait-3'));
    await api.call('DELETE', '/v1/definitions/brief');
    expect((await start('brief', `?${LONG}`)).status).toBe(404);
    expect((await start('brief', `?${LONG}`, once('wait-3'))).body).toEqual(first);
  });

  it('R-3 is rejected if its body differs, and starts no run', async () => {
    await start('echo', `?${LONG}`, once('wait-4'));
    const before = await countRuns();
    expect(await start('talker', `?${LONG}`, once('wait-4'))).toMatchObject({
      status: 422,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
    expect(await countRuns()).toBe(before);
  });
});

describe('the limit of waits', () => {
  it('R-6 one credential may wait for more than 50 runs at the same time', async () => {
    const waits = Array.from({ length: 120 }, async () => await start('echo', `?${LONG}`));
    for (const { status, body } of await Promise.all(waits)) expect({ status, body }).toMatchObject({ body: DONE });
  });

  it('R-6 rejects a wait above the limit with 429, without an effect; other requests have their own limits', async () => {
    const limited = await api.replica(
      { ROLLCALL_CONCURRENT_STREAMS: '1', ROLLCALL_CONCURRENT_REQUESTS: '5' },
      { constants: { http: { concurrentWaits: 1 } } },
    );
    prepare(limited);
    const { body: run } = await start('talker', '', { on: limited });
    const waiting = get(`${run.id}?${LONG}`, limited);
    const isFull = async (): Promise<boolean> => (await get(`${run.id}?waitMs=1`, limited)).status === 429;
    await until('the wait is counted', isFull);
    const before = await countRuns();
    const refused = await start('echo', `?${LONG}`, { on: limited });
    expect(refused).toMatchObject(BUSY);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('content-type')).toContain('application/problem+json');
    expect(await start('echo', '', { on: limited, headers: { prefer: 'wait=5' } })).toMatchObject(BUSY);
    const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Hello.' }] };
    const sent = await limited.call('POST', '/a2a/agents/echo/message:send', { body: { message } });
    expect(sent.status).toBe(429);
    expect(await countRuns()).toBe(before);
    expect((await get(run.id, limited)).status).toBe(200);
    expect((await start('echo', '', { on: limited })).status).toBe(202);
    const stream = await RunWatcher.open(`${limited.url}/v1/runs/${run.id}/stream`, limited.adminKey, {});
    expect(stream.status).toBe(200);
    agents.finish();
    expect((await waiting).body).toMatchObject({ state: 'completed' });
    await until('the slot is free', async () => !(await isFull()));
    stream.close();
    await limited.stop();
  });

  it('R-6 a message over JSON-RPC whose response is a stream counts as a stream', async () => {
    const limited = await api.replica(
      { ROLLCALL_CONCURRENT_STREAMS: '1' },
      { constants: { http: { concurrentWaits: 1 } } },
    );
    prepare(limited);
    const send = async (method: string, agent: string): Promise<Response> => {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Hello.' }] };
      return await fetch(`${limited.url}/a2a/agents/${agent}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${limited.adminKey}`,
          'content-type': 'application/json',
          'a2a-version': '1.0',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } }),
      });
    };
    const stream = await send('SendStreamingMessage', 'talker');
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    const before = await countRuns();
    expect((await send('SendStreamingMessage', 'echo')).status).toBe(429);
    expect(await countRuns()).toBe(before);
    expect(await (await send('SendMessage', 'echo')).text()).toContain('TASK_STATE_COMPLETED');
    agents.finish();
    expect(await stream.text()).toContain('TASK_STATE_COMPLETED');
    await limited.stop();
  });
});
