import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { registrationBody } from '../support/given.js';
import { callTool, mcpClient } from '../support/mcp-client.js';

const A2A = { 'a2a-version': '1.0' };

let api: TestApi;

beforeAll(async () => {
  api = await startApi({
    ROLLCALL_QUOTAS:
      'agents=3,reservations=3,webhooks=2,contracts=2,queuedRuns=2,queuedRunsOfNamespace=3,pushConfigs=3,definitions=3',
    ROLLCALL_RUNS_MAX: '0', // each run is queued
    ROLLCALL_SEALING_KEY: 'a'.repeat(32),
  });
});
afterAll(async () => await api.stop());

const register = async (key: string, agentId: string, more: object = {}): Promise<Answer> =>
  await api.call('POST', '/v1/agents', { body: registrationBody({ agentId, ...more }), key });
const reserve = async (key: string, reservation: string): Promise<Answer> =>
  await api.call('POST', '/v1/budgets/reservations', { body: { key: reservation, tokens: 1 }, key });
const statuses = (answers: readonly Answer[]): number[] =>
  answers.map(({ status }) => status).toSorted((one, other) => one - other);

describe('the quota of live agents', () => {
  it('A6 rejects a registration above the quota with the name of the setting', async () => {
    const key = await api.given.key('agent');
    for (const id of ['q-1', 'q-2', 'q-3']) expect((await register(key, id)).status).toBe(201);
    const refused = await register(key, 'q-4');
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'QUOTA_EXCEEDED', limit: 3, setting: 'quotas.agents (ROLLCALL_QUOTAS)' },
    });
    expect(refused.body['detail']).toContain('quotas.agents (ROLLCALL_QUOTAS)');
    expect((await api.call('GET', '/v1/agents/q-4')).status).toBe(404);
    expect((await register(await api.given.key('agent'), 'q-4')).status).toBe(201);
  });

  it('A6 counts an agent that registers again once, and no longer counts an agent that has left', async () => {
    const key = await api.given.key('agent');
    const first = await register(key, 'r-1');
    for (const id of ['r-2', 'r-3']) expect((await register(key, id)).status).toBe(201);
    expect((await register(key, 'r-1', { leaseToken: first.body['leaseToken'] })).status).toBe(201);
    await api.call('DELETE', '/v1/agents/r-2');
    expect((await register(key, 'r-4')).status).toBe(201);
    const back = await register(key, 'r-2');
    expect(back).toMatchObject({ status: 403, body: { code: 'QUOTA_EXCEEDED' } });
  });

  it('A6 the quota is exact for concurrent registrations', async () => {
    const key = await api.given.key('agent');
    const answers = await Promise.all(Array.from({ length: 12 }, async (_, n) => await register(key, `race-${n}`)));
    expect(statuses(answers)).toEqual([
      ...Array.from({ length: 3 }, () => 201),
      ...Array.from({ length: 9 }, () => 403),
    ]);
  });

  it('A6 the quota does not hide the 409 for a live agent of another owner', async () => {
    await register(await api.given.key('agent'), 'taken');
    expect(await register(await api.given.key('agent'), 'taken')).toMatchObject({ status: 409 });
  });
});

describe('the quota of held reservations', () => {
  it('A6 rejects a reservation above the quota until another one has ended', async () => {
    const key = await api.given.key('caller');
    for (const name of ['a', 'b', 'c']) expect((await reserve(key, name)).status).toBe(201);
    const refused = await reserve(key, 'd');
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'QUOTA_EXCEEDED', limit: 3, setting: 'quotas.reservations (ROLLCALL_QUOTAS)' },
    });
    expect((await reserve(key, 'b')).status).toBe(201); // a repeated request returns the existing reservation
    expect((await reserve(await api.given.key('caller'), 'd')).status).toBe(201);
    await api.call('POST', '/v1/budgets/reservations/a/release', { body: {}, key });
    expect((await reserve(key, 'd')).status).toBe(201);
  });

  it('A6 the quota applies to reservations that lock a budget', async () => {
    await api.given.budget();
    const key = await api.given.key('caller');
    const answers = await Promise.all(Array.from({ length: 9 }, async (_, n) => await reserve(key, `held-${n}`)));
    expect(statuses(answers).filter((status) => status === 201).length).toBeGreaterThanOrEqual(3);
    expect((await reserve(key, 'one-more')).status).toBe(403);
  });
});

