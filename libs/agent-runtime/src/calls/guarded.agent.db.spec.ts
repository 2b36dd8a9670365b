import {
  A2aAgentProvider,
  HttpAgentProvider,
  ProviderError,
  SubprocessAgentProvider,
  type Agent,
  type AgentEvent,
  type HandleOptions,
} from '#rollcall/providers';
import {
  localOutbound,
  LocalServer,
  FakeA2aServer,
  FakeProgram,
  startFakeHttpAgent,
  type AgentScenario,
} from '#rollcall/providers/testing';
import { CircuitOpenError } from '#rollcall/registry';
import { type TestRegistry, TwoReplicas } from '#rollcall/registry/testing';
import { GuardedAgent } from './guarded.agent.js';

const FAILURES_TO_OPEN = 5;

let replicas: TwoReplicas;
let here: TestRegistry;
let there: TestRegistry;
let closing: { close(): Promise<void> | void }[];
let lost: unknown[];
beforeEach(async () => {
  replicas = await TwoReplicas.start();
  ({ here, there } = replicas);
  closing = [];
  lost = [];
});
afterEach(async () => {
  for (const one of closing.toReversed()) await one.close();
  await replicas.stop();
});

/** Behind the circuit that the registry keeps for `ada`, as one replica sees it. */
function guard(agent: Agent, { circuits }: TestRegistry = here): GuardedAgent {
  return new GuardedAgent({ agentId: 'ada', agent, circuits, onReportFailed: (error) => lost.push(error) });
}

/** `ada` joins, and is called through her circuit from here. */
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
  const programs = { fake: { command: process.execPath, args: program.args } };
  const provider = new SubprocessAgentProvider({ programs, secrets: () => undefined });
  return await provider.createAgent({ name: 'ada', settings: { program: 'fake' } });
}

const PROVIDERS: [string, () => Promise<Agent>][] = [
  ['a2a', a2aAgent],
  ['http', httpAgent],
  ['subprocess', subprocessAgent],
];
const ANSWER: AgentScenario = { does: 'answer', pieces: ['x'] };
const CRASH: AgentScenario = { does: 'crash', pieces: ['x'] };

async function call(agent: Agent, scenario: AgentScenario, options?: HandleOptions): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of agent.handle({ text: JSON.stringify(scenario) }, options)) events.push(event);
  return events;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'answered',
    (error: { code: string }) => error.code,
  );
}

async function circuit(): Promise<{ state: string; failures: number }> {
  const { health } = await there.agents.get('ada');
  return { state: health.circuitBreakerState, failures: health.consecutiveFailures };
}

async function crashUntilOpen(agent: Agent): Promise<void> {
  for (let failure = 0; failure < FAILURES_TO_OPEN; failure += 1) await codeOf(call(agent, CRASH));
}

/** Puts the end of the cool-down back instead of waiting for it. */
async function coolDownIsOver(): Promise<void> {
  const db = await replicas.database.connectAgain();
  await db.query(`UPDATE agent SET circuit = jsonb_set(circuit, '{openUntil}', '1') WHERE agent_id = 'ada'`);
}

