import { mock } from 'node:test';
import { AgentProviderRegistry, ClaudeSdkAgentProvider } from '#rollcall/providers';
import { A2aWorker, FakeClaudeSdk, HttpWorker, ProgramWorker } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';

/** An agent of the provider `subprocess`. */
const program = new ProgramWorker();
const PROGRAMS = { gated: { command: process.execPath, args: program.args, user: 'same' } };
const SETTINGS = {
  ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
  ROLLCALL_HEARTBEAT_EVERY: '10m',
  ROLLCALL_PROGRAMS: JSON.stringify(PROGRAMS),
};
/** What a call without a reported usage is charged. */
const ESTIMATE = 32_000;

interface RunView {
  id: string;
  state: string;
  waitingFor: string | null;
  attempts: number;
  usage: { inputTokens?: number; estimatedTokens?: number; costMicroUsd?: number };
  result: {
    parts: { text: string }[];
    reason?: string;
    error?: { code: string };
    approvals?: { callId: string; inputHash: string }[];
  };
}

/** Answers requests and executes no run, so each test knows which replica executes its run. */
let here: TestApi;
let there: TestApi | undefined;
const workers: { close(): Promise<void> }[] = [];
beforeAll(async () => void (here = await startApi({ ...SETTINGS, ROLLCALL_RUNS_MAX: '0' })));
afterEach(async () => {
  await Promise.all(workers.splice(0).map(async (worker) => await worker.close()));
  await there?.stop();
  there = undefined;
});
afterAll(async () => {
  await here.stop();
  program.remove();
});

async function httpWorker(agentId: string, declared: { idempotent?: boolean } & object = {}): Promise<HttpWorker> {
  const worker = await HttpWorker.start({ isIdempotent: declared.idempotent ?? false });
  workers.push(worker);
  await here.given.agent({ agentId, endpoint: worker.url, capabilities: ['work'], ...declared });
  return worker;
}

async function a2aWorker(agentId: string, declared: object = {}, options = {}): Promise<A2aWorker> {
  const worker = await A2aWorker.start(options);
  workers.push(worker);
  const agentCard = { name: 'worker' };
  await here.given.agent({ agentId, endpoint: worker.url, agentCard, capabilities: ['work'], ...declared });
  return worker;
}

async function start(at: TestApi, agent: string, input = 'Work.'): Promise<string> {
  const { status, body } = await at.call<RunView>('POST', '/v1/runs', { body: { agent, input } });
  expect(status).toBe(202);
  return body.id;
}

async function read(id: string): Promise<RunView> {
  return (await here.call<RunView>('GET', `/v1/runs/${id}`)).body;
}

async function settled(id: string): Promise<RunView> {
  await until('the run ends or waits', async () => !['queued', 'running'].includes((await read(id)).state), 60_000);
  return await read(id);
}

async function stepTypes(id: string): Promise<string[]> {
  const { body } = await here.call<{ items: { step: { type: string } }[] }>('GET', `/v1/runs/${id}/steps`);
  return body.items.map(({ step }) => step.type);
}

/** Starts the replica that executes runs. */
async function executor(changes: Record<string, string> = {}): Promise<TestApi> {
  return (there = await here.replica({ ROLLCALL_RUNS_MAX: '64', ...changes }));
}

/** Starts a run, waits until `isReached`, and replaces the replica that executes it as a deployment does. */
async function interrupted(
  agent: string,
  isReached: (id: string) => boolean | Promise<boolean>,
  more: { release?: () => void; settings?: Record<string, string> } = {},
): Promise<string> {
  const first = await executor(more.settings);
  const id = await start(first, agent);
  await until('the call is in progress', async () => await isReached(id));
  const stopped = first.stop();
  more.release?.();
  await stopped;
  await executor();
  return id;
}

/** Replicas have crashed while they executed the run. An agent outside Rollcall did not cause it. */
async function crashedOften(id: string): Promise<boolean> {
  await here.database.db.query('UPDATE run SET crashes = 5, crashes_in_step = 5 WHERE id = $1', [id]);
  return true;
}

/** Whether the task of an A2A agent is stored. */
async function isAccepted(id: string): Promise<boolean> {
  return (await stepTypes(id)).includes('agent-accepted');
}

