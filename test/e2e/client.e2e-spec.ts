import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { answerText, type FollowedEvent, type Rollcall, rollcallClient, RollcallError } from '#rollcall/client';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { appendEvents, joined, many, upTo } from '../support/events.js';
import { RestlessProxy } from '../support/restless-proxy.js';
import { TestAgents } from '../support/test-agents.js';

/** The number of changing calls through the proxy that cuts connections. */
const CALLS = Number(process.env['CLIENT_CALLS'] ?? 50);

let api: TestApi;
let agents: TestAgents;
let rollcall: Rollcall;
beforeAll(async () => {
  api = await startApi();
  agents = new TestAgents();
  agents.install(api);
  await agents.define(api);
  rollcall = rollcallClient({ url: api.url, credential: api.adminKey });
});
beforeEach(() => agents.reset());
afterAll(async () => {
  agents.finish();
  await api.stop();
});

async function errorOf(call: Promise<unknown>): Promise<RollcallError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(RollcallError);
  return error as RollcallError;
}

/** A server that answers every request with this status and these headers, and counts the requests. */
async function answering(head: string): Promise<{ url: string; requests: () => number; stop(): Promise<void> }> {
  let requests = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => {
      requests += 1;
      socket.end(`HTTP/1.1 ${head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests: () => requests,
    stop: async () => void (await once(server.close(), 'close')),
  };
}

describe('a call of the client', () => {
  it('N-5 every changing call has one effect behind a proxy that cuts connections at random', async () => {
    const proxy = await RestlessProxy.start(api.url, 0.2);
    const { id } = await rollcall.budgets.open({ kind: 'caller', subject: 'cut', limit: { tokens: 1 } });
    const behind = rollcallClient({ url: proxy.url, credential: api.adminKey, retries: 50, timeoutMs: 110_000 });
    let started = 0;
    const worker = async (): Promise<void> => {
      while (started < CALLS) {
        started += 1;
        await behind.budgets.topUp(id, { tokens: 1 });
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    await proxy.stop();
    expect((await rollcall.budgets.get(id)).limit.tokens).toBe(1 + CALLS);
    expect(proxy.cuts).toBeGreaterThan(CALLS / 10);
  });

  it('N-5 a rejection is a RollcallError with its code, status, fields and request id', async () => {
    const error = await errorOf(rollcall.agents.register({ name: '', capabilities: ['a'] }));
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', status: 400, requestId: expect.any(String) as string });
    expect(error.fieldErrors[0]).toMatchObject({ field: 'name', message: expect.any(String) as string });
    expect(error.message).toMatch(/^VALIDATION_FAILED: Please correct: name/);
  });

  it('N-5 a server that is away is a RollcallError, which names the address and the reason', async () => {
    const server = await answering('200 OK');
    await server.stop();
    const error = await errorOf(rollcallClient({ url: server.url, retries: 1 }).me.get());
    expect(error).toMatchObject({ code: 'SERVER_UNREACHABLE', status: undefined });
    expect(error.message).toContain(`SERVER_UNREACHABLE: ${server.url} does not respond: connect ECONNREFUSED`);
  });

  it('N-5 an abort ends a call at once while it waits to be repeated', async () => {
    const busy = await answering('503 Service Unavailable\r\nRetry-After: 30');
    const stop = new AbortController();
    const call = rollcallClient({ url: busy.url }).me.get({ signal: stop.signal });
    await until('the first attempt was answered', () => busy.requests() === 1);
    const reason = new Error('not needed any more');
    stop.abort(reason);
    await expect(call).rejects.toBe(reason); // the pause takes 30 seconds
    expect(busy.requests()).toBe(1);
    await busy.stop();
  }, 20_000);

  it('N-5 only 429, 503 and lost connections are repeated, and not if Retry-After is after the time limit', async () => {
    const attempts = async (head: string): Promise<[number, string]> => {
      const server = await answering(head);
      const error = await errorOf(rollcallClient({ url: server.url, retries: 2, timeoutMs: 20_000 }).me.get());
      await server.stop();
      return [server.requests(), error.code];
    };
    expect(await attempts('503 Service Unavailable\r\nRetry-After: 0')).toEqual([3, 'RESPONSE_UNREADABLE']);
    expect(await attempts('429 Too Many Requests\r\nRetry-After: 0')).toEqual([3, 'RESPONSE_UNREADABLE']);
    expect(await attempts('429 Too Many Requests\r\nRetry-After: 60')).toEqual([1, 'RESPONSE_UNREADABLE']);
    expect(await attempts('500 Internal Server Error')).toEqual([1, 'RESPONSE_UNREADABLE']);
    expect(await attempts('409 Conflict')).toEqual([1, 'RESPONSE_UNREADABLE']);
  });

  it('a call that exceeds its time limit is a RollcallError', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined).resume()).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const error = await errorOf(rollcallClient({ url, timeoutMs: 300 }).me.get());
    expect(error).toMatchObject({ code: 'CALL_TIMED_OUT', message: expect.stringContaining('300 ms') as string });
    silent.close();
  });

  it('asks a function for another credential once when the server rejects the first one', async () => {
    const asked: (string | undefined)[] = [];
    const renewing = rollcallClient({
      url: api.url,
      credential: async (rejected) => {
        asked.push(rejected);
        return await Promise.resolve(rejected === undefined ? 'rk_old' : api.adminKey);
      },
    });
    await Promise.all([renewing.me.get(), renewing.me.get()]);
    await renewing.agents.list().page();
    expect(asked).toEqual([undefined, 'rk_old']);
    const error = await errorOf(rollcallClient({ url: api.url, credential: () => 'rk_wrong' }).me.get());
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
  });

  it('a list yields the items of all pages, or one page', async () => {
    for (const name of ['p-1', 'p-2', 'p-3']) await api.given.agent({ agentId: name, capabilities: ['paged'] });
    const ids: string[] = [];
    for await (const { agentId } of rollcall.agents.list({ capability: 'paged', limit: 2 })) ids.push(agentId);
    expect(ids).toEqual(['p-1', 'p-2', 'p-3']);
    const { items, nextCursor } = await rollcall.agents.list({ capability: 'paged', limit: 2 }).page();
    expect([items.length, nextCursor]).toEqual([2, expect.any(String)]);
  });

  it('another credential and another namespace are used for the calls of their client only', async () => {
    const { agentId, generation, leaseToken } = await rollcall.agents.register({ name: 'beater', capabilities: ['a'] });
    const beat = await rollcall.as(leaseToken).agents.heartbeat(agentId, { generation, inFlight: 1 });
    expect(beat.nextIntervalMs).toBeGreaterThan(0);
    await api.given.namespace('team-c');
    const elsewhere = rollcallClient({ url: api.url, credential: api.adminKey, namespace: 'team-c' });
    expect((await elsewhere.agents.list().page()).items).toEqual([]);
  });
});

/** Collects the events of `follow` until the signal is aborted. */
function collect(
  client: Rollcall,
  after: string,
): { sequences: number[]; subjects: string[]; stop(): Promise<void>; reconnects: () => number } {
  const stop = new AbortController();
  const sequences: number[] = [];
  const subjects: string[] = [];
  let reconnects = 0;
  const reading = (async () => {
    const onReconnect = (): void => void (reconnects += 1);
    for await (const event of client.follow({ after, types: ['agent.joined'], signal: stop.signal, onReconnect }))
      if (event.type !== 'snapshot') {
        sequences.push(Number(event.sequence));
        subjects.push(event.subject);
      }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return {
    sequences,
    subjects,
    reconnects: () => reconnects,
    stop: async () => {
      stop.abort();
      await reading;
    },
  };
}

describe('follow', () => {
  it('N-5 yields each event of the log once and in order, over restarts of replicas and cut connections', async () => {
    const own = await startApi();
    const proxy = await RestlessProxy.start(own.url);
    const followed = collect(rollcallClient({ url: proxy.url, credential: own.adminKey }), 'oldest');
    let replica = await own.replica();
    for (let round = 1; round <= 20; round += 1) {
      await appendEvents(own, ...many(5));
      await until('something of this round was received', () => followed.sequences.length > (round - 1) * 5);
      if (round % 5 === 0) {
        const next = await own.replica();
        proxy.leadTo(next.url);
        await replica.stop();
        replica = next;
      }
      proxy.cutAll();
    }
    await until('all events were received', () => followed.sequences.length >= 100);
    await followed.stop();
    expect(followed.sequences).toEqual(upTo(100));
    expect(followed.reconnects()).toBeGreaterThanOrEqual(20);
    await proxy.stop();
    await replica.stop();
    await own.stop();
  });

  it('N-5 yields a snapshot when its cursor has expired, and then the events after it', async () => {
    const own = await startApi();
    const client = rollcallClient({ url: own.url, credential: own.adminKey });
    await own.given.agent({ agentId: 'kept' });
    await until('the event is in the log', async () => (await client.events.page()).items.length === 1);
    await own.database.db.query('DELETE FROM event_log');
    const stop = new AbortController();
    const events = client.follow({ after: '0', signal: stop.signal });
    const first = (await events.next()).value;
    expect(first).toMatchObject({ type: 'snapshot', cursor: expect.stringMatching(/^1-/) as string });
    if (first?.type !== 'snapshot') throw new Error('the first event is not a snapshot');
    expect(first.data.items.map(({ agentId }) => agentId)).toEqual(['kept']);
    await appendEvents(own, joined('later', ['build']));
    const second = (await events.next()).value as FollowedEvent;
    if (second.type !== 'dev.rollcall.agent.joined') throw new Error(`unexpected ${second.type}`);
    expect([second.subject, second.data.capabilities, second.sequence]).toEqual([
      'later',
      ['build'],
      '000000000000002',
    ]);
    stop.abort();
    await own.stop();
  });

  it('N-5 follows from now by default, and misses nothing when connections are lost before and after their first frame', async () => {
    const proxy = await RestlessProxy.start(api.url);
    await appendEvents(api, joined('before'));
    // the events of the tests above have their numbers, too, when this one has
    await until('the event before is in the log', async () => {
      const { items } = await rollcall.events.page({ agentIds: ['before'] });
      return items.length === 1;
    });
    let connections = 0;
    const client = rollcallClient({
      url: proxy.url,
      credential: api.adminKey,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (!url.includes('/events/stream')) return response;
        connections += 1;
        if (connections > 1) return response;
        await response.body?.cancel();
        await appendEvents(api, joined('first-1'), joined('first-2'));
        throw new TypeError('lost before the first frame');
      },
    });
    const followed = collect(client, 'latest');
    await until('the events of the first connection arrive', () => followed.subjects.length >= 2);
    proxy.cutAll();
    await appendEvents(api, joined('second-1'), joined('second-2'));
    await until('the events of the second connection arrive', () => followed.subjects.length >= 4);
    await followed.stop();
    expect(followed.subjects).toEqual(['first-1', 'first-2', 'second-1', 'second-2']);
    expect(connections).toBe(3);
    await proxy.stop();
  });

  it('N-5 throws when the credential is wrong or may not read events, and when the credential is revoked', async () => {
    const first = async (client: Rollcall): Promise<unknown> => await client.follow().next();
    const wrong = await errorOf(first(rollcallClient({ url: api.url, credential: 'rk_wrong' })));
    expect(wrong).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
    const lease = (await api.given.agent({ agentId: 'leased' })).leaseToken;
    const forbidden = await errorOf(first(rollcallClient({ url: api.url, credential: lease })));
    expect(forbidden).toMatchObject({ code: 'FORBIDDEN', status: 403 });
    const { id, key } = await rollcall.keys.issue({ name: 'short', roles: ['viewer'] });
    const revoked = errorOf(
      rollcallClient({ url: api.url, credential: key })
        .follow({ types: ['budget.*'] })
        .next(),
    );
    await until('the key was used', async () => (await rollcall.keys.get(id)).lastUsedAt !== null);
    await rollcall.keys.revoke(id);
    expect(await revoked).toMatchObject({ status: 401 });
  });
});

describe('a run of the client', () => {
  it('starts a run, and returns its result', async () => {
    agents.finish(); // the model answers at once
    const run = rollcall.runs.run({ definition: 'talker', input: 'Begin.' });
    const { state, ...result } = await run.result();
    expect(state).toBe('completed');
    expect(answerText(result)).not.toBe('');
  });

  it('N-5 watching a run yields each step once over cut connections, typed by its type, until the last state', async () => {
    const proxy = await RestlessProxy.start(api.url);
    const { id } = await rollcall.runs.start({ definition: 'talker', input: 'Begin.' });
    const steps: string[] = [];
    let last = '';
    const behind = rollcallClient({ url: proxy.url, credential: api.adminKey });
    for await (const message of behind.runs.watch(id)) {
      if (message.event === 'state') last = message.data.state;
      if (message.event !== 'step') continue;
      const { step } = message.data;
      steps.push(step.type === 'tool-called' ? `tool-called ${step.call.name}` : step.type);
      proxy.cutAll();
      agents.finish();
    }
    expect(last).toBe('completed');
    expect(steps).toEqual(['message', 'model-replied', 'tool-called work', 'tool-finished', 'model-replied']);
    await proxy.stop();
  });

  it('a run that waits for a decision is a result, and its calls are typed', async () => {
    const waiting = await rollcall.runs.run({ definition: 'payer', input: 'Pay.' }).result();
    expect([waiting.state, waiting.waitingFor]).toEqual(['waiting', 'approval']);
    const [call] = waiting.result?.approvals ?? [];
    if (!call) throw new Error('no call waits');
    const decided = await rollcall.runs.decide(waiting.id, {
      callId: call.callId,
      inputHash: call.inputHash,
      approved: false,
    });
    expect(decided.id).toBe(waiting.id);
  });

  it('N-5 watching a run that does not exist throws', async () => {
    const error = await errorOf(rollcall.runs.watch('unknown').next());
    expect(error).toMatchObject({ code: 'RUN_NOT_FOUND', status: 404 });
  });
});
