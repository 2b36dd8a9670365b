import { type CloudEvent, EventFeed } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { StreamConnections } from '../../apps/api/src/streams/stream.connections.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { joined, left, many, seqOf, appendEvents, upTo } from '../support/events.js';

interface Page {
  items: CloudEvent[];
  next: string;
  head: string;
}

/** Shorter than the default, because two tests must wait until it has passed. */
const HANDLER_TIMEOUT_MS = 3_000;
const SETTINGS = { ROLLCALL_DATABASE_TIMEOUT: '2500ms' };
const CONSTANTS = { http: { handlerTimeout: HANDLER_TIMEOUT_MS } };

let api: TestApi;
beforeEach(async () => {
  api = await startApi(SETTINGS, { constants: CONSTANTS });
});
afterEach(async () => await api.stop());

/** Reads a page. Its cursors are reduced to their sequence numbers. */
const page = async (query = ''): Promise<Answer<Page>> => {
  const { body, ...answer } = await api.call<Page>('GET', `/v1/events${query}`);
  if (answer.status !== 200) return { ...answer, body };
  return { ...answer, body: { ...body, next: seqOf(body.next), head: seqOf(body.head) } };
};
const seqs = ({ body }: Answer<Page>): number[] => body.items.map(({ sequence }) => Number(sequence));
const untilLogged = async (head: number): Promise<void> =>
  await until(`event ${head} is logged`, async () => (await page('?after=latest')).body.head === String(head));

