import { once } from 'node:events';
import { Database } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { StreamConnections } from '../../apps/api/src/streams/stream.connections.js';
import { startApi, type TestApi } from '../support/api.js';
import { EventClient } from '../support/event-client.js';
import { refusal } from '../support/socket-client.js';
import { appendEvents, joined, left, many, seqOf, upTo } from '../support/events.js';

let api: TestApi;
beforeEach(async () => {
  api = await startApi({}, { constants: { events: { buffer: 64 << 10, slowAfter: 2_000 } } });
});
afterEach(async () => await api.stop());

const connect = async (at: TestApi = api, key = at.adminKey): Promise<EventClient> =>
  await EventClient.connect(at.url, { key });

const ticketFrom = async (key = api.adminKey): Promise<string> =>
  (await api.call<{ ticket: string }>('POST', '/v1/events/tickets', { key })).body.ticket;

describe('the WebSocket of events', () => {
  it('S3.2 S3.3 sends an event for each agent that joins or leaves', async () => {
    const client = await (await connect()).subscribe({ after: 'oldest' });
    await appendEvents(api, joined('a-1', ['code']));
    await appendEvents(api, left('a-1'));
    await until('both events are received', () => client.events.length === 2);
    expect(client.events).toMatchObject([
      {
        specversion: '1.0',
        type: 'dev.rollcall.agent.joined',
        subject: 'a-1',
        sequence: '000000000000001',
        capabilities: 'code',
      },
      {
        type: 'dev.rollcall.agent.left',
        subject: 'a-1',
        sequence: '000000000000002',
        data: { reason: 'deregistered' },
      },
    ]);
    client.socket.close();
  });

  it('B3 sends exactly the log to a client that is killed and resumes 200 times', async () => {
    const other = await api.replica();
    const done = new AbortController();
    const write = async (at: TestApi): Promise<void> => {
      for (let index = 0; !done.signal.aborted; index++)
        await appendEvents(at, joined(`a-${index % 7}`), left(`a-${index % 7}`));
    };
    const writers = [write(api), write(other)];
    const received: number[] = [];
    for (let round = 0; round < 200; round++) {
      const client = await connect(round % 2 ? api : other);
      await client.subscribe({ after: String(received.at(-1) ?? 0) });
      const minimum = 1 + Math.floor(Math.random() * 3);
      await until('some events are received', () => client.events.length >= minimum);
      client.socket.terminate();
      received.push(...client.seqs);
    }
    done.abort();
    await Promise.all(writers);
    const last = await (await connect()).subscribe({ after: String(received.at(-1)) });
    const head = async (): Promise<number> =>
      Number(seqOf((await api.call('GET', '/v1/events?after=latest')).body['head']));
    await until(
      'the remaining events are received',
      async () => (last.seqs.at(-1) ?? received.at(-1)) === (await head()),
    );
    expect([...received, ...last.seqs]).toEqual(upTo(await head()));
    last.socket.close();
    await other.stop();
  });

  it('sends events that match the filters, and a second subscription replaces the first', async () => {
    const client = await (
      await connect()
    ).subscribe({ after: 'oldest', types: ['agent.left', 'budget.*'], agentIds: ['a-2'] });
    const capable = await (await connect()).subscribe({ after: 'oldest', capabilities: ['draw'] });
    await appendEvents(api, joined('a-1', ['code']), joined('a-2', ['draw']), left('a-1'), left('a-2'));
    await appendEvents(api, {
      type: 'budget.low',
      subject: '7',
      data: { kind: 'agent', of: 'a-2', agentId: 'a-2', window: 'total', unit: 'tokens', limit: 9, remaining: 1 },
    });
    await until('the matching events are received', () => client.events.length === 2 && capable.events.length === 1);
    expect([client.seqs, capable.seqs]).toEqual([[4, 5], [2]]);
    api.app.nest.get(StreamConnections, { strict: false }).beat();
    await until('the position is received', () => capable.count('position') === 1);
    const position = capable.frames.at(-1);
    expect([position?.data['sequence'], seqOf(position?.data['cursor'])]).toEqual(['5', '5']);
    await client.subscribe({ after: '0' });
    await until('all events are received', () => client.events.length === 7);
    expect(client.seqs).toEqual([4, 5, 1, 2, 3, 4, 5]);
    for (const { socket } of [client, capable]) socket.close();
  });

  it('sends no further batch until the window is acknowledged', async () => {
    await appendEvents(api, ...many(500));
    const client = await (await connect()).subscribe({ after: '0', window: 100 });
    await until('the first window is received', () => client.events.length === 100);
    const other = await (await connect()).subscribe({ after: '0' });
    await until('the other client has received all events', () => other.events.length === 500);
    expect(client.events).toHaveLength(100);
    for (let last = 100; last < 500; last += 100) {
      client.send('ack', { sequence: String(last) });
      await until('the next window is received', () => client.events.length === last + 100);
    }
    expect(client.seqs).toEqual(upTo(500));
    for (const { socket } of [client, other]) socket.close();
  });

  it('answers an invalid message with an error and stays open', async () => {
    const client = await connect();
    client.send('subscribe', { types: ['agent.exploded'], colour: 'red' });
    await until('the error is received', () => client.count('error') === 1);
    expect(client.frames[0]).toMatchObject({ data: { code: 'VALIDATION_FAILED', status: 400 } });
    await client.subscribe();
    expect([client.count('subscribed'), client.end]).toEqual([1, undefined]);
    client.socket.close();
  });

  it.each(['garbage', '{"event":"subscirbe"}', '[]', 'null'])(
    'answers %s with the known message names',
    async (text) => {
      const client = await connect();
      client.socket.send(text);
      await until('the error is received', () => client.count('error') === 1);
      expect(client.frames[0]).toMatchObject({ data: { code: 'MALFORMED_REQUEST' } });
      expect(String(client.frames[0]?.data['detail'])).toContain('subscribe, ack');
      client.socket.close();
    },
  );

  it('closes a socket that sends invalid frames and does not read the answers', async () => {
    const client = await connect();
    const connections = api.app.nest.get(StreamConnections, { strict: false });
    await until('the socket is registered', () => connections.count === 1);
    client.socket.pause();
    for (let count = 0; count < 60_000 && connections.count > 0; count++) {
      client.socket.send(count % 2 ? '{"event":"ack"}' : 'invalid');
      if (count % 500 === 0) await new Promise(setImmediate);
    }
    await until('the socket is closed', () => connections.count === 0);
    client.socket.terminate();
  });

  it('treats null like a missing field, and applies the last of two subscriptions that are sent at the same time', async () => {
    await appendEvents(api, joined('a-1'), joined('a-2'));
    await until(
      'the events are in the log',
      async () => seqOf((await api.call('GET', '/v1/events?after=latest')).body['head']) === '2',
    );
    const client = await (await connect()).subscribe({ after: null, window: null, types: null });
    const subscribed = client.frames.at(-1);
    expect([subscribed?.event, seqOf(subscribed?.data['after'])]).toEqual(['subscribed', '2']);
    await appendEvents(api, joined('a-3'));
    await until('the event is received', () => client.seqs.join() === '3');
    const twice = await connect();
    for (let round = 0; round < 20; round++) {
      const before = twice.count('subscribed');
      twice.send('subscribe', { after: '0' });
      twice.send('subscribe', { after: 'latest' });
      await until(
        'the second subscription is confirmed',
        () => seqOf(twice.frames.at(-1)?.data['after']) === '3' && twice.count('subscribed') > before,
      );
    }
    twice.events.splice(0);
    await appendEvents(api, left('a-3'));
    await until('the event is received', () => twice.seqs.includes(4));
    expect(twice.seqs).toEqual([4]);
    for (const { socket } of [client, twice]) socket.close();
  });

  it('B3 closes the socket with the path of the snapshot when the cursor has expired', async () => {
    await appendEvents(api, ...many(10));
    await until(
      'the events are in the log',
      async () => (await api.database.db.query('SELECT 1 FROM event_log')).length === 10,
    );
    await api.database.db.query('DELETE FROM event_log WHERE seq <= 5');
    const client = await connect();
    client.send('subscribe', { after: '2' });
    expect(await client.closed()).toEqual({
      code: 4410,
      reason: { code: 'CURSOR_EXPIRED', snapshot: '/v1/events/snapshot' },
    });
    expect(client.frames).toMatchObject([{ event: 'error', data: { code: 'CURSOR_EXPIRED', oldest: '5' } }]);
  });
});

