import { once } from 'node:events';
import { mock } from 'node:test';
import { createServer } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import {
  answerText,
  type Rollcall,
  rollcallClient,
  RollcallError,
  type RunView,
  type ServedAgent,
  type ServeOptions,
  type Task,
} from '#rollcall/client';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { RestlessProxy } from '../support/restless-proxy.js';

const TRANSPORTS = ['http', 'websocket'] as const;
const SETTINGS = {
  // an eviction is noticed soon, and a busy machine causes none
  ROLLCALL_HEARTBEAT_EVERY: '2s',
  ROLLCALL_MISSED_BEATS: '15',
  ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
  ROLLCALL_SEALING_KEY: 's'.repeat(64),
  ROLLCALL_QUOTAS: 'agents=0',
};

let api: TestApi;
let rollcall: Rollcall;
let agentId: string;
let made = 0;
const served: ServedAgent[] = [];
beforeAll(async () => {
  api = await startApi(SETTINGS);
  rollcall = rollcallClient({ url: api.url, credential: api.adminKey });
});
beforeEach(() => void (agentId = `served-${(made += 1)}`));
afterEach(async () => await Promise.allSettled(served.splice(0).map(async (agent) => await agent.close())));
afterAll(async () => await api.stop());

async function serve(options: Partial<ServeOptions>, client = rollcall): Promise<ServedAgent> {
  const agent = await client.serve({
    agentId,
    capabilities: ['work'],
    handle: () => 'done',
    onError: () => undefined,
    closeTimeoutMs: 5_000,
    ...options,
  });
  served.push(agent);
  return agent;
}

const startRun = async (input = 'Work.'): Promise<RunView> => await rollcall.runs.start({ agent: agentId, input });
const endOf = async (run: Pick<RunView, 'id'>): Promise<RunView> => await rollcall.runs.get(run.id, { waitMs: 40_000 });
const statusOf = async (): Promise<string> => {
  const { status, leaveReason } = await rollcall.agents.get(agentId);
  return leaveReason ?? status;
};

/** A handler that waits until the test opens its gate. It counts its calls by task. */
class GatedHandler {
  readonly gate = Promise.withResolvers<void>();
  readonly calls: string[] = [];
  readonly aborted: string[] = [];

  readonly handle = async ({ callId, signal, text }: Task): Promise<string> => {
    this.calls.push(callId);
    signal.addEventListener('abort', () => void this.aborted.push(callId));
    await this.gate.promise;
    return `done ${text}`;
  };
}