describe('GET /v1/events', () => {
  it('B3 returns CloudEvents in order, with the cursor of the next page', async () => {
    await appendEvents(api, joined('a-1', ['code', 'review']), left('a-1'));
    await untilLogged(2);
    const first = await page('?limit=1');
    expect(first).toMatchObject({ status: 200, body: { next: '1', head: '2' } });
    expect(first.body.items).toEqual([
      {
        specversion: '1.0',
        id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        source: 'urn:rollcall:registry',
        type: 'dev.rollcall.agent.joined',
        subject: 'a-1',
        namespace: 'default',
        time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        datacontenttype: 'application/json',
        sequence: '000000000000001',
        capabilities: 'code,review',
        data: { generation: 1, name: 'a-1', capabilities: ['code', 'review'] },
      },
    ]);
    const second = await page(`?after=${first.body.next}`);
    expect(second.body).toMatchObject({
      items: [{ type: 'dev.rollcall.agent.left', subject: 'a-1' }],
      next: '2',
      head: '2',
    });
    expect(await page('?after=2')).toMatchObject({ body: { items: [], next: '2', head: '2' } });
  });

  it('P-7 types have a reverse-DNS prefix that filters may omit, and texts of sequences have the order of the log', async () => {
    await appendEvents(api, ...many(11), left('a-1'));
    await untilLogged(12);
    const { items } = (await page('')).body;
    const sequences = items.map(({ sequence }) => sequence);
    expect(sequences.toSorted()).toEqual(sequences);
    expect(sequences.at(-1)).toBe('000000000000012');
    expect(new Set(items.map(({ type }) => type))).toEqual(
      new Set(['dev.rollcall.agent.joined', 'dev.rollcall.agent.left']),
    );
    for (const types of ['agent.left', 'dev.rollcall.agent.left'])
      expect(seqs(await page(`?types=${types}`))).toEqual([12]);
    expect(seqs(await page('?types=dev.rollcall.agent.*&after=000000000000010'))).toEqual([11, 12]);
    expect((await page('?types=dev.rollcall.agent.exploded')).status).toBe(400);
  });

  it('filters by type, family, agent and capability, and returns a cursor after events that do not match', async () => {
    await appendEvents(api, joined('a-1', ['code']), joined('a-2', ['draw']), left('a-1'), {
      type: 'budget.low',
      subject: '7',
      data: { kind: 'agent', of: 'a-2', agentId: 'a-2', window: 'total', unit: 'tokens', limit: 9, remaining: 1 },
    });
    await untilLogged(4);
    expect(seqs(await page('?types=agent.left'))).toEqual([3]);
    expect(seqs(await page('?types=agent.*'))).toEqual([1, 2, 3]);
    expect(seqs(await page('?agentIds=a-2'))).toEqual([2, 4]);
    expect(seqs(await page('?capabilities=draw,paint'))).toEqual([2]);
    expect(seqs(await page('?types=budget.*,agent.joined&agentIds=a-2'))).toEqual([2, 4]);
    expect((await page('?types=circuit.*')).body).toEqual({ items: [], next: '4', head: '4' });
  });

  it('rejects an unknown type and lists the known ones', async () => {
    const answer = await page('?types=agent.exploded');
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(JSON.stringify(answer.body)).toContain('agent.joined, agent.left');
  });

  it('waits for the next event with waitMs, even longer than the handler timeout', async () => {
    await appendEvents(api, joined('a-1'));
    await untilLogged(1);
    const started = performance.now();
    const waiting = page('?after=1&waitMs=20000&types=agent.left');
    await until('the handler timeout has passed', () => performance.now() - started > HANDLER_TIMEOUT_MS + 800);
    await appendEvents(api, joined('a-2'), left('a-1'), left('a-2'));
    const answer = await waiting;
    expect([seqs(answer), answer.body.next]).toEqual([[3, 4], '4']);
    expect((await page('?after=4&waitMs=50')).body).toEqual({ items: [], next: '4', head: '4' });
  });

  it('B3 rejects an expired cursor with the path of the snapshot', async () => {
    await appendEvents(api, ...many(20));
    await untilLogged(20);
    await api.database.db.query('DELETE FROM event_log WHERE seq <= 15');
    expect(await page('?after=3')).toMatchObject({
      status: 410,
      body: { code: 'CURSOR_EXPIRED', oldest: '15', snapshot: '/v1/events/snapshot' },
    });
    expect(seqs(await page())).toEqual(upTo(20, 16));
    expect(await page('?after=21')).toMatchObject({ status: 400, body: { code: 'CURSOR_AHEAD', head: '20' } });
    expect(await page('?after=x')).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it('A8 each page searches a limited number of events, and the cursor advances even if the filter matches nothing', async () => {
    await api.database.db.query(`WITH logged AS (
        INSERT INTO event_log (seq, id, type, subject, capabilities, data, at)
        SELECT n, gen_random_uuid(), 'agent.resumed', 'a-' || n, '{}', '{"by": "test"}', clock_timestamp()
        FROM generate_series(1, 5000) AS n)
      UPDATE event_counter SET head = 5000 WHERE id = 1`);
    const steps: string[] = [];
    for (let after = '0'; after !== '5000'; steps.push(after)) {
      const { body } = await page(`?after=${after}&types=agent.left&limit=1000`);
      expect([body.items, body.head]).toEqual([[], '5000']);
      after = body.next;
    }
    expect(steps).toEqual(['2000', '4000', '5000']);
  });

  it('requires the permission to read events', async () => {
    expect((await api.call('GET', '/v1/events', { key: await api.given.key('viewer') })).status).toBe(200);
    expect((await api.call('GET', '/v1/events', { key: await api.given.key('operator') })).status).toBe(200);
    expect(await api.call('GET', '/v1/events', { key: await api.given.key('agent') })).toMatchObject({ status: 403 });
  });

  it('returns the same log on all replicas', async () => {
    const other = await api.replica();
    for (let index = 0; index < 10; index++) await appendEvents(index % 2 ? api : other, joined(`a-${index}`));
    await untilLogged(10);
    expect((await other.call<Page>('GET', '/v1/events')).body.items).toEqual((await page()).body.items);
    await other.stop();
  });
});

/** Reads server-sent events as text. */
async function openStream(query = '', headers: Record<string, string> = {}, key = api.adminKey) {
  const abort = new AbortController();
  const response = await fetch(`${api.url}/v1/events/stream${query}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: abort.signal,
  });
  const stream = { response, text: '', ended: false, close: () => abort.abort() };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) stream.text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  void read()
    .catch(() => undefined) // `close` aborts the request, which causes this error
    .finally(() => (stream.ended = true));
  return stream;
}

const idsIn = (text: string): number[] => [...text.matchAll(/^id: (\d+)-[0-9a-f]{8}$/gm)].map(([, id]) => Number(id));

describe('GET /v1/events/stream', () => {
  it('B3 continues after Last-Event-ID without a gap or a duplicate', async () => {
    await appendEvents(api, ...many(300));
    await untilLogged(300);
    const stream = await openStream('?after=oldest', { 'last-event-id': '100' });
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    await appendEvents(api, joined('live'));
    await until('all events are received', () => idsIn(stream.text).length === 201);
    expect(idsIn(stream.text)).toEqual(upTo(301, 101));
    expect(stream.text).toContain('event: agent.joined\ndata: {"specversion":"1.0"');
    stream.close();
  });

  it('starts with new events, sends heartbeats and its position, and stays open longer than the handler timeout', async () => {
    await appendEvents(api, ...many(5));
    await untilLogged(5);
    const started = performance.now();
    const stream = await openStream('?types=agent.left');
    await until('the handler timeout has passed', () => performance.now() - started > HANDLER_TIMEOUT_MS + 800);
    await appendEvents(api, joined('a-1'));
    await untilLogged(6);
    await until('the feed has read the event', () => api.app.nest.get(EventFeed, { strict: false }).position === 6);
    api.app.nest.get(StreamConnections, { strict: false }).beat();
    await until('a heartbeat is received', () => stream.text.includes(': heartbeat'));
    await until('the position is received', () => idsIn(stream.text).includes(6));
    await appendEvents(api, left('a-1'));
    await until('the event is received', () => stream.text.includes('event: agent.left'));
    expect([idsIn(stream.text), stream.ended]).toEqual([[6, 7], false]);
    stream.close();
  });

  it('rejects an invalid cursor and a cursor beyond the head', async () => {
    const { status } = (await openStream('?after=7')).response;
    expect(status).toBe(400);
    for (const id of ['abc', '-1', '12345678901234567'])
      expect((await openStream('?after=oldest', { 'last-event-id': id })).response.status).toBe(400);
  });

  it('a stream ends when the credential is revoked and when the replica stops', async () => {
    const key = await api.given.key('viewer');
    const id = (await api.call<{ id: string }>('GET', '/v1/me', { key })).body.id.slice(4);
    const [revoked, other] = [await openStream('', {}, key), await openStream()];
    await api.call('DELETE', `/v1/keys/${id}`);
    await until('the stream of the revoked key ends', () => revoked.ended);
    expect([revoked.text.includes('CREDENTIAL_ENDED'), other.ended]).toEqual([true, false]);
    const waiting = page('?after=latest&waitMs=50000');
    await until('one stream is open', () => api.app.nest.get(StreamConnections, { strict: false }).count === 1);
    const replica = api;
    api = await startApi();
    await replica.stop();
    await until('the other stream ends', () => other.ended);
    expect(other.text).toMatch(/"code":"SHUTTING_DOWN","after":"0-[0-9a-f]{8}"/);
    expect((await waiting).status).toBe(200);
  });
});
