import { message, textOfParts, textPart } from '../agents/content.part.js';
import { describeContent, describeOutcomes } from './agent-content.contract.js';
import {
  callAgent,
  failure,
  featuresOf,
  resultOf,
  type AgentContractOptions,
  type AgentContractSubject,
} from './agent-contract.subject.js';
import { expectNoOpenResources, openResources } from './open-resources.js';
import { until } from '#rollcall/test-support';

const PIECES = ['Hel', 'lo ', 'world'];
const USAGE = { inputTokens: 12, outputTokens: 3, costMicroUsd: 77 };
const FAILURE_CODES = { fails: ['AGENT_FAILED'], crashes: ['AGENT_CRASHED', 'AGENT_UNREACHABLE'] };

/** The tests that every kind of agent must pass. Each provider runs them. */
export function describeAgentProviderContract(name: string, options: AgentContractOptions): void {
  describe(`S1.10 the agent contract: ${name}`, () => {
    let subject: AgentContractSubject;
    let before: Map<string, number>;
    beforeEach(async () => {
      before = openResources();
      subject = await options.make('ada');
    });
    afterEach(async () => {
      await subject.agent.shutdown();
      await subject.close();
      await expectNoOpenResources(before);
    });
    const features = featuresOf(options);
    describeAnswers(() => subject, options);
    describeContent(() => subject, options);
    describeOutcomes(() => subject, features);
    describeFailures(() => subject, options);
    describeEndings(() => subject);
    if (features.has('streaming')) describeEarlyStop(() => subject);
  });
}

function describeAnswers(subject: () => AgentContractSubject, options: AgentContractOptions): void {
  const { agentType } = options;
  const features = featuresOf(options);

  it('a new agent is idle and has its name and type', () => {
    expect(subject().agent).toMatchObject({ name: 'ada', agentType, state: 'idle' });
  });

  it('answers a message with exactly one result', async () => {
    const events = await callAgent(subject(), { does: 'answer', pieces: PIECES, usage: USAGE });
    expect(resultOf(events)).toMatchObject({ outcome: 'completed', parts: [textPart('Hello world')] });
    expect(subject().agent.state).toBe('idle');
  });

  if (features.has('streaming'))
    it('streams text before the result', async () => {
      const events = await callAgent(subject(), { does: 'answer', pieces: PIECES });
      expect(events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('')).toBe('Hello world');
      expect(events.length).toBeGreaterThan(1);
    });

  if (features.has('usage'))
    it('returns the reported usage and leaves other counts undefined', async () => {
      const { usage } = resultOf(await callAgent(subject(), { does: 'answer', pieces: PIECES, usage: USAGE }));
      expect(usage).toEqual(USAGE);
    });

  it('returns no usage if none was reported', async () => {
    const { usage } = resultOf(await callAgent(subject(), { does: 'answer', pieces: PIECES }));
    expect(Object.values(usage).filter((count) => count !== undefined)).toEqual([]);
  });

  it('does not mix the answers of overlapping calls', async () => {
    const texts = ['one', 'two', 'three', 'four'];
    const answers = await Promise.all(
      texts.map(async (text) => await callAgent(subject(), { does: 'answer', pieces: [text] })),
    );
    expect(answers.map((events) => textOfParts(resultOf(events).parts))).toEqual(texts);
  });
}

function describeFailures(
  subject: () => AgentContractSubject,
  { failureCodes = FAILURE_CODES }: AgentContractOptions,
): void {
  it('reports a failure of the remote side with its reason', async () => {
    const error = await failure(callAgent(subject(), { does: 'fail', message: 'no such city' }));
    expect(failureCodes.fails).toContain(error.code);
    expect(error.fault).toBe('remote');
    expect(error.message).toContain('no such city');
  });

  it('reports a crash as a fault of the remote side, and the next call can succeed', async () => {
    const error = await failure(callAgent(subject(), { does: 'crash', pieces: PIECES }));
    expect(failureCodes.crashes).toContain(error.code);
    expect(error).toMatchObject({ retryable: true, fault: 'remote' });
    expect(subject().agent.state).toBe('failed');
    const text = subject().play({ does: 'answer', pieces: PIECES });
    for await (const event of subject().agent.handle(message(text))) if (event.type === 'finished') break;
    expect(subject().agent.state).toBe('idle');
  });
}

function describeEndings(subject: () => AgentContractSubject): void {
  const busy = async (): Promise<void> =>
    await until('the remote side is busy', async () => (await subject().busyCalls()) === 1);
  const stopped = async (): Promise<void> =>
    await until('the remote side has stopped', async () => (await subject().busyCalls()) === 0);

  it('ends an aborted call on both sides', async () => {
    const caller = new AbortController();
    const call = failure(callAgent(subject(), { does: 'hang', pieces: PIECES }, { signal: caller.signal }));
    await busy();
    expect(subject().agent.state).toBe('busy');
    caller.abort();
    expect((await call).code).toBe('CALL_ABORTED');
    await stopped();
    expect(subject().agent.state).toBe('idle');
  });

  it('sends nothing if the signal is already aborted', async () => {
    const error = await failure(
      callAgent(subject(), { does: 'answer', pieces: PIECES }, { signal: AbortSignal.abort() }),
    );
    expect(error.code).toBe('CALL_ABORTED');
    expect(await subject().begunCalls()).toBe(0);
  });

  it('ends its calls at shutdown and rejects new calls', async () => {
    const call = failure(callAgent(subject(), { does: 'hang', pieces: PIECES }));
    await busy();
    const begun = await subject().begunCalls();
    await subject().agent.shutdown();
    expect((await call).code).toBe('AGENT_CLOSED');
    await stopped();
    expect(subject().agent.state).toBe('closed');
    const late = await failure(callAgent(subject(), { does: 'answer', pieces: PIECES }));
    expect(late.code).toBe('AGENT_CLOSED');
    expect(await subject().begunCalls()).toBe(begun);
    await subject().agent.shutdown();
  });
}

function describeEarlyStop(subject: () => AgentContractSubject): void {
  it('yields no event after the call was aborted', async () => {
    const caller = new AbortController();
    const text = subject().play({ does: 'hang', pieces: PIECES });
    const events: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { type } of subject().agent.handle(message(text), { signal: caller.signal })) {
        if (caller.signal.aborted) events.push(type);
        if (type === 'text') caller.abort();
      }
    };
    expect((await failure(read())).code).toBe('CALL_ABORTED');
    expect(events).toEqual([]);
    await until('the remote side has stopped', async () => (await subject().busyCalls()) === 0);
  });

  it('ends the call on both sides when the caller stops reading', async () => {
    const text = subject().play({ does: 'hang', pieces: PIECES });
    for await (const event of subject().agent.handle(message(text))) if (event.type === 'text') break;
    expect(await subject().begunCalls()).toBe(1);
    await until('the remote side has stopped', async () => (await subject().busyCalls()) === 0);
    expect(subject().agent.state).toBe('idle');
  });
}