describe('a call of an A2A agent when its replica stops', () => {
  it.each([
    ['streams', { streaming: true }, 'SubscribeToTask'],
    ['does not stream', { streaming: false }, 'GetTask'],
  ])(
    'R-2 continues on another replica, also after many crashes, and the task is asked for, not sent: the agent %s',
    async (_name, options, asks) => {
      const agentId = `a2a-${asks}`;
      const worker = await a2aWorker(agentId, {}, options);
      const id = await interrupted(agentId, async (run) => (await isAccepted(run)) && (await crashedOften(run)));
      await until('the other replica asks for the task', () => worker.methods.includes(asks));
      expect(worker.methods).not.toContain('CancelTask');
      worker.release();
      const run = await settled(id);
      expect(run).toMatchObject({ state: 'completed', attempts: 2, result: { parts: [{ text: 'did Work.' }] } });
      expect([...worker.executions]).toEqual([[id, 1]]);
      expect(run.usage.estimatedTokens).toBe(ESTIMATE); // one call without a reported usage, charged once
      expect(await stepTypes(id)).toEqual(['message', 'agent-called', 'agent-accepted', 'finished']);
    },
  );

  it('R-2 uses the result of a task that finished while no replica listened', async () => {
    const worker = await a2aWorker('a2a-finished');
    const id = await interrupted('a2a-finished', isAccepted, { release: () => undefined });
    worker.release();
    expect(await settled(id)).toMatchObject({ state: 'completed', result: { parts: [{ text: 'did Work.' }] } });
    expect([...worker.executions.values()]).toEqual([1]);
  });

  it('R-2 a run whose agent lost the task waits for a review, and its call is charged once, as estimated', async () => {
    const worker = await a2aWorker('a2a-lost');
    worker.isForgetful = true;
    const id = await interrupted('a2a-lost', isAccepted);
    const run = await settled(id);
    expect(run).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    const { approvals = [] } = run.result;
    worker.isForgetful = false;
    const decision = { ...pick(approvals[0]), approved: true };
    expect((await here.call('POST', `/v1/runs/${id}/approvals`, { body: decision })).status).toBe(202);
    await until('the message is sent again', () => worker.messages.length === 2);
    worker.release();
    expect(await settled(id)).toMatchObject({ state: 'completed', usage: { estimatedTokens: 2 * ESTIMATE } });
    expect([...worker.executions]).toEqual([[id, 2]]); // both messages have the id of the call
  });

  it('R-2 a task that an idempotent agent lost is sent again with the same message id', async () => {
    const worker = await a2aWorker('a2a-idempotent', { idempotent: true });
    worker.isForgetful = true;
    const id = await interrupted('a2a-idempotent', isAccepted);
    await until('the message is sent again', () => worker.messages.length === 2);
    worker.isForgetful = false;
    worker.release();
    expect(await settled(id)).toMatchObject({ state: 'completed' });
    expect(worker.messages.map(({ messageId }) => messageId)).toEqual([id, id]);
  });

  it('R-2 cancelling the run cancels the task of the agent, also after the run has moved to another replica', async () => {
    const worker = await a2aWorker('a2a-cancelled');
    const id = await interrupted('a2a-cancelled', isAccepted);
    await until('the other replica follows the task', () => worker.methods.includes('SubscribeToTask'));
    await here.call('POST', `/v1/runs/${id}/cancel`);
    await until('the task is cancelled', () => [...worker.tasks.values()].every(({ state }) => state === 'CANCELED'));
    expect(await settled(id)).toMatchObject({ state: 'cancelled' });
  });
});

describe('a call of an HTTP agent when its replica stops', () => {
  it('R-2 an idempotent agent gets the same request again, also after many crashes, with the same Idempotency-Key, and answers it once', async () => {
    const worker = await httpWorker('http-idempotent', { idempotent: true });
    const id = await interrupted('http-idempotent', async (run) => worker.busy === 1 && (await crashedOften(run)));
    await until('the request is sent again', () => worker.requests.length > 1);
    worker.release();
    expect(await settled(id)).toMatchObject({
      state: 'completed',
      attempts: 2,
      result: { parts: [{ text: 'did Work.' }] },
      usage: { estimatedTokens: ESTIMATE },
    });
    expect([...worker.executions]).toEqual([[id, 1]]);
    const bodies = new Set(worker.requests.map(({ body }) => JSON.stringify(body)));
    expect(bodies.size).toBe(1);
  });

  it('R-2 the replica waits for an agent that is not idempotent, so its run completes at once', async () => {
    const worker = await httpWorker('http-once');
    const id = await interrupted('http-once', () => worker.busy === 1, {
      release: () => void setTimeout(() => worker.release(), 4_000), // longer than other calls may take
    });
    const run = await settled(id);
    expect(run).toMatchObject({ state: 'completed', attempts: 1, result: { parts: [{ text: 'did Work.' }] } });
    expect(worker.requests).toHaveLength(1);
  });

  it('R-2 a run waits for review only if the call takes longer than the shutdown', async () => {
    const worker = await httpWorker('http-slow');
    const id = await interrupted('http-slow', () => worker.busy === 1, {
      settings: { ROLLCALL_SHUTDOWN_TIMEOUT: '1s' },
    });
    const run = await settled(id);
    expect(run).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    expect(worker.requests).toHaveLength(1);
  });
});

