import { proxyPostgres } from '#rollcall/platform/testing';
import {
  A2aAgentProvider,
  type Agent,
  type AgentEvent,
  type AgentResult,
  type AgentUsage,
  type CallContext,
  type HandleOptions,
  HttpAgentProvider,
  message,
  ProviderError,
  SubprocessAgentProvider,
  textOfParts,
  textPart,
} from '#rollcall/providers';
import {
  type AgentScenario,
  FakeA2aServer,
  FakeProgram,
  localOutbound,
  LocalServer,
  startFakeHttpAgent,
} from '#rollcall/providers/testing';
import { CircuitOpenError } from '#rollcall/registry';
import { type TestRegistry, testRegistry, TwoReplicas } from '#rollcall/registry/testing';
import { until } from '#rollcall/test-support';
import type { RunContext } from '../loop/run.context.js';
import { GuardedAgent } from './guarded.agent.js';

const FAILURES_TO_OPEN = 5;

let replicas: TwoReplicas;
let here: TestRegistry;
let there: TestRegistry;
let closing: { close(): Promise<void> | void }[];
let reportErrors: unknown[];
beforeEach(async () => {
  replicas = await TwoReplicas.start();
  ({ here, there } = replicas);
  closing = [];
  reportErrors = [];
});
afterEach(async () => {
  for (const one of closing.toReversed()) await one.close();
  await replicas.stop();
});

/** Guards the agent with the circuit of `ada`, on the replica `here` by default. */
function guard(agent: Agent, { circuits }: TestRegistry = here): GuardedAgent {
  return new GuardedAgent({ agentId: 'ada', agent, circuits, onReportFailed: (error) => reportErrors.push(error) });
}

/** Registers `ada`, and returns the agent guarded by its circuit on the replica `here`. */
async function registered(agent: Agent): Promise<GuardedAgent> {
  await here.given.agent({ agentId: 'ada' });
  closing.push({ close: async () => await agent.shutdown() });
  return guard(agent);
}

async function a2aAgent(): Promise<Agent> {
  const [out, server] = [localOutbound(), await FakeA2aServer.start()];
  closing.push(server, out);
  return await new A2aAgentProvider(out).createAgent({ name: 'ada', settings: { url: server.url } });
}

async function httpAgent(): Promise<Agent> {
  const [out, server] = [localOutbound(), await startFakeHttpAgent('ndjson')];
  closing.push(server, out);
  return await new HttpAgentProvider(out).createAgent({ name: 'ada', settings: { url: server.url } });
}

async function subprocessAgent(): Promise<Agent> {
  const program = new FakeProgram();
  closing.push({ close: () => program.remove() });
  const programs = { fake: { command: process.execPath, args: program.args, user: 'same' } };
  const provider = new SubprocessAgentProvider({ programs, secrets: () => undefined });
  return await provider.createAgent({ name: 'ada', settings: { program: 'fake' } });
}

const PROVIDERS: [string, () => Promise<Agent>][] = [
  ['a2a', a2aAgent],
  ['http', httpAgent],
  ['subprocess', subprocessAgent],
];
const ANSWER: AgentScenario = { does: 'answer', pieces: ['x'] };
const USAGE: AgentUsage = { inputTokens: 500 };
const CRASH: AgentScenario = { does: 'crash', pieces: ['x'] };

async function call(agent: Agent, scenario: AgentScenario, options?: HandleOptions): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of agent.handle(message(JSON.stringify(scenario)), options)) events.push(event);
  return events;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'succeeded',
    (error: { code: string }) => error.code,
  );
}

/** Resolves when the outcomes of all calls are recorded. A call does not wait for that. */
async function recorded(): Promise<void> {
  await Promise.all([here.circuits.idle(), there.circuits.idle()]);
}

async function circuit(): Promise<{ state: string; failures: number }> {
  await recorded();
  const { health } = await there.agents.get('ada');
  return { state: health.circuitBreakerState, failures: health.consecutiveFailures };
}

async function crashUntilOpen(agent: Agent): Promise<void> {
  for (let failure = 0; failure < FAILURES_TO_OPEN; failure += 1) await codeOf(call(agent, CRASH));
  await recorded();
}

/** Back-dates the end of the cool-down. */
async function endCoolDown(): Promise<void> {
  const db = await replicas.database.connectAgain();
  await db.query(`UPDATE agent_circuit SET state = jsonb_set(state, '{openUntil}', '1') WHERE agent_id = 'ada'`);
}

