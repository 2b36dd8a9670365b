import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer, CallOptions } from '../support/call.js';

interface RunBody {
  id: string;
  state: string;
  code?: string;
  [field: string]: unknown;
}

let api: TestApi;
let other: TestApi;
beforeAll(async () => {
  api = await startApi();
  other = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
  const content = { description: 'Echoes.', instructions: 'Echo.', budget: { tokens: 50_000, microUsd: null } };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

const start = async (body: object, options: CallOptions = {}): Promise<Answer<RunBody>> =>
  await api.call<RunBody>('POST', '/v1/runs', { body: { input: 'Hello.', ...body }, ...options });
const get = async (path: string, on: TestApi = api): Promise<Answer<RunBody>> =>
  await on.call<RunBody>('GET', `/v1/runs/${path}`);

describe('/v1/runs', () => {
  it('B6 starts a run, and any replica returns it when it is finished', async () => {
    const { status, body: run } = await start({ definition: 'echo', budget: { tokens: 90_000 } });
    expect({ status, run }).toMatchObject({
      status: 202,
      run: { state: 'running', agentId: 'echo', definition: { name: 'echo', revision: 1 }, attempts: 1, result: null },
    });
    expect(run['budget']).toEqual({ tokens: 50_000, microUsd: null }); // the definition allows less
    expect((await get(`${run.id}?waitMs=20000`, other)).body).toMatchObject({
      state: 'completed',
      result: { parts: [{ type: 'text', text: 'You said: Hello.' }] },
      attempts: 1,
    });
  });

  it('B6 lists steps and runs in pages, with filters', async () => {
    const { body: run } = await start({ definition: 'echo', data: { branch: 'main' } });
    await get(`${run.id}?waitMs=20000`);
    const first = (await get(`${run.id}/steps?limit=1`)).body as unknown as { items: RunBody[]; nextCursor: string };
    expect(first.items).toMatchObject([{ seq: 1, type: 'message' }]);
    const rest = (await get(`${run.id}/steps?cursor=${first.nextCursor}`)).body;
    expect(rest).toMatchObject({ items: [{ seq: 2, type: 'model-replied' }], nextCursor: null });
    const beyond = Buffer.from('run-steps:99999999999999').toString('base64url');
    expect(await get(`${run.id}/steps?cursor=${beyond}`)).toMatchObject({
      status: 400,
      body: { code: 'CURSOR_INVALID' },
    });
    const found = await api.call<{ items: RunBody[] }>('GET', '/v1/runs?definition=echo&state=completed&limit=1');
    expect(found.body.items.map(({ id }) => id)).toEqual([run.id]);
    expect((await api.call('GET', '/v1/runs?state=queued')).body).toMatchObject({ items: [] });
    const future = await api.call('GET', '/v1/runs?from=2100-01-01T00:00:00Z');
    expect(future.body).toMatchObject({ items: [], nextCursor: null });
  });

  it('B6 a repetition with the same Idempotency-Key starts no second run', async () => {
    const headers = { 'idempotency-key': 'one-run' };
    const first = await start({ definition: 'echo' }, { headers });
    expect((await start({ definition: 'echo' }, { headers })).body.id).toBe(first.body.id);
  });

  it.each([
    [{ definition: 'absent' }, 404, 'DEFINITION_NOT_FOUND'],
    [{ agent: 'absent' }, 404, 'RUN_TARGET_UNKNOWN'],
    [{ capabilities: ['absent'] }, 409, 'RUN_TARGET_UNAVAILABLE'],
    [{}, 400, 'RUN_TARGET_MISSING'],
    [{ definition: 'echo', deadline: '2020-01-01T00:00:00Z' }, 400, 'RUN_DEADLINE_PASSED'],
    [{ definition: 'echo', budget: { tokens: 0 } }, 402, 'SPENDING_LIMIT_REACHED'],
    [{ definition: 'echo', agent: 'echo' }, 400, 'VALIDATION_FAILED'],
    [{ definition: 'echo', prefer: 'cheapest' }, 400, 'VALIDATION_FAILED'],
    [{ definition: 'echo', input: '' }, 400, 'VALIDATION_FAILED'],
    [{ definition: 'echo', input: '   ' }, 400, 'AGENT_REQUEST_REFUSED'],
    [{ definition: 'echo', input: 'x'.repeat(65_537) }, 400, 'VALIDATION_FAILED'],
    [{ definition: 'echo', input: 'x'.repeat(10_000_000) }, 413, 'BODY_TOO_LARGE'],
    [{ definition: 'echo', unknown: 1 }, 400, 'VALIDATION_FAILED'],
    [{ definition: 'echo', redactAfterMs: 3_600_001 }, 400, 'VALIDATION_FAILED'],
  ])('B6 rejects a start that is not possible: %j', async (body, status, code) => {
    expect(await start(body)).toMatchObject({ status, body: { code } });
  });

  it('B6 rejects a number that JSON allows but that cannot be stored', async () => {
    const body = '{"definition": "echo", "input": "Hello.", "data": {"list": [1e999]}}';
    const answer = await api.call<RunBody>('POST', '/v1/runs', { body });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'data.list.0' }] } });
  });

  it('B6 cancels a run once, and only for its owner or an operator', async () => {
    await api.database.db.query(
      `INSERT INTO run (id, namespace, root_id, state, waiting_for, target, agent_id, input, created_by)
       VALUES ('asks', 'default', 'asks', 'waiting', 'input', '{}', 'echo', '[]', 'key:other')`,
    );
    const caller = await api.issueKeyIn('default', 'caller');
    const cancel = async (id: string, key = api.adminKey): Promise<Answer<RunBody>> =>
      await api.call<RunBody>('POST', `/v1/runs/${id}/cancel`, { body: {}, key });
    expect(await cancel('asks', caller)).toMatchObject({ status: 404, body: { code: 'RUN_NOT_FOUND' } });
    const watcher = await api.issueKeyIn('default', 'caller', 'viewer');
    expect(await cancel('asks', watcher)).toMatchObject({ status: 403, body: { code: 'RUN_FOREIGN' } });
    expect(await cancel('asks')).toMatchObject({ status: 200, body: { state: 'cancelled' } });
    expect(await cancel('asks')).toMatchObject({ status: 200, body: { state: 'cancelled' } });
    expect(await cancel('absent')).toMatchObject({ status: 404, body: { code: 'RUN_NOT_FOUND' } });
    const { body: run } = await start({ definition: 'echo' });
    await get(`${run.id}?waitMs=20000`);
    expect(await cancel(run.id)).toMatchObject({ status: 409, body: { code: 'RUN_FINISHED', state: 'completed' } });
    await until('the cancellation is in the event log', async () => {
      const events = await api.call<{ items: { subject: string }[] }>('GET', '/v1/events?types=run.cancelled');
      return events.body.items.some(({ subject }) => subject === 'asks');
    });
    const audit = await api.call<{ items: { action: string }[] }>('GET', '/v1/audit');
    expect(audit.body.items.map(({ action }) => action)).toContain('run.cancelled');
  });

  it('B6 B8 a namespace with an unfinished run cannot be deleted', async () => {
    await api.call('POST', '/v1/namespaces', { body: { name: 'team-r' } });
    await api.database.db.query(
      `INSERT INTO run (id, namespace, root_id, state, waiting_for, target, agent_id, input, created_by)
       VALUES ('open', 'team-r', 'open', 'waiting', 'input', '{}', 'echo', '[]', 'key:other')`,
    );
    const problem = (await api.call('DELETE', '/v1/namespaces/team-r')).body;
    expect(problem).toMatchObject({ code: 'NAMESPACE_NOT_EMPTY', detail: expect.stringContaining('runs (1)') });
    await api.call('POST', '/v1/runs/open/cancel', { body: {}, headers: { 'rollcall-namespace': 'team-r' } });
    expect((await api.call('DELETE', '/v1/namespaces/team-r')).status).toBe(204);
  });

  it('B6 a failed run has the code of its error', async () => {
    const content = { description: 'Waits.', settings: { url: 'http://127.0.0.1:65534' }, provider: 'http' };
    await api.call('POST', '/v1/definitions', { body: { name: 'far', content } });
    const { body: run } = await start({ definition: 'far' });
    const { body } = await get(`${run.id}?waitMs=20000`);
    expect(body).toMatchObject({ state: 'failed', result: { error: { code: 'AGENT_UNREACHABLE' } } });
    const tree = await get(`${run.id}/tree`);
    expect(tree.body).toMatchObject({ subtree: { tokens: 0 } }); // nothing was sent
  });
});