describe('a call of an agent in a process of its own when its replica stops', () => {
  const begun = (): boolean => program.calls.length === 1;
  const define = async (name: string, idempotent: boolean): Promise<void> => {
    const settings = { program: 'gated' };
    const content = { description: 'Works.', provider: 'subprocess', settings, metadata: { idempotent } };
    expect((await here.call('POST', '/v1/definitions', { body: { name, content } })).status).toBe(201);
    program.hold();
  };

  it('R-2 the replica waits for an agent that is not idempotent, so its run completes at once', async () => {
    await define('program-once', false);
    const id = await interrupted('program-once', begun, {
      release: () => void setTimeout(() => program.release(), 4_000), // longer than other calls may take
    });
    const expected = { state: 'completed', attempts: 1, result: { parts: [{ text: 'did Work.' }] } };
    expect(await settled(id)).toMatchObject(expected);
    expect(program.calls).toEqual([id]);
  });

  it('R-2 another replica begins the call of an idempotent agent again, with the same id, and charges it once', async () => {
    await define('program-again', true);
    const id = await interrupted('program-again', begun, { settings: { ROLLCALL_SHUTDOWN_TIMEOUT: '1s' } });
    await until('the call begins again', () => program.calls.length === 2);
    program.release();
    const expected = { state: 'completed', attempts: 2, usage: { estimatedTokens: ESTIMATE } };
    expect(await settled(id)).toMatchObject(expected);
    expect(program.calls).toEqual([id, id]);
  });
});

describe('a call without a reported usage', () => {
  const usageOf = async (agentId: string, declared: object): Promise<RunView['usage']> => {
    const worker = await httpWorker(agentId, declared);
    worker.release();
    if (!there) await executor();
    return (await settled(await start(here, agentId))).usage;
  };

  it('N-11 is charged the price for a task, and no tokens', async () => {
    expect(await usageOf('priced', { costModel: { usdPerTask: 0.25 } })).toEqual({ costMicroUsd: 250_000 });
  });

  it('N-11 is charged the typical tokens that the agent declares, as estimated', async () => {
    expect(await usageOf('typical', { typicalTokens: 700 })).toMatchObject({ estimatedTokens: 700 });
    expect(
      await usageOf('typical-priced', { typicalTokens: 1_000, costModel: { usdPer1kTokens: 0.01 } }),
    ).toMatchObject({
      estimatedTokens: 1_000,
      costMicroUsd: 10_000,
    });
    expect(await usageOf('general', {})).toMatchObject({ estimatedTokens: ESTIMATE });
  });
});

describe('an agent that Rollcall hosts and that is shut down', () => {
  interface Hosted {
    /** What a definition contains besides its description. */
    readonly content: object;
    readonly input?: string;
    isBusy(run: string): boolean | Promise<boolean>;
  }

  const withProgram = (content: object): Hosted => {
    program.hold();
    return { content, isBusy: () => program.calls.length === 1 };
  };

  /** An agent of each provider, whose call is in progress until the agent is shut down. */
  const PROVIDERS: Record<string, () => Promise<Hosted> | Hosted> = {
    a2a: async () => {
      const worker = await A2aWorker.start();
      workers.push(worker);
      return { content: { settings: { url: worker.url } }, isBusy: async (run) => await isAccepted(run) };
    },
    'claude-sdk': () => withProgram({}),
    http: async () => {
      const worker = await HttpWorker.start({ isIdempotent: false });
      workers.push(worker);
      return { content: { settings: { url: worker.url } }, isBusy: () => worker.busy === 1 };
    },
    native: () => ({
      content: { tools: ['clock'], model: { vendor: 'scripted', model: 'steps' } },
      input: 'Read it 50 times.',
      isBusy: async (run) => (await stepTypes(run)).length > 1,
    }),
    subprocess: () => withProgram({ settings: { program: 'gated' } }),
  };

  it('R-7 all providers are tested', async () => {
    const { body } = await here.call<{ items: { name: string }[] }>('GET', '/v1/providers?kind=agent');
    expect(body.items.map(({ name }) => name)).toEqual(Object.keys(PROVIDERS));
  });

  it.each(Object.entries(PROVIDERS))(
    'R-7 the root run of an agent of the provider %s fails with AGENT_CLOSED',
    async (provider, make) => {
      const host = await executor();
      const claude = claudeSdk();
      const registry = host.app.nest.get(AgentProviderRegistry, { strict: false });
      mock.method(registry.get('claude-sdk'), 'createAgent', claude.createAgent.bind(claude));
      const { content, input = 'Work.', isBusy } = await make();
      const name = `hosted-${provider}`;
      const body = { name, content: { description: 'Works.', provider, ...content } };
      expect(await host.call('POST', '/v1/runtime/agents', { body })).toMatchObject({ status: 201 });
      const id = await start(host, name, input);
      await until('the call is in progress', async () => await isBusy(id));
      await here.call('DELETE', `/v1/runtime/agents/${name}`);
      const { state, result, usage } = await settled(id);
      expect({ state, code: result.error?.code }).toEqual({ state: 'failed', code: 'AGENT_CLOSED' });
      expect(await stepTypes(id)).not.toContain('finished');
      if (provider !== 'native') expect(usage).toEqual({ estimatedTokens: ESTIMATE }); // it is unknown what the agent has used
    },
  );

  /** A provider that executes a local program instead of Claude Code. */
  function claudeSdk(): ClaudeSdkAgentProvider {
    const sdk = new FakeClaudeSdk(program.args);
    return new ClaudeSdkAgentProvider({
      secrets: () => undefined,
      load: async () => await Promise.resolve(sdk),
      user: 'same',
    });
  }
});

function pick(call: { callId: string; inputHash: string } | undefined): object {
  return { callId: call?.callId, inputHash: call?.inputHash };
}