describe('the quota of webhooks', () => {
  it('A6 rejects webhooks above the quota, even when they are created concurrently', async () => {
    const create = async (key: string): Promise<Answer> =>
      await api.call('POST', '/v1/webhooks', { body: { url: 'https://hooks.example.com/' }, key });
    const [key, other] = [await api.given.key('operator'), await api.given.key('operator')];
    const answers = await Promise.all(Array.from({ length: 6 }, async () => await create(key)));
    expect(statuses(answers)).toEqual([201, 201, 403, 403, 403, 403]);
    expect(answers.find(({ status }) => status === 403)?.body).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      limit: 2,
      setting: 'quotas.webhooks (ROLLCALL_QUOTAS)',
    });
    expect((await create(other)).status).toBe(201);
  });
});

describe('the quota of open contracts', () => {
  it('S3.9 A6 rejects contracts above the quota until another one has ended, even when they are announced concurrently', async () => {
    const [key, other] = [await api.given.key('caller'), await api.given.key('caller')];
    await api.given.agent({ agentId: 'bidder', capabilities: ['quota'] });
    const announce = async (by: string): Promise<Answer> =>
      await api.call('POST', '/v1/contracts', {
        key: by,
        body: { capabilities: ['quota'], task: 'Wait.', bidWithinMs: 600_000 },
      });
    const answers = await Promise.all(Array.from({ length: 5 }, async () => await announce(key)));
    expect(statuses(answers)).toEqual([201, 201, 403, 403, 403]);
    expect(answers.find(({ status }) => status === 403)?.body).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      limit: 2,
      setting: 'quotas.contracts (ROLLCALL_QUOTAS)',
    });
    expect((await announce(other)).status).toBe(201);
    const open = answers.find(({ status }) => status === 201);
    await api.call('POST', `/v1/contracts/${String(open?.body['id'])}/cancel`, { key, body: {} });
    expect((await announce(key)).status).toBe(201);
  });
});

describe('the quota of queued runs', () => {
  it('S-5 A6 a start above the quota of the credential or of the namespace gets 429 with Retry-After, until a run has left the queue', async () => {
    await api.call('POST', '/v1/definitions', { body: { name: 'echo', content: { description: 'Echoes.' } } });
    const [key, other] = [await api.given.key('caller'), await api.given.key('caller')];
    const start = async (by: string): Promise<Answer> =>
      await api.call('POST', '/v1/runs', { key: by, body: { definition: 'echo', input: 'Hello.' } });
    const first = await start(key);
    expect(first).toMatchObject({ status: 202, body: { state: 'queued' } });
    expect((await start(key)).status).toBe(202);
    const refused = await start(key);
    expect(refused).toMatchObject({
      status: 429,
      body: { code: 'RUN_QUEUE_FULL', limit: 2, setting: 'quotas.queuedRuns (ROLLCALL_QUOTAS)' },
    });
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(refused.body['detail']).toContain('This credential already has 2 queued runs, which is its quota.');
    expect((await start(other)).status).toBe(202);
    expect(await start(other)).toMatchObject({
      status: 429,
      body: { code: 'RUN_QUEUE_FULL', limit: 3, setting: 'quotas.queuedRunsOfNamespace (ROLLCALL_QUOTAS)' },
    });
    const { body } = await api.call<{ items: unknown[] }>('GET', '/v1/runs');
    expect(body.items).toHaveLength(3);
    await api.call('POST', `/v1/runs/${String(first.body['id'])}/cancel`, { key, body: {} });
    expect((await start(other)).status).toBe(202);
  });
});