describe.each(PROVIDERS)('a guarded agent: %s', (_name, createAgent) => {
  it('S3.8 S1.10 opens its circuit on every replica after repeated crashes of the remote side, and rejects calls', async () => {
    const inner = await createAgent();
    const agent = await registered(inner);
    for (let failure = 1; failure < FAILURES_TO_OPEN; failure += 1) {
      expect(['AGENT_CRASHED', 'AGENT_UNREACHABLE']).toContain(await codeOf(call(agent, CRASH)));
      expect(await circuit()).toEqual({ state: 'closed', failures: failure });
    }
    await codeOf(call(agent, CRASH));
    expect(await circuit()).toEqual({ state: 'open', failures: FAILURES_TO_OPEN });
    const rejected = await call(guard(inner, there), ANSWER).catch((error: unknown) => error);
    expect(rejected).toBeInstanceOf(CircuitOpenError);
    expect((rejected as CircuitOpenError).retryAfterMs).toBeGreaterThan(0);
    expect(reportErrors).toEqual([]);
  });

  it('S3.8 S1.10 resets its failure count after an answer, even if the caller stops reading at the result', async () => {
    const agent = await registered(await createAgent());
    await codeOf(call(agent, CRASH));
    for await (const event of agent.handle(message(JSON.stringify(ANSWER)))) {
      if (event.type !== 'finished') continue;
      expect(textOfParts(event.result.parts)).toBe('x');
      break;
    }
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
    expect((await there.agents.get('ada')).lastTaskAt).not.toBeNull();
  });

  it('S3.8 S1.10 counts a cancelled or abandoned call neither as a failure nor as a success', async () => {
    const agent = await registered(await createAgent());
    await codeOf(call(agent, CRASH));
    const caller = new AbortController();
    const text = JSON.stringify({ does: 'hang', pieces: ['x'] });
    const hanging = agent.handle(message(text), { signal: caller.signal });
    await hanging.next();
    caller.abort();
    expect(await codeOf(hanging.next())).toBe('CALL_ABORTED');
    for await (const event of agent.handle(message(text))) if (event.type === 'text') break;
    expect(await circuit()).toEqual({ state: 'closed', failures: 1 });
  });

  it('S3.8 S1.10 counts an abort as a failure if the abort reason is a fault of the agent', async () => {
    const agent = await registered(await createAgent());
    const deadline = new AbortController();
    const hanging = agent.handle(message(JSON.stringify({ does: 'hang', pieces: ['x'] })), { signal: deadline.signal });
    await hanging.next();
    deadline.abort(new ProviderError('AGENT_UNREACHABLE', 'It took too long.'));
    expect(await codeOf(hanging.next())).toBe('AGENT_UNREACHABLE');
    expect(await circuit()).toEqual({ state: 'closed', failures: 1 });
  });

  it('S3.8 S1.10 gives the slot of a cancelled or abandoned probe to the next caller', async () => {
    const inner = await createAgent();
    const agent = await registered(inner);
    await crashUntilOpen(agent);
    await endCoolDown();
    const text = JSON.stringify({ does: 'hang', pieces: ['x'] });
    const caller = new AbortController();
    const hanging = agent.handle(message(text), { signal: caller.signal });
    await hanging.next();
    expect(await codeOf(call(guard(inner, there), ANSWER))).toBe('CIRCUIT_OPEN');
    caller.abort();
    expect(await codeOf(hanging.next())).toBe('CALL_ABORTED');
    await recorded();
    for await (const event of guard(inner, there).handle(message(text))) if (event.type === 'text') break;
    expect(await circuit()).toEqual({ state: 'half_open', failures: FAILURES_TO_OPEN });
    expect(await codeOf(call(agent, ANSWER))).toBe('succeeded');
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
  });

  it('S3.8 S1.10 lets one of many callers probe, and accepts all calls after the probe succeeds', async () => {
    const inner = await createAgent();
    const agent = await registered(inner);
    await crashUntilOpen(agent);
    await endCoolDown();
    const guards = Array.from({ length: 10 }, (_, index) => guard(inner, index % 2 ? here : there));
    const codes = await Promise.all(guards.map(async (one) => await codeOf(call(one, ANSWER))));
    expect(codes).toContain('succeeded');
    expect(codes.every((code) => code === 'succeeded' || code === 'CIRCUIT_OPEN')).toBe(true);
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
    expect(await codeOf(call(agent, ANSWER))).toBe('succeeded');
  });
});