describe('the metrics of runs', () => {
  const scrape = async (): Promise<string> => (await api.call<string>('GET', '/metrics')).body;
  const valueOf = async (series: string): Promise<number> =>
    Number(new RegExp(`^${RegExp.escape(series)} (\\S+)$`, 'm').exec(await scrape())?.[1]);

  it('B6 count unfinished and finished runs, tokens and cost by definition', async () => {
    const content = { description: 'Echoes.', instructions: 'Echo.' };
    await api.call('POST', '/v1/definitions', { body: { name: 'metered', content } });
    const { body: run } = await start({ definition: 'metered' });
    const { body } = await get(`${run.id}?waitMs=20000`);
    const usage = body['usage'] as { inputTokens: number; outputTokens: number; costMicroUsd: number };
    const labels = 'namespace="default",definition="metered"';
    await until('the end is counted', async () => {
      return (await valueOf(`rollcall_runs_finished_total{${labels},state="completed"}`)) === 1;
    });
    expect(await valueOf(`rollcall_run_tokens_total{${labels},direction="input"}`)).toBe(usage.inputTokens);
    expect(await valueOf(`rollcall_run_tokens_total{${labels},direction="output"}`)).toBe(usage.outputTokens);
    expect(await valueOf(`rollcall_run_cost_usd_total{${labels}}`)).toBe(usage.costMicroUsd / 1_000_000);
    expect(await valueOf(`rollcall_run_duration_seconds_count{${labels}}`)).toBe(1);
    expect(await valueOf('rollcall_run_queue_duration_seconds_count')).toBeGreaterThan(0);
    expect(await valueOf('rollcall_runs{state="waiting"}')).toBe(0);
    expect(await valueOf('rollcall_runs_oldest_queued_seconds')).toBe(0);
  });
});
