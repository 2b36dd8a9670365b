import type { Agent, AgentEvent, AgentResult, AgentType, HandleOptions } from '../agents/agent.js';
import { ProviderError } from '../errors.js';
import type { AgentScenario } from './agent-scenario.js';
import { expectNothingLeft, openResources } from './leftovers.js';
import { until } from './until.js';

/** One agent under test, and the other side it talks to. */
export interface AgentContractSubject {
  agent: Agent;
  /** Prepares the other side, and gives the text of the message that will meet it. */
  play(scenario: AgentScenario): string;
  /** Calls the other side has begun, and those it is still busy with. */
  begunCalls(): number | Promise<number>;
  busyCalls(): number | Promise<number>;
  /** Ends the other side. What is left after that was left by the agent. */
  close(): Promise<void>;
}

export interface AgentContractOptions {
  agentType: AgentType;
  make(name: string): Promise<AgentContractSubject>;
  /** Whether text arrives before the result. */
  streams?: boolean;
  /** Whether the other side can state its usage. */
  statesUsage?: boolean;
}

const PIECES = ['Hel', 'lo ', 'world'];
const USAGE = { inputTokens: 12, outputTokens: 3, costMicroUsd: 77 };
const CANCEL_WITHIN_MS = 1_000;
const CRASHED = ['AGENT_CRASHED', 'AGENT_UNREACHABLE'];

/** What every Agent promises, whatever it is made of. Run it against each provider. */
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
      await expectNothingLeft(before);
    });
    describeAnswers(() => subject, options);
    describeFailures(() => subject);
    describeEndings(() => subject);
    if (options.streams ?? true) describeLeaving(() => subject);
  });
}

function describeAnswers(the: () => AgentContractSubject, options: AgentContractOptions): void {
  const { agentType, streams = true, statesUsage = true } = options;

  it('has the name it was given, its type, and nothing to do', () => {
    expect(the().agent).toMatchObject({ name: 'ada', agentType, state: 'idle' });
  });

  it('takes a message and ends with one result', async () => {
    const events = await converse(the(), { does: 'answer', pieces: PIECES, usage: USAGE });
    expect(resultOf(events)).toMatchObject({ outcome: 'completed', text: 'Hello world' });
    expect(the().agent.state).toBe('idle');
  });

  if (streams)
    it('passes pieces on before the result', async () => {
      const events = await converse(the(), { does: 'answer', pieces: PIECES });
      expect(events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('')).toBe('Hello world');
      expect(events.length).toBeGreaterThan(1);
    });

  if (statesUsage)
    it('gives the usage that was stated, and leaves the rest undefined', async () => {
      const { usage } = resultOf(await converse(the(), { does: 'answer', pieces: PIECES, usage: USAGE }));
      expect(usage).toEqual(USAGE);
    });

  it('knows no usage where none was stated', async () => {
    const { usage } = resultOf(await converse(the(), { does: 'answer', pieces: PIECES }));
    expect(Object.values(usage).filter((count) => count !== undefined)).toEqual([]);
  });

  it('keeps overlapping calls apart', async () => {
    const texts = ['one', 'two', 'three', 'four'];
    const answers = await Promise.all(
      texts.map(async (text) => await converse(the(), { does: 'answer', pieces: [text] })),
    );
    expect(answers.map((events) => resultOf(events).text)).toEqual(texts);
  });
}

function describeFailures(the: () => AgentContractSubject): void {
  it('passes on that the other side failed, and why', async () => {
    const error = await failure(converse(the(), { does: 'fail', message: 'no such city' }));
    expect(error).toMatchObject({ code: 'AGENT_FAILED', fault: 'remote' });
    expect(error.message).toContain('no such city');
  });

  it('calls it a crash, counted against the other side, when that is gone; the next call may succeed', async () => {
    const error = await failure(converse(the(), { does: 'crash', pieces: PIECES }));
    expect(CRASHED).toContain(error.code);
    expect(error).toMatchObject({ retryable: true, fault: 'remote' });
    expect(the().agent.state).toBe('failed');
    const text = the().play({ does: 'answer', pieces: PIECES });
    for await (const event of the().agent.handle({ text })) if (event.type === 'finished') break;
    expect(the().agent.state).toBe('idle');
  });
}

function describeEndings(the: () => AgentContractSubject): void {
  const busy = async (): Promise<void> =>
    await until('the other side is busy', async () => (await the().busyCalls()) === 1);
  const freeAgain = async (): Promise<void> =>
    await until('the other side has stopped', async () => (await the().busyCalls()) === 0, CANCEL_WITHIN_MS);

  it('ends a call on both sides within a second when it is aborted', async () => {
    const caller = new AbortController();
    const call = failure(converse(the(), { does: 'hang', pieces: PIECES }, { signal: caller.signal }));
    await busy();
    expect(the().agent.state).toBe('busy');
    const abortedAt = performance.now();
    caller.abort();
    expect((await call).code).toBe('CALL_ABORTED');
    expect(performance.now() - abortedAt).toBeLessThan(CANCEL_WITHIN_MS);
    await freeAgain();
    expect(the().agent.state).toBe('idle');
  });

  it('sends nothing when it was aborted before', async () => {
    const error = await failure(converse(the(), { does: 'answer', pieces: PIECES }, { signal: AbortSignal.abort() }));
    expect(error.code).toBe('CALL_ABORTED');
    expect(await the().begunCalls()).toBe(0);
  });

  it('ends its calls when it is shut down, and takes no more', async () => {
    const call = failure(converse(the(), { does: 'hang', pieces: PIECES }));
    await busy();
    const begun = await the().begunCalls();
    await the().agent.shutdown();
    expect((await call).code).toBe('AGENT_CLOSED');
    await freeAgain();
    expect(the().agent.state).toBe('closed');
    const late = await failure(converse(the(), { does: 'answer', pieces: PIECES }));
    expect(late.code).toBe('AGENT_CLOSED');
    expect(await the().begunCalls()).toBe(begun);
    await the().agent.shutdown();
  });
}

function describeLeaving(the: () => AgentContractSubject): void {
  it('ends the call on both sides when its events are left early', async () => {
    const text = the().play({ does: 'hang', pieces: PIECES });
    for await (const event of the().agent.handle({ text })) if (event.type === 'text') break;
    expect(await the().begunCalls()).toBe(1);
    await until('the other side has stopped', async () => (await the().busyCalls()) === 0, CANCEL_WITHIN_MS);
    expect(the().agent.state).toBe('idle');
  });
}

async function converse(
  subject: AgentContractSubject,
  scenario: AgentScenario,
  options?: HandleOptions,
): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  const text = subject.play(scenario);
  for await (const event of subject.agent.handle({ text }, options)) events.push(event);
  return events;
}

async function failure(work: Promise<unknown>): Promise<ProviderError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ProviderError);
  return error as ProviderError;
}

function resultOf(events: AgentEvent[]): AgentResult {
  const ends = events.filter((event) => event.type === 'finished');
  expect(ends).toHaveLength(1);
  expect(events.at(-1)).toBe(ends[0]);
  return ends[0].result;
}