describe.each(TRANSPORTS)('an agent that takes its tasks over %s', (transport) => {
  it('N-5 answers tasks with its usage, reports progress and pieces of the answer, and leaves on close', async () => {
    const watched = Promise.withResolvers<void>();
    const agent = await serve({
      transport,
      handle: async ({ text, data, progress, write }) => {
        await watched.promise; // live texts are not repeated for a caller that connects later
        progress('Raising my voice.');
        for (const word of ['so ', 'loud: ', `${text} ${JSON.stringify(data)}`]) {
          write(word);
          await delay(20);
        }
        return { usage: { inputTokens: 5, outputTokens: 7 } };
      },
    });
    const seen: string[] = [];
    let last: RunView | undefined;
    for await (const message of rollcall.runs.run({ agent: agentId, input: 'hello', data: { a: 1 } })) {
      watched.resolve();
      if (message.event === 'text') seen.push(message.data.text);
      if (message.event === 'progress') seen.push(message.data.text);
      if (message.event === 'state') last = message.data;
    }
    expect(last).toMatchObject({ state: 'completed', usage: { inputTokens: 5, outputTokens: 7 } });
    expect(answerText(last as RunView)).toBe('so loud: hello {"a":1}');
    expect(seen.join('')).toContain('Raising my voice.so loud: ');
    await agent.close();
    expect([await agent.done, await statusOf()]).toEqual(['shutdown', 'shutdown']);
  });

  it('N-5 an error of the handler, and a result that is rejected, fail the run with the reason', async () => {
    await serve({
      transport,
      handle: ({ text }) => {
        if (text === 'throw') throw new Error('the disk is full');
        return { parts: [{ type: 'picture' } as never] };
      },
    });
    const thrown = await endOf(await startRun('throw'));
    expect(thrown).toMatchObject({ state: 'failed', result: { error: { code: 'AGENT_FAILED' } } });
    expect(JSON.stringify(thrown.result)).toContain('the disk is full');
    const rejected = await endOf(await startRun('picture'));
    expect(rejected.state).toBe('failed');
    expect(JSON.stringify(rejected.result)).toContain('The result of the handler was rejected');
  });

  it('N-5 executes as many tasks at the same time as its capacity, and aborts a task that is cancelled', async () => {
    const handler = new GatedHandler();
    await serve({ transport, capacity: 2, handle: handler.handle });
    const runs = [await startRun(), await startRun(), await startRun()] as const;
    await until('two tasks are executed', () => handler.calls.length === 2);
    await rollcall.runs.cancel(runs[0].id);
    await until('the first task is aborted', () => handler.aborted.includes(`${runs[0].id}-1`));
    expect(handler.calls).toHaveLength(2);
    handler.gate.resolve();
    expect((await endOf(runs[1])).state).toBe('completed');
    expect((await endOf(runs[2])).state).toBe('completed');
    expect(handler.calls).toHaveLength(3);
  });

  it('N-5 registers again after an eviction: an idempotent task is executed once, and its result is used', async () => {
    const handler = new GatedHandler();
    const generations: number[] = [];
    const onRegistered = ({ generation }: { generation: number }): void => void generations.push(generation);
    await serve({ transport, idempotent: true, handle: handler.handle, onRegistered });
    const run = await startRun('once');
    await until('the task is executed', () => handler.calls.length === 1);
    await rollcall.agents.evict(agentId, {});
    await until('it has registered again', () => generations.length === 2);
    handler.gate.resolve();
    const ended = await endOf(run);
    expect([ended.state, answerText(ended)]).toEqual(['completed', 'done once']);
    expect([handler.calls, handler.aborted]).toEqual([[`${run.id}-1`], []]);
    expect(await endOf(await startRun('next'))).toMatchObject({ state: 'completed' });
  });

  it('N-5 after an eviction, a task that is not idempotent is aborted, and its run waits for a review', async () => {
    const handler = new GatedHandler();
    await serve({ transport, handle: handler.handle });
    const run = await startRun();
    await until('the task is executed', () => handler.calls.length === 1);
    await rollcall.agents.evict(agentId, {});
    await until('the task is aborted', () => handler.aborted.length === 1);
    expect(await endOf(run)).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    handler.gate.resolve();
    const [call] = (await endOf(run)).result?.approvals ?? [];
    if (!call) throw new Error('no call waits');
    await rollcall.runs.decide(run.id, { callId: call.callId, inputHash: call.inputHash, approved: true });
    expect((await endOf(run)).state).toBe('completed');
    expect(handler.calls).toEqual([`${run.id}-1`, `${run.id}-2`]);
  });

  it('N-5 a drained agent finishes the tasks that were sent to it, gets no new ones, and leaves', async () => {
    const handler = new GatedHandler();
    const agent = await serve({ transport, handle: handler.handle });
    const runs = [await startRun(), await startRun()];
    await until('a task is executed', () => handler.calls.length === 1);
    await rollcall.agents.drain(agentId, {});
    await until('no run is accepted', async () => (await statusOf()) === 'draining');
    await expect(startRun()).rejects.toMatchObject({ code: 'RUN_TARGET_UNAVAILABLE' });
    handler.gate.resolve();
    expect(await agent.done).toBe('drained');
    expect(await statusOf()).toBe('drained');
    for (const run of runs) expect((await endOf(run)).state).toBe('completed');
  });

  it('N-5 close waits for the tasks that are executed', async () => {
    const handler = new GatedHandler();
    const agent = await serve({ transport, handle: handler.handle });
    const run = await startRun();
    await until('the task is executed', () => handler.calls.length === 1);
    const closing = agent.close();
    expect(await Promise.race([closing, delay(300, 'waits')])).toBe('waits');
    handler.gate.resolve();
    await closing;
    expect((await endOf(run)).state).toBe('completed');
  });

  it('N-5 close aborts tasks that take longer than its time limit', async () => {
    const handler = new GatedHandler();
    const agent = await serve({ transport, handle: handler.handle, closeTimeoutMs: 200 });
    await startRun();
    await until('the task is executed', () => handler.calls.length === 1);
    await agent.close();
    expect(handler.aborted).toHaveLength(1);
    expect(await statusOf()).toBe('shutdown');
    handler.gate.resolve();
  });

  it('N-5 survives restarts of replicas and cut connections: no task is lost or executed twice', async () => {
    const own = await startApi(SETTINGS);
    const proxy = await RestlessProxy.start(own.url);
    const admin = rollcallClient({ url: own.url, credential: own.adminKey });
    let replica = await own.replica();
    const calls: string[] = [];
    const agent = await serve(
      {
        transport,
        capacity: 5,
        handle: async ({ callId, text, write }) => {
          calls.push(callId);
          write('working');
          await delay(Math.random() * 300);
          return text.toUpperCase();
        },
      },
      rollcallClient({ url: proxy.url, credential: own.adminKey }),
    );
    const ended: Promise<RunView>[] = [];
    for (let round = 1; round <= 8; round += 1) {
      for (let one = 0; one < 4; one += 1) {
        const { id } = await admin.runs.start({ agent: agentId, input: `task ${round}` });
        ended.push(admin.runs.get(id, { waitMs: 40_000 }));
      }
      await delay(Math.random() * 200);
      if (round % 4 === 0) {
        const next = await own.replica();
        proxy.leadTo(next.url);
        await replica.stop();
        replica = next;
      }
      proxy.cutAll();
    }
    const runs = await Promise.all(ended);
    expect(runs.map(({ state }) => state)).toEqual(runs.map(() => 'completed'));
    expect(runs.map((run) => answerText(run))).toEqual(runs.map((_, index) => `TASK ${Math.floor(index / 4) + 1}`));
    expect(new Set(calls).size).toBe(calls.length);
    expect(calls).toHaveLength(runs.length);
    await agent.close();
    await proxy.stop();
    await replica.stop();
    await own.stop();
  }, 60_000);

  it('N-5 ends when another process serves the same agent', async () => {
    const first = await serve({ transport });
    const second = await serve({ transport });
    expect(await first.done).toBe('replaced');
    expect((await endOf(await startRun())).state).toBe('completed');
    await second.close();
  });
});