describe('the quota of push configurations', () => {
  it('S-13 rejects configurations above the quota of the credential, on all its tasks, even when they are created concurrently', async () => {
    const keys = [await api.given.key('caller'), await api.given.key('caller')];
    const taskOf = async (key: string): Promise<string> => {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Hello.' }] };
      const body = { message, configuration: { returnImmediately: true } };
      const sent = await api.call<{ task: { id: string } }>('POST', '/a2a/agents/echo/message:send', {
        key,
        body,
        headers: A2A,
      });
      return sent.body.task.id;
    };
    const create = async (key: string, task: string): Promise<Answer> => {
      const body = { url: 'https://hooks.example.com/' };
      return await api.call('POST', `/a2a/tasks/${task}/pushNotificationConfigs`, { key, body, headers: A2A });
    };
    const [one = '', other = ''] = keys;
    await api.database.db.query("UPDATE run SET state = 'cancelled', finished_at = clock_timestamp()"); // empties the queue
    const tasks = [await taskOf(one), await taskOf(one)];
    const answers = await Promise.all(Array.from({ length: 8 }, async (_, n) => await create(one, tasks[n % 2] ?? '')));
    expect(statuses(answers)).toEqual([201, 201, 201, 403, 403, 403, 403, 403]);
    const refused = answers.find(({ status }) => status === 403);
    expect(JSON.stringify(refused?.body)).toContain('QUOTA_EXCEEDED');
    expect((await create(other, await taskOf(other))).status).toBe(201);
  });
});

describe('the quota of definitions', () => {
  it('S-13 rejects revisions above the quota of the namespace, and another namespace still registers', async () => {
    const put = async (description: string): Promise<Answer> =>
      await api.call('PUT', '/v1/definitions/echo', { body: { content: { description } } });
    expect([(await put('Two.')).status, (await put('Three.')).status]).toEqual([200, 200]);
    const refused = await put('Four.');
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'QUOTA_EXCEEDED', limit: 3, setting: 'quotas.definitions (ROLLCALL_QUOTAS)' },
    });
    expect(refused.body['detail']).toContain('This namespace already has 3 revisions of definitions');
    expect((await put('Three.')).status).toBe(200); // an unchanged definition needs no revision
    expect(
      await api.call('POST', '/v1/definitions', { body: { name: 'b', content: { description: 'B.' } } }),
    ).toMatchObject({ status: 403 });
    await api.call('POST', '/v1/namespaces', { body: { name: 'team-q' } });
    const elsewhere = {
      body: { name: 'b', content: { description: 'B.' } },
      headers: { 'rollcall-namespace': 'team-q' },
    };
    expect(await api.call('POST', '/v1/definitions', elsewhere)).toMatchObject({ status: 201 });
  });
});

