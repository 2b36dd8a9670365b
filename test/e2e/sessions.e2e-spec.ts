import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { appendEvents, joined, left } from '../support/events.js';
import { openSocket, refusal } from '../support/socket-client.js';

interface Session {
  id: string;
  token: string;
  roles: string[];
  expiresAt: string;
}
interface Key {
  id: string;
  key: string;
}
interface Listed {
  items: { agentId: string; sequence: string; type: string }[];
  next: string;
}

const HOURS = 3_600_000;

let api: TestApi;
/** Another replica on the same database. */
let other: TestApi;
beforeAll(async () => {
  api = await startApi({
    ROLLCALL_MODELS: JSON.stringify({
      default: 'priced',
      presets: { priced: { vendor: 'scripted', model: 'echo', usdPerMillionTokens: { input: 3, output: 15 } } },
    }),
  });
  other = await api.replica();
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

const issue = async (...roles: string[]): Promise<Key> =>
  (await api.call<Key & Record<string, unknown>>('POST', '/v1/keys', { body: { name: 'console', roles } })).body;
const open = async (key: string, body: object = {}): Promise<Answer<Session>> =>
  await api.call<Session>('POST', '/v1/sessions', { key, body });
const exchange = async (ticket: string, on = api): Promise<Answer<Session>> =>
  await on.call<Session>('POST', '/v1/sessions/tickets/exchange', { key: null, body: { ticket } });
const statusOf = async (key: string, on = api): Promise<number> => (await on.call('GET', '/v1/me', { key })).status;

/** A WebSocket of events that was opened with a ticket of this credential. */
async function eventSocket(key: string): Promise<{ readonly isClosed: boolean }> {
  const { body } = await other.call('POST', '/v1/events/tickets', { key });
  const socket = openSocket(other.url, '/v1/events/ws', { ticket: String(body['ticket']) });
  const state = { isClosed: false, isOpen: false };
  socket.on('open', () => (state.isOpen = true));
  socket.on('close', () => (state.isClosed = true));
  await until('the socket is open', () => state.isOpen);
  return state;
}

describe('sessions', () => {
  it('B1 an API key is exchanged for a session of the same principal for at most 8 hours, on every replica', async () => {
    const { id, key } = await issue('operator', 'caller');
    const { status, body } = await open(key, { roles: ['caller'] });
    expect(status).toBe(201);
    const lifeMs = new Date(body.expiresAt).getTime() - Date.now();
    expect([lifeMs > 7.9 * HOURS, lifeMs <= 8 * HOURS]).toEqual([true, true]);
    const me = await other.call('GET', '/v1/me', { key: body.token });
    expect(me.body).toMatchObject({ id: `key:${id}`, kind: 'key', roles: ['caller'], expiresAt: body.expiresAt });
    expect((await open(key)).body.roles).toEqual(['operator', 'caller']);
    const audited = await api.call<{ items: Record<string, unknown>[] }>(
      'GET',
      '/v1/audit?action=session.opened&limit=1',
    );
    expect(audited.body.items).toMatchObject([{ action: 'session.opened', actorId: `key:${id}` }]);
  });

  it('S-9 a session permits no more than its key, and opens no further session', async () => {
    const { key } = await issue('viewer');
    expect(await open(key, { roles: ['operator'] })).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED' },
    });
    const lower = await open((await issue('admin')).key, { roles: ['viewer'] });
    expect(await api.call('GET', '/v1/me', { key: lower.body.token })).toMatchObject({ body: { roles: ['viewer'] } });
    const { token } = (await open(key)).body;
    expect(await open(token)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    const ticket = await api.call('POST', '/v1/sessions/tickets', { key: token });
    expect(ticket).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  });

  it('B1 a session that is signed out is rejected at once on its replica, within 2 s on others, and its sockets are closed', async () => {
    const { key } = await issue('viewer');
    const { token } = (await open(key)).body;
    const socket = await eventSocket(token);
    expect(await statusOf(token, other)).toBe(200);
    expect((await api.call('DELETE', '/v1/sessions/current', { key: token })).status).toBe(204);
    expect(await statusOf(token)).toBe(401);
    await until('the other replica rejects the session', async () => (await statusOf(token, other)) === 401);
    await until('the socket is closed', () => socket.isClosed);
    expect(await statusOf(key)).toBe(200);
    expect((await api.call('DELETE', '/v1/sessions/current', { key })).status).toBe(403);
  });

  it('B1 a session ends with its key: within 2 s on every replica, with its sockets', async () => {
    const { id, key } = await issue('viewer');
    const { token } = (await open(key)).body;
    const socket = await eventSocket(token);
    await api.call('DELETE', `/v1/keys/${id}`);
    expect(await statusOf(token)).toBe(401);
    await until('the other replica rejects the session', async () => (await statusOf(token, other)) === 401);
    await until('the socket is closed', () => socket.isClosed);
  });

  it('B1 a session is rejected after its time, and its event tickets with it', async () => {
    const { key } = await issue('viewer');
    const { token } = (await open(key)).body;
    const { body } = await api.call('POST', '/v1/events/tickets', { key: token });
    await api.database.db.query(`UPDATE session SET expires_at = clock_timestamp() - interval '1 second'
      WHERE expires_at > clock_timestamp() + interval '7 hours'`);
    expect(await refusal(api.url, '/v1/events/ws', { ticket: String(body['ticket']) })).toMatchObject({ status: 401 });
    await until('the session is rejected', async () => (await statusOf(token)) === 401);
  });

  it('S-13 a key has at most 100 sessions: another one ends the oldest', async () => {
    const { id, key } = await issue('viewer');
    const first = (await open(key)).body.token;
    for (let count = 0; count < 100; count += 1) await open(key);
    const rows = await api.database.db.query('SELECT 1 FROM session WHERE key_id = $1', [id]);
    expect(rows).toHaveLength(100);
    expect(await statusOf(first)).toBe(401);
  });
});

describe('tickets for sessions', () => {
  const ticketOf = async (key: string): Promise<string> =>
    String((await api.call('POST', '/v1/sessions/tickets', { key, body: {} })).body['ticket']);

  it('B1 a ticket opens one session, once, on any replica', async () => {
    const { id, key } = await issue('operator');
    const ticket = await ticketOf(key);
    const answers = await Promise.all([exchange(ticket), exchange(ticket, other), exchange(ticket)]);
    expect(answers.map(({ status }) => status).toSorted((one, two) => one - two)).toEqual([201, 401, 401]);
    const { token } = answers.find(({ status }) => status === 201)?.body ?? { token: '' };
    const { body } = await other.call('GET', '/v1/me', { key: token });
    expect(body).toMatchObject({ id: `key:${id}`, roles: ['operator'] });
  });

  it('B1 a ticket is rejected after 60 s, and after its key was revoked', async () => {
    const { id, key } = await issue('operator');
    const [late, revoked] = [await ticketOf(key), await ticketOf(key)];
    const lives = await api.database.db.query<{ s: number }>(
      'SELECT extract(epoch FROM max(expires_at) - clock_timestamp())::float8 AS s FROM session_ticket',
    );
    expect(lives[0]?.s).toBeLessThanOrEqual(60);
    await api.call('DELETE', `/v1/keys/${id}`);
    expect(await exchange(revoked)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    await api.database.db.query(`UPDATE session_ticket SET expires_at = clock_timestamp()`);
    expect((await exchange(late)).status).toBe(401);
  });
});

describe('what a console reads', () => {
  it('B1 agents are found by a part of their agentId or name, by ids, and by the phase of their circuit', async () => {
    await api.given.namespace('search');
    const headers = { 'rollcall-namespace': 'search' };
    const key = await api.given.keyIn('search', 'admin');
    await api.given.agent({ agentId: 'Builder-01', name: 'one' }, key);
    await api.given.agent({ agentId: 'other', name: 'A builder' }, key);
    await api.given.agent({ agentId: 'tester_9', name: 'search' }, key);
    for (let failures = 0; failures < 5; failures += 1)
      await api.call('POST', '/v1/agents/other/outcomes', { headers, body: { ok: false } });
    const found = async (query: string): Promise<string[]> =>
      (await api.call<Listed>('GET', `/v1/agents?${query}`, { headers })).body.items.map(({ agentId }) => agentId);
    expect(await found('q=BUILD')).toEqual(['Builder-01', 'other']);
    expect(await found('q=search')).toEqual(['tester_9']); // the namespace is no part of the agentId
    expect(await found('q=%25')).toEqual([]);
    expect(await found('ids=other,tester_9,unknown')).toEqual(['other', 'tester_9']);
    expect(await found('circuit=open')).toEqual(['other']);
    expect(await found('circuit=closed&q=one')).toEqual(['Builder-01']);
    const many = Array.from({ length: 201 }, (_, index) => `a${index}`).join();
    expect((await api.call('GET', `/v1/agents?ids=${many}`)).status).toBe(400);
  });

  it('B3 events are read backwards in pages, with filters, up to the beginning of the log', async () => {
    const read = async (query: string): Promise<Listed> =>
      (await api.call<Listed>('GET', `/v1/events?before=${query}`, { headers: { 'rollcall-namespace': '*' } })).body;
    await appendEvents(api, joined('back-1'), left('back-1'), joined('back-2'));
    await until('the events are in the log', async () => (await read('latest&agentIds=back-2')).items.length === 1);
    const all: number[] = [];
    for (let before = 'latest', pages = 0; !before.startsWith('0-') && pages < 200; pages += 1) {
      const { items, next } = await read(`${before}&limit=7`);
      all.push(...items.map(({ sequence }) => Number(sequence)));
      before = next;
    }
    expect(all).toEqual(Array.from({ length: all.length }, (_, index) => all.length - index));
    const filtered = await read('latest&types=agent.*&agentIds=back-1');
    expect(filtered.items.map(({ type }) => type)).toEqual(['dev.rollcall.agent.left', 'dev.rollcall.agent.joined']);
    expect((await api.call('GET', '/v1/events?before=latest&after=oldest&waitMs=5')).status).toBe(400);
    expect((await read('5-00000000')) as unknown).toMatchObject({ code: 'CURSOR_FOREIGN' });
  });

  it('B7 the summary counts agents, circuits, budgets and runs of one namespace by state', async () => {
    await api.given.namespace('counted');
    const headers = { 'rollcall-namespace': 'counted' };
    const key = await api.given.keyIn('counted', 'admin');
    for (const agentId of ['c-1', 'c-2', 'c-3']) await api.given.agent({ agentId }, key);
    await api.given.agent({ agentId: 'c-4', budget: { totalTokens: 10, usedTokens: 10 } }, key);
    await api.call('POST', '/v1/agents/c-1/drain', { headers, body: {} });
    for (let failures = 0; failures < 5; failures += 1)
      await api.call('POST', '/v1/agents/c-2/outcomes', { headers, body: { ok: false } });
    await api.given.budget(
      { kind: 'caller', subject: 'key:x', limit: { tokens: 100 }, low: { tokens: 200 } },
      'counted',
    );
    await api.call('POST', '/v1/definitions', {
      headers,
      body: { name: 'echo', content: { description: 'Answers.' } },
    });
    const run = await api.call('POST', '/v1/runs?waitMs=20000', {
      headers,
      body: { definition: 'echo', input: 'Hi.' },
    });
    expect(run.body).toMatchObject({ state: 'completed' });
    const summary = async (credential?: string): Promise<Record<string, unknown>> =>
      (await api.call('GET', '/v1/registry/summary', { key: credential, headers: credential ? {} : headers })).body;
    await until('the directory has the agents', async () => {
      const { agents, circuits } = (await summary()) as Record<string, Record<string, number>>;
      return agents?.['total'] === 4 && agents['draining'] === 1 && circuits?.['open'] === 1;
    });
    expect(await summary()).toMatchObject({
      agents: { total: 4, active: 3, suspect: 0, draining: 1, quarantined: 0, lowBudget: 1 },
      circuits: { closed: 3, open: 1, half_open: 0 },
      budgets: { low: 1, exhausted: 1 },
      runs: { queued: 0, running: 0, waiting: 0, completed: 1, notCompleted: 0 },
      replicas: 2,
    });
    expect(await summary(await api.given.keyIn('counted', 'caller'))).toMatchObject({ runs: { completed: 0 } });
    expect(await summary(await api.given.keyIn('counted', 'agent'))).toMatchObject({ runs: null });
  });

  it('B7 usage over time by agent, definition, caller and model counts each charge once', async () => {
    await api.given.namespace('spent');
    const headers = { 'rollcall-namespace': 'spent' };
    const admin = await api.given.keyIn('spent', 'admin');
    const caller = await api.given.keyIn('spent', 'caller');
    await api.call('POST', '/v1/definitions', {
      headers,
      body: { name: 'echo', content: { description: 'Answers.' } },
    });
    const run = { definition: 'echo', input: 'Hello there.' };
    const { body } = await api.call<{ usage: Record<'inputTokens' | 'outputTokens' | 'costMicroUsd', number> }>(
      'POST',
      '/v1/runs?waitMs=20000',
      { key: caller, body: run },
    );
    await api.given.agent({ agentId: 'priced' }, admin);
    await api.given.budget({ kind: 'agent', subject: 'priced', window: 'daily', limit: { tokens: 9_000 } }, 'spent');
    const reservation = { key: 'call-1', agentId: 'priced', tokens: 500, microUsd: 90 };
    await api.call('POST', '/v1/budgets/reservations', { key: caller, body: reservation });
    await api.call('POST', '/v1/budgets/reservations/call-1/settle', {
      key: caller,
      body: { tokens: 400, microUsd: 80 },
    });
    const usage = async (query: string): Promise<{ total: object; series: Record<string, unknown>[] }> =>
      (await api.call<{ total: object; series: Record<string, unknown>[] }>('GET', `/v1/usage?${query}`, { headers }))
        .body;
    const spent = (await usage('by=definition')).series[0];
    const [tokens, microUsd] = [Number(spent?.['tokens']), Number(spent?.['microUsd'])];
    expect([tokens > 0, microUsd > 0]).toEqual([true, true]);
    expect(tokens).toBe(body.usage.inputTokens + body.usage.outputTokens);
    expect(microUsd).toBe(body.usage.costMicroUsd);
    expect(await usage('by=definition')).toMatchObject({ total: { tokens, microUsd }, series: [{ key: 'echo' }] });
    expect(await usage('by=model')).toMatchObject({ total: { tokens, microUsd }, series: [{ tokens, microUsd }] });
    const both = { tokens: tokens + 400, microUsd: microUsd + 80 };
    const byAgent = await usage('by=agent&step=1m');
    expect(byAgent).toMatchObject({ total: both });
    expect(byAgent.series.map(({ key }) => String(key)).toSorted()).toEqual(['echo', 'priced']);
    expect(byAgent.series.every(({ points }) => (points as object[]).length === 1)).toBe(true);
    expect(await usage('by=caller')).toMatchObject({
      total: both,
      series: [{ key: `key:${caller.split('_')[1]}`, ...both }],
    });
    expect(await usage('by=agent&to=2026-01-02T00:00:00Z&from=2026-01-01T00:00:00Z')).toMatchObject({ series: [] });
    for (const bad of ['by=colour', 'by=agent&step=1m&from=2020-01-01T00:00:00Z', 'by=agent&from=2100-01-01T00:00:00Z'])
      expect((await api.call('GET', `/v1/usage?${bad}`, { headers })).status).toBe(400);
  });
});