describe('a slow consumer', () => {
  it('B3 closes a slow consumer with the cursor to resume from, and does not delay other consumers', async () => {
    const slow = await (await connect()).subscribe({ after: '0' });
    const fast = await (await connect()).subscribe({ after: '0' });
    const note = 'x'.repeat(40_000);
    slow.socket.pause();
    const publishing = (async () => {
      for (let index = 0; index < 400; index += 20) {
        const drafts = Array.from({ length: 20 }, (_, offset) => ({
          type: 'agent.quarantined' as const,
          subject: `a-${index + offset}`,
          data: { by: 'key:test', reason: note },
        }));
        await appendEvents(api, ...drafts);
      }
    })();
    await until(
      'the slow consumer is closed',
      () => api.app.nest.get(StreamConnections, { strict: false }).count === 1,
    );
    slow.socket.resume();
    await publishing;
    await until('the fast consumer has received all events', () => fast.events.length === 400);
    const { code, reason } = await slow.closed();
    expect([code, reason['code'], slow.seqs]).toEqual([4408, 'SLOW_CONSUMER', upTo(Number(seqOf(reason['after'])))]);
    expect(slow.events.length).toBeLessThan(400);
    const resumed = await (await connect()).subscribe({ after: reason['after'] });
    await until('the remaining events are received', () => slow.events.length + resumed.events.length === 400);
    expect([...slow.seqs, ...resumed.seqs]).toEqual(upTo(400));
    for (const { socket } of [resumed, fast]) socket.close();
  });
});