describe.each(PROVIDERS)('a guarded agent: %s', (_name, make) => {
  it('S3.8 S1.10 crashes of the other side open its circuit on every replica, and calls stop there', async () => {
    const inner = await make();
    const agent = await registered(inner);
    for (let failure = 1; failure < FAILURES_TO_OPEN; failure += 1) {
      expect(['AGENT_CRASHED', 'AGENT_UNREACHABLE']).toContain(await codeOf(call(agent, CRASH)));
      expect(await circuit()).toEqual({ state: 'closed', failures: failure });
    }
    await codeOf(call(agent, CRASH));
    expect(await circuit()).toEqual({ state: 'open', failures: FAILURES_TO_OPEN });
    const refused = await call(guard(inner, there), ANSWER).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CircuitOpenError);
    expect((refused as CircuitOpenError).retryAfterMs).toBeGreaterThan(0);
    expect(lost).toEqual([]);
  });

  it('S3.8 S1.10 an answer closes the count, also when the caller leaves with it in hand', async () => {
    const agent = await registered(await make());
    await codeOf(call(agent, CRASH));
    for await (const event of agent.handle({ text: JSON.stringify(ANSWER) })) if (event.type === 'finished') break;
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
    expect((await there.agents.get('ada')).lastTaskAt).not.toBeNull();
  });

  it('S3.8 S1.10 a cancelled call, or one that was left, counts neither way', async () => {
    const agent = await registered(await make());
    await codeOf(call(agent, CRASH));
    const caller = new AbortController();
    const text = JSON.stringify({ does: 'hang', pieces: ['x'] });
    const hanging = agent.handle({ text }, { signal: caller.signal });
    await hanging.next();
    caller.abort();
    expect(await codeOf(hanging.next())).toBe('CALL_ABORTED');
    for await (const event of agent.handle({ text })) if (event.type === 'text') break;
    expect(await circuit()).toEqual({ state: 'closed', failures: 1 });
  });

  it('S3.8 S1.10 a deadline whose reason blames the agent counts as its failure', async () => {
    const agent = await registered(await make());
    const deadline = new AbortController();
    const hanging = agent.handle(
      { text: JSON.stringify({ does: 'hang', pieces: ['x'] }) },
      { signal: deadline.signal },
    );
    await hanging.next();
    deadline.abort(new ProviderError('AGENT_UNREACHABLE', 'It took too long.'));
    expect(await codeOf(hanging.next())).toBe('AGENT_UNREACHABLE');
    expect(await circuit()).toEqual({ state: 'closed', failures: 1 });
  });

  it('S3.8 S1.10 a probe that was cancelled or left gives its slot to the next caller', async () => {
    const inner = await make();
    const agent = await registered(inner);
    await crashUntilOpen(agent);
    await coolDownIsOver();
    const text = JSON.stringify({ does: 'hang', pieces: ['x'] });
    const caller = new AbortController();
    const hanging = agent.handle({ text }, { signal: caller.signal });
    await hanging.next();
    expect(await codeOf(call(guard(inner, there), ANSWER))).toBe('CIRCUIT_OPEN');
    caller.abort();
    expect(await codeOf(hanging.next())).toBe('CALL_ABORTED');
    for await (const event of guard(inner, there).handle({ text })) if (event.type === 'text') break;
    expect(await circuit()).toEqual({ state: 'half_open', failures: FAILURES_TO_OPEN });
    expect(await codeOf(call(agent, ANSWER))).toBe('answered');
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
  });

  it('S3.8 S1.10 of many callers one probes, and its success lets everybody in again', async () => {
    const inner = await make();
    const agent = await registered(inner);
    await crashUntilOpen(agent);
    await coolDownIsOver();
    const guards = Array.from({ length: 10 }, (_, index) => guard(inner, index % 2 ? here : there));
    const codes = await Promise.all(guards.map(async (one) => await codeOf(call(one, ANSWER))));
    expect(codes).toContain('answered');
    expect(codes.every((code) => code === 'answered' || code === 'CIRCUIT_OPEN')).toBe(true);
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
    expect(await codeOf(call(agent, ANSWER))).toBe('answered');
  });
});

describe('a guarded agent', () => {
  const answering = async (status: number, body = '{}'): Promise<GuardedAgent> => {
    const [out, server] = [
      localOutbound(),
      await LocalServer.start((_request, response) => response.writeHead(status).end(body)),
    ];
    closing.push(server, out);
    return await registered(
      await new HttpAgentProvider(out).createAgent({ name: 'ada', settings: { url: server.url } }),
    );
  };

  it.each([400, 401, 403, 422])('S3.8 is not blamed for status %i, which is the fault of others', async (status) => {
    const agent = await answering(status);
    for (let failure = 0; failure < FAILURES_TO_OPEN; failure += 1) await codeOf(call(agent, ANSWER));
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
  });

  it.each([404, 429, 500, 503])('S3.8 is blamed for status %i', async (status) => {
    const agent = await answering(status);
    await codeOf(call(agent, ANSWER));
    expect(await circuit()).toEqual({ state: 'closed', failures: 1 });
  });

  it('S3.8 is not blamed for a budget that does not suffice, nor for what is broken on our side', async () => {
    const errors = [new ProviderError('AGENT_LIMIT_REACHED', 'enough'), new TypeError('a mistake of ours')];
    const agent = await registered({
      name: 'ada',
      agentType: 'in-process',
      state: 'idle',
      handle: () => failing(errors[0]),
      shutdown: async () => undefined,
    });
    for (; errors.length > 0; errors.shift()) await expect(call(agent, ANSWER)).rejects.toBe(errors[0]);
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
  });

  it('S3.8 gives its answer though the outcome cannot be written down, and somebody hears of it', async () => {
    const agent = await registered(await httpAgent());
    const events: string[] = [];
    for await (const event of agent.handle({ text: JSON.stringify(ANSWER) })) {
      events.push(event.type);
      if (event.type === 'text') await here.agents.remove('ada', 'evicted');
    }
    expect(events).toEqual(['text', 'finished']);
    expect(lost).toMatchObject([{ code: 'AGENT_NOT_FOUND' }]);
  });

  it('S1.10 is its agent to every caller: name, type, state, shutdown', async () => {
    const agent = await registered(await httpAgent());
    expect([agent.name, agent.agentType, agent.state]).toEqual(['ada', 'api', 'idle']);
    await agent.shutdown();
    expect([agent.state, await codeOf(call(agent, ANSWER))]).toEqual(['closed', 'AGENT_CLOSED']);
    expect(await circuit()).toEqual({ state: 'closed', failures: 0 });
  });
});

async function* failing(error: unknown): AsyncGenerator<AgentEvent> {
  yield { type: 'progress', text: 'at work' };
  throw error;
}