describe('the quota of kilobytes in a minute', () => {
  const TEXT = 'x'.repeat(15_000);
  type Door = (
    on: TestApi,
    key: string,
    n: number,
  ) => Promise<{ isRefused: boolean; problem: unknown; retryAfter?: string | null }>;
  const rest =
    (path: string, bodyOf: (n: number) => object): Door =>
    async (on, key, n) => {
      const { status, body, headers } = await on.call('POST', path, { key, body: bodyOf(n) });
      return { isRefused: status === 429, problem: body, retryAfter: headers.get('retry-after') };
    };
  const doors: Record<string, Door> = {
    'a run over REST': rest('/v1/runs', () => ({ definition: 'echo', input: TEXT })),
    'a budget of a run': rest('/v1/budgets/runs', (n) => ({ runId: `quota-${n}` })),
    'a contract': rest('/v1/contracts', () => ({ capabilities: ['nobody'], task: TEXT })),
    'a query with contract-net': rest('/v1/agents/query', () => ({
      capabilities: ['nobody'],
      prefer: 'contract-net',
      task: TEXT,
      waitMs: 1_000,
    })),
    'a registration': rest('/v1/agents', (n) => registrationBody({ agentId: `kb-${n}`, agentCard: { text: TEXT } })),
    'a batch of registrations': rest('/v1/agents/batch', (n) => ({
      agents: [registrationBody({ agentId: `kb-${n}`, agentCard: { text: TEXT } })],
    })),
    'a registration over A2A': async (on, key, n) => {
      const input = registrationBody({ agentId: `kb-${n}`, agentCard: { text: TEXT } });
      const message = {
        messageId: crypto.randomUUID(),
        role: 'ROLE_USER',
        parts: [{ data: { skill: 'register', input } }],
      };
      const answer = await on.call('POST', '/a2a/message:send', { key, body: { message }, headers: A2A });
      return { isRefused: answer.status === 429, problem: answer.body };
    },
    'responses that are kept for an Idempotency-Key': async (on, key, n) => {
      const agentId = `kept-${key.slice(-8).toLowerCase()}`;
      const isFirst = n === 0 || n === 1_000;
      if (isFirst) await register(key, agentId, { agentCard: { text: TEXT } });
      const answer = await on.call('PATCH', `/v1/agents/${agentId}`, {
        key,
        body: { generation: 1, version: `1.${n}` },
        headers: { 'idempotency-key': crypto.randomUUID() },
      });
      return {
        isRefused: answer.status === 429,
        problem: answer.body,
        retryAfter: answer.headers.get('retry-after'),
      };
    },
    'a run over A2A': async (on, key) => {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: TEXT }] };
      const body = { message, configuration: { returnImmediately: true } };
      const answer = await on.call('POST', '/a2a/agents/echo/message:send', { key, body, headers: A2A });
      return { isRefused: answer.status === 429, problem: answer.body };
    },
    'a run over MCP': async (on, key) => {
      const client = await mcpClient(`${on.url}/mcp`, key);
      const { facts, isError } = await callTool(client, 'run_agent', { agent: 'echo', input: TEXT, waitMs: 0 });
      await client.close();
      return { isRefused: isError, problem: facts };
    },
  };

  const keyForDoors = async (): Promise<string> => await api.given.key('caller', 'agent');

  let replica: TestApi;
  beforeAll(async () => {
    const quotas = 'kilobytesPerMinute=64,kilobytesPerMinuteOfNamespace=0,queuedRuns=0,queuedRunsOfNamespace=0';
    replica = await api.replica({ ROLLCALL_QUOTAS: quotas, ROLLCALL_RUNS_MAX: '0' });
  });
  afterAll(async () => await replica.stop());

  it.each(Object.entries(doors))(
    'S-13 limits what a credential stores with %s, and another credential still stores',
    async (_door, send) => {
      const [key, other] = [await keyForDoors(), await keyForDoors()];
      for (let n = 0; n < 100; n += 1) {
        const answer = await send(replica, key, n);
        if (!answer.isRefused) continue;
        expect(n).toBeGreaterThan(2);
        expect(JSON.stringify(answer.problem)).toContain('RATE_LIMITED');
        expect(JSON.stringify(answer.problem)).toContain('has stored 64 kilobytes in the last minute');
        if ('retryAfter' in answer) expect(Number(answer.retryAfter)).toBeGreaterThan(0);
        expect((await send(replica, other, 1_000)).isRefused).toBe(false);
        return;
      }
      throw new Error('the quota was never reached');
    },
  );

  it('S-13 does not count repetitions and failed requests, and a repetition is answered above the quota', async () => {
    const key = await keyForDoors();
    const send = async (messageId: string, agent = 'echo'): Promise<Answer> => {
      const message = { messageId, role: 'ROLE_USER', parts: [{ text: TEXT }] };
      const body = { message, configuration: { returnImmediately: true } };
      return await replica.call('POST', `/a2a/agents/${agent}/message:send`, { key, body, headers: A2A });
    };
    const first = await send('first');
    const taskOf = ({ body }: Answer): unknown => (body['task'] as { id?: string } | undefined)?.id;
    for (let n = 0; n < 10; n += 1)
      expect([(await send('first')).status, taskOf(await send('first'))]).toEqual([200, taskOf(first)]);
    const failing = { key, body: { definition: 'missing', input: TEXT } };
    for (let n = 0; n < 10; n += 1) expect((await replica.call('POST', '/v1/runs', failing)).status).toBe(404);
    let n = 0;
    while ((await send(`next-${n}`)).status === 200) n += 1;
    expect(n).toBeGreaterThan(1);
    expect(taskOf(await send('first'))).toBe(taskOf(first));
  });

  it('S-13 what others of a namespace store does not stop its operators', async () => {
    const small = await api.replica({ ROLLCALL_QUOTAS: 'kilobytesPerMinuteOfNamespace=20' });
    try {
      const [key, operator] = [await keyForDoors(), await api.given.key('operator')];
      const agent = registrationBody({ agentId: 'noisy', agentCard: { text: 'x'.repeat(60_000) } });
      const register60 = { key, body: agent };
      expect((await small.call('POST', '/v1/agents', register60)).status).toBe(201);
      expect((await small.call('POST', '/v1/agents', register60)).status).toBe(429);
      const drain = { key: operator, body: {}, headers: { 'idempotency-key': 'drain-1' } };
      expect((await small.call('POST', '/v1/agents/noisy/drain', drain)).status).toBe(200);
    } finally {
      await small.stop();
    }
  });
});