describe('the access to the WebSocket of events', () => {
  it('requires a credential with the permission to read events', async () => {
    expect(await EventClient.refusal(api.url, {})).toEqual({ status: 401, code: 'UNAUTHENTICATED' });
    expect(await EventClient.refusal(api.url, { key: 'nope' })).toEqual({ status: 401, code: 'UNAUTHENTICATED' });
    expect(await EventClient.refusal(api.url, { key: await api.given.key('agent') })).toEqual({
      status: 403,
      code: 'FORBIDDEN',
    });
  });

  it('rejects a cursor or a filter in the URL, where it would have no effect', async () => {
    for (const query of ['after=5', 'types=agent.left'])
      expect(await refusal(api.url, `/v1/events/ws?${query}`, { key: api.adminKey })).toEqual({
        status: 400,
        code: 'VALIDATION_FAILED',
      });
  });

  it('a ticket grants access once, on any replica, for 30 seconds', async () => {
    const other = await api.replica();
    const ticket = await ticketFrom(await api.given.key('viewer'));
    const attempts = await Promise.allSettled([
      EventClient.connect(api.url, { ticket }),
      EventClient.connect(other.url, { ticket }),
    ]);
    expect(attempts.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const refused = { status: 401, code: 'UNAUTHENTICATED' };
    expect(await EventClient.refusal(api.url, { ticket })).toEqual(refused);
    const late = await ticketFrom();
    await api.database.db.query(`UPDATE event_ticket SET expires_at = expires_at - interval '31 seconds'`);
    expect(await EventClient.refusal(api.url, { ticket: late })).toEqual(refused);
    for (const attempt of attempts) if (attempt.status === 'fulfilled') attempt.value.socket.close();
    await other.stop();
  });

  it('a ticket whose key was revoked grants no access; tickets are stored hashed', async () => {
    const key = await api.given.key('viewer');
    const ticket = await ticketFrom(key);
    const rows = await api.database.db.query<{ text: string }>('SELECT event_ticket::text AS text FROM event_ticket');
    expect(rows[0]?.text).not.toContain(ticket);
    const id = (await api.call<{ id: string }>('GET', '/v1/me', { key })).body.id.slice(4);
    await api.call('DELETE', `/v1/keys/${id}`);
    expect((await EventClient.refusal(api.url, { ticket })).status).toBe(401);
  });

  it('closes open sockets on every replica when the key is revoked or expires', async () => {
    const other = await api.replica();
    const [revoked, expired] = [await api.given.key('viewer'), await api.given.key('viewer')];
    const idOf = async (key: string): Promise<string> =>
      (await api.call<{ id: string }>('GET', '/v1/me', { key })).body.id.slice(4);
    const clients = [await connect(api, revoked), await connect(other, revoked), await connect(other, expired)];
    const bystander = await (await connect(other)).subscribe();
    for (const client of clients) await client.subscribe();
    await api.call('DELETE', `/v1/keys/${await idOf(revoked)}`);
    await api.app.nest
      .get(Database, { strict: false })
      .query('UPDATE api_key SET expires_at = clock_timestamp() WHERE id = $1', [await idOf(expired)]);
    for (const client of clients) expect(await client.closed()).toMatchObject({ code: 4401 });
    expect(bystander.end).toBeUndefined();
    bystander.socket.close();
    await other.stop();
  });
});

describe('an open socket', () => {
  it('closes a socket that does not answer pings, and no other socket', async () => {
    const [unresponsive, alive] = [await connect(), await connect()];
    unresponsive.socket.pause();
    const connections = api.app.nest.get(StreamConnections, { strict: false });
    const ping = once(alive.socket, 'ping');
    connections.beat();
    await ping;
    await alive.subscribe(); // the server handles the pong before this message, so its response shows that the pong was handled
    connections.beat();
    await until('the unresponsive socket is closed', () => connections.count === 1);
    expect(alive.end).toBeUndefined();
    alive.socket.close();
  });

  it('closes a socket with the cursor to resume from when the replica stops', async () => {
    const other = await api.replica();
    const client = await (await connect(other)).subscribe({ after: '0' });
    await appendEvents(other, joined('a-1'));
    await until('the event is received', () => client.events.length === 1);
    await other.stop();
    const { code, reason } = await client.closed();
    expect([code, reason['code'], seqOf(reason['after'])]).toEqual([1001, 'SHUTTING_DOWN', '1']);
  });
});