describe('a guarded agent', () => {
  const agentWithAnswer = async (status: number, body = '{}'): Promise<GuardedAgent> => {
    const [out, server] = [
      localOutbound(),
      await LocalServer.start((_request, response) => response.writeHead(status).end(body)),
    ];
    closing.push(server, out);
    return await registered(
      await new HttpAgentProvider(out).createAgent({ name: 'ada', settings: { url: server.url } }),
    );
  };

  it.each([400, 401, 403, 422])(
    'S3.8 does not count status %i as a failure, because it is not a fault of the agent',
    async (status) => {
      const agent = await agentWithAnswer(status);
      for (let failure = 0; failure < FAILURES_TO_OPEN; failure += 1) await codeOf(call(agent, ANSWER));
      expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
    },
  );

  it.each([404, 429, 500, 503])('S3.8 counts status %i as a failure', async (status) => {
    const agent = await agentWithAnswer(status);
    await codeOf(call(agent, ANSWER));
    expect(await circuit()).toEqual({ state: 'closed', failures: 1 });
  });

  it('S3.8 counts neither a rejected request nor an internal error as a failure', async () => {
    const errors = [new ProviderError('AGENT_REQUEST_REFUSED', 'rejected'), new TypeError('an internal error')];
    const agent = await registered(inProcess(() => failing(errors[0])));
    for (; errors.length > 0; errors.shift()) await expect(call(agent, ANSWER)).rejects.toBe(errors[0]);
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
  });

  it.each<AgentResult>([
    { outcome: 'refused', parts: [textPart('no')], usage: USAGE },
    { outcome: 'stopped', reason: 'budget', detail: 'It used 500 tokens.', parts: [], usage: USAGE },
  ])('S3.8 S1.10 counts the outcome $outcome as a success, but ignores its latency', async (result) => {
    const agent = await registered(inProcess(() => finishing(result)));
    await codeOf(call(guard(inProcess(() => failing(new ProviderError('AGENT_FAILED', 'failed')))), ANSWER));
    expect(await circuit()).toEqual({ state: 'closed', failures: 1 });
    expect(await call(agent, ANSWER)).toEqual([{ type: 'finished', result }]);
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
    expect((await there.agents.get('ada')).latency.observedMs).toBeNull();
    await call(guard(inProcess(() => finishing({ outcome: 'completed', parts: [], usage: {} }))), ANSWER);
    await recorded();
    expect((await there.agents.get('ada')).latency.observedMs).not.toBeNull();
  });

  it('S2.9 passes the context of the run to the agent', async () => {
    const run: RunContext = {
      namespace: 'default',
      rootRunId: 'root',
      runId: 'child',
      agentName: 'ada',
      ancestry: ['planner'],
      depth: 1,
      deadline: null,
      limits: { maxDepth: 3, maxWidth: 4, maxRuns: 10 },
    };
    const received: (CallContext | undefined)[] = [];
    const agent = await registered(
      inProcess((options) => {
        received.push(options?.context);
        return finishing({ outcome: 'completed', parts: [], usage: {} });
      }),
    );
    await call(agent, ANSWER, { context: run });
    expect(received).toEqual([run]);
  });

  it('S3.8 returns the answer even if the outcome cannot be saved, and reports the error', async () => {
    const agent = await registered(await httpAgent());
    const events: string[] = [];
    for await (const event of agent.handle(message(JSON.stringify(ANSWER)))) {
      events.push(event.type);
      if (event.type === 'text') await here.agents.remove('ada', 'evicted');
    }
    expect(events).toEqual(['text', 'finished']);
    await recorded();
    expect(reportErrors).toMatchObject([{ code: 'AGENT_NOT_FOUND' }]);
  });

  it('R-5 a call starts and ends while the database does not respond, and its outcome is recorded afterwards', async () => {
    const { proxy, url } = await proxyPostgres(replicas.database.url);
    closing.push({ close: async () => await proxy.stop() });
    const db = await replicas.database.connectAgain({ url, operationTimeoutMs: 500 });
    const apart = await testRegistry(db);
    const agent = guard(await httpAgent(), apart);
    await apart.given.agent({ agentId: 'ada' });
    await apart.idle();
    proxy.stall();
    expect(await codeOf(call(agent, CRASH))).not.toBe('succeeded');
    expect(await codeOf(call(agent, ANSWER))).toBe('succeeded');
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
    await apart.circuits.idle();
    proxy.heal();
    await until('the outcomes are recorded', async () => {
      await apart.circuits.record();
      return (await here.circuits.listOutcomes('ada', 9, undefined)).length === 2;
    });
    expect(reportErrors).toEqual([]);
    await apart.idle();
  });

  it('S1.10 has the name, type and state of the agent behind it, and shuts it down', async () => {
    const agent = await registered(await httpAgent());
    expect([agent.name, agent.agentType, agent.state]).toEqual(['ada', 'api', 'idle']);
    await agent.shutdown();
    expect([agent.state, await codeOf(call(agent, ANSWER))]).toEqual(['closed', 'AGENT_CLOSED']);
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
  });
});

/** Returns an agent whose calls yield the events of `handle`. */
function inProcess(handle: (options?: HandleOptions) => AsyncIterable<AgentEvent>): Agent {
  return {
    name: 'ada',
    agentType: 'in-process',
    state: 'idle',
    handle: (_message, options) => handle(options),
    shutdown: async () => undefined,
  };
}

async function* finishing(result: AgentResult): AsyncGenerator<AgentEvent> {
  yield { type: 'finished', result };
}

async function* failing(error: unknown): AsyncGenerator<AgentEvent> {
  yield { type: 'progress', text: 'working' };
  throw error;
}