describe('an agent that cannot be served', () => {
  it('N-5 rejects at once if it may not register, and later if its key was revoked', async () => {
    await expect(serve({}, rollcallClient({ url: api.url, credential: 'rk_wrong' }))).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
    const { id, key } = await rollcall.keys.issue({ name: 'short', roles: ['agent'] });
    const agent = await serve({}, rollcallClient({ url: api.url, credential: key }));
    await rollcall.keys.revoke(id);
    await rollcall.agents.evict(agentId, {});
    await expect(agent.done).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('N-5 waits for a server that is away, reports it, and stops to wait when it is aborted', async () => {
    const unused = createServer().listen(0, '127.0.0.1');
    await once(unused, 'listening');
    const { port } = unused.address() as { port: number };
    unused.close();
    const stop = new AbortController();
    const errors: string[] = [];
    const client = rollcallClient({ url: `http://127.0.0.1:${port}`, retries: 0 });
    const onError = ({ code }: RollcallError): void => void errors.push(code);
    const serving = serve({ signal: stop.signal, onError }, client);
    await until('it reports the error', () => errors.includes('SERVER_UNREACHABLE'));
    stop.abort();
    await expect(serving).rejects.toThrow();
  });

  it('N-5 ends without an error when its registration was ended on purpose', async () => {
    const agent = await serve({});
    await rollcall.agents.deregister(agentId);
    expect(await agent.done).toBe('deregistered');
  });
});

describe('an agent with an endpoint', () => {
  const ENDPOINT = 'http://127.0.0.1:0/';

  it('N-5 listens, answers with progress, and rejects calls that Rollcall has not signed for it', async () => {
    await serve({
      endpoint: ENDPOINT,
      handle: ({ text, progress, write }) => {
        progress('Thinking.');
        write(`Hello, ${text}!`);
        return { usage: { inputTokens: 3, outputTokens: 4 } };
      },
    });
    const seen: string[] = [];
    let last: RunView | undefined;
    for await (const message of rollcall.runs.run({ agent: agentId, input: 'Ada' })) {
      if (message.event === 'progress' || message.event === 'text') seen.push(message.data.text);
      if (message.event === 'state') last = message.data;
    }
    expect(last).toMatchObject({ state: 'completed', usage: { inputTokens: 3, outputTokens: 4 } });
    expect(answerText(last as RunView)).toBe('Hello, Ada!');
    const { endpoint } = await rollcall.agents.get(agentId);
    for (const token of ['', 'a.b.c', `${btoa('{"alg":"ES256","kid":"x"}')}.${btoa('{}')}.AA`]) {
      const body = JSON.stringify({ text: 'forged', parts: [] });
      const answer = await fetch(endpoint ?? '', { method: 'POST', headers: { 'rollcall-token': token }, body });
      expect(answer.status).toBe(401);
    }
  });

  it('N-5 rejects a call that was signed for another agent or has expired', async () => {
    const tokens: string[] = [];
    const spy = createHttpServer((request, response) => {
      tokens.push(String(request.headers['rollcall-token']));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"ok"}');
    }).listen(0, '127.0.0.1');
    await once(spy, 'listening');
    const endpoint = `http://127.0.0.1:${(spy.address() as { port: number }).port}`;
    await rollcall.agents.register({ agentId: 'another', name: 'another', capabilities: ['spied'], endpoint });
    await rollcall.runs.run({ agent: 'another', input: 'Ada' }).result();
    spy.close();
    spy.closeAllConnections();
    const unused = { endpoint, listen: false } as const;
    const agent = await serve(unused);
    const request = (): Request =>
      new Request('http://agent/', { method: 'POST', headers: { 'rollcall-token': tokens[0] ?? '' }, body: '{}' });
    expect((await agent.respond(request())).status).toBe(401);
    const same = await rollcall.serve({
      agentId: 'another',
      capabilities: ['spied'],
      ...unused,
      closeOnSignals: false,
      handle: () => 'ok',
    });
    served.push(same);
    expect((await same.respond(request())).status).toBe(200);
    const later = Date.now() + 400_000;
    const now = mock.method(Date, 'now', () => later);
    expect((await same.respond(request())).status).toBe(401);
    now.mock.restore();
  });

  it('N-5 executes a repeated call once if it is idempotent, and aborts a call whose run was cancelled otherwise', async () => {
    const handler = new GatedHandler();
    const agent = await serve({ endpoint: ENDPOINT, signature: false, idempotent: true, handle: handler.handle });
    const call = async (): Promise<string> => {
      const headers = { 'idempotency-key': 'one' };
      const body = JSON.stringify({ callId: 'one', text: 'Ada', parts: [] });
      return await (await agent.respond(new Request('http://agent/', { method: 'POST', headers, body }))).text();
    };
    const answers = [call(), call()];
    await until('the call is executed', () => handler.calls.length === 1);
    handler.gate.resolve();
    expect(await Promise.all([...answers, call()])).toEqual(Array(3).fill('{"type":"result","text":"done Ada"}\n'));
    expect(handler.calls).toEqual(['one']);
    await agent.close();
    const waiting = new GatedHandler();
    await serve({ endpoint: ENDPOINT, handle: waiting.handle });
    const run = await startRun();
    await until('the call is executed', () => waiting.calls.length === 1);
    await rollcall.runs.cancel(run.id);
    await until('the call is aborted', () => waiting.aborted.length === 1);
    waiting.gate.resolve();
  });

  it('N-5 finishes its calls and leaves when it is drained', async () => {
    const handler = new GatedHandler();
    const agent = await serve({ endpoint: ENDPOINT, handle: handler.handle });
    const run = await startRun();
    await until('the call is executed', () => handler.calls.length === 1);
    await rollcall.agents.drain(agentId, {});
    expect(await Promise.race([agent.done, delay(1_500, 'waits')])).toBe('waits');
    handler.gate.resolve();
    expect(await agent.done).toBe('drained');
    expect((await endOf(run)).state).toBe('completed');
  });
});
