import type { ModelEvent, ModelProvider, ModelReply, ModelRequest } from '../models/model.provider.js';
import { userMessage, type ToolCallPart } from '../models/message.js';
import { ProviderError, type ProviderErrorCode } from '../errors.js';
import { expectNoOpenResources, openResources } from './open-resources.js';
import { until } from '#rollcall/test-support';
import type { Scenario, ScenarioCall } from './wires/scenario.js';

/** A model provider under test, and the fake vendor that it calls. */
export interface ModelContractSubject {
  provider: ModelProvider;
  /** Sets the scenario of the next call. */
  play(scenario: Scenario): void;
  /** The number of calls that the vendor has received. */
  calls(): number;
  /** The number of connections in use by a call. Idle connections do not count. */
  busyConnections(): number;
  /** The key that must not appear in any error. */
  key?: string;
  close(): Promise<void>;
}

const USAGE = { inputTokens: 142, outputTokens: 7, cacheReadTokens: 100 };
const PIECES = ['Hel', 'lo ', 'world'];
const CALLS = [
  { id: 'call_1', name: 'search', input: { q: 'x' } },
  { id: 'call_2', name: 'read', input: { file: 'y', lines: [1, 2] } },
];
const REQUEST: ModelRequest = {
  messages: [{ role: 'system', text: 'Be brief.' }, userMessage('Hello?')],
  tools: ['search', 'read'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } })),
};

/** The tests that every ModelProvider must pass. Each implementation runs them. */
export function describeModelProviderContract(name: string, make: () => Promise<ModelContractSubject>): void {
  describe(`S1.10 the model contract: ${name}`, () => {
    let subject: ModelContractSubject;
    let before: Map<string, number>;
    beforeEach(async () => {
      before = openResources();
      subject = await make();
    });
    afterEach(async () => {
      await subject.close();
      await expectNoOpenResources(before);
    });
    describeAnswers(() => subject);
    describeFailures(() => subject);
    describeEndings(() => subject);
  });
}

function describeAnswers(subject: () => ModelContractSubject): void {
  it('returns the complete text and the reported usage', async () => {
    subject().play({ does: 'say', pieces: PIECES, usage: USAGE });
    const reply = await subject().provider.complete(REQUEST);
    expect(plain(reply)).toEqual({ content: [{ type: 'text', text: 'Hello world' }], finish: 'stop', usage: USAGE });
  });

  it('leaves a count that was not reported undefined and not 0', async () => {
    subject().play({ does: 'say', pieces: PIECES, usage: { inputTokens: 3, outputTokens: 4 } });
    expect((await subject().provider.complete(REQUEST)).usage).toEqual({ inputTokens: 3, outputTokens: 4 });
  });

  it('returns a reported 0', async () => {
    const usage = { inputTokens: 3, outputTokens: 4, cacheReadTokens: 0 };
    subject().play({ does: 'say', pieces: PIECES, usage });
    expect((await subject().provider.complete(REQUEST)).usage).toEqual(usage);
  });

  it.each(['say', 'refuse', 'run out of tokens'] as const)(
    'returns the same reply with and without streaming: %s',
    async (does) => {
      const scenario: Scenario = { does, pieces: PIECES, usage: USAGE };
      subject().play(scenario);
      const events = await drain(subject().provider, REQUEST);
      subject().play(scenario);
      const reply = await subject().provider.complete(REQUEST);
      expect(texts(events)).toBe('Hello world');
      expect(plain(finished(events))).toEqual(plain(reply));
      expect(reply.finish).toBe(FINISH[does]);
    },
  );

  it('returns one tool call with its parsed input', async () => {
    subject().play({ does: 'call', calls: CALLS.slice(0, 1), usage: USAGE });
    const reply = plain(await subject().provider.complete(REQUEST));
    expect(reply).toEqual({ content: [toolCall(0)], finish: 'tool-calls', usage: USAGE });
  });

  it('returns parallel tool calls in order, with and without streaming', async () => {
    const scenario: Scenario = { does: 'call', calls: CALLS, usage: USAGE };
    subject().play(scenario);
    const reply = plain(await subject().provider.complete(REQUEST));
    expect(reply).toEqual({ content: [toolCall(0), toolCall(1)], finish: 'tool-calls', usage: USAGE });
    subject().play(scenario);
    const events = await drain(subject().provider, REQUEST);
    expect(plain(finished(events))).toEqual(reply);
    expect(events.flatMap((event) => (event.type === 'tool-call' ? [event.call.id] : []))).toEqual([
      'call_1',
      'call_2',
    ]);
  });
}

const FINISH = { say: 'stop', refuse: 'refusal', 'run out of tokens': 'length' };

const FAILURES: [number, ProviderErrorCode, boolean][] = [
  [400, 'MODEL_REQUEST_REFUSED', false],
  [401, 'MODEL_KEY_REFUSED', false],
  [429, 'MODEL_RATE_LIMITED', true],
  [500, 'MODEL_UNAVAILABLE', true],
  [529, 'MODEL_OVERLOADED', true],
];

function describeFailures(subject: () => ModelContractSubject): void {
  it.each(FAILURES)(
    'converts status %i to %s without a retry, and the error does not contain the key',
    async (status, code, retryable) => {
      for (const attempt of [complete, drain]) {
        const before = subject().calls();
        subject().play({ does: 'fail', status, headers: { 'retry-after': '7' } });
        const error = await failure(attempt(subject().provider, REQUEST));
        expect(error).toMatchObject({ code, retryable, status, retryAfterMs: 7_000 });
        expect(subject().calls()).toBe(before + 1);
        expectNoKey(error, subject().key);
      }
    },
  );

  it.each(FAILURES)(
    'B2 an error with status %i reports a usage of 0 if the vendor rejected the call, and an unknown usage otherwise',
    async (status) => {
      for (const attempt of [complete, drain]) {
        subject().play({ does: 'fail', status });
        const { usage } = await failure(attempt(subject().provider, REQUEST));
        expect(usage).toEqual(status === 500 ? undefined : { inputTokens: 0, outputTokens: 0 });
      }
    },
  );

  it.each(['drop', 'stop short'] as const)('reports a stream that ends too early as broken: %s', async (does) => {
    subject().play({ does, pieces: PIECES });
    const error = await failure(drain(subject().provider, REQUEST));
    expect(error).toMatchObject({ code: 'MODEL_STREAM_BROKEN', retryable: true });
    expect(error.usage).not.toEqual({ inputTokens: 0, outputTokens: 0 });
  });
}

function describeEndings(subject: () => ModelContractSubject): void {
  it('ends an aborted stream and keeps no connection', async () => {
    subject().play({ does: 'hang', pieces: PIECES });
    const caller = new AbortController();
    const reading = (async (): Promise<void> => {
      for await (const event of subject().provider.stream(REQUEST, { signal: caller.signal })) {
        if (event.type === 'text') caller.abort();
      }
    })();
    expect(await failure(reading)).toMatchObject({ code: 'CALL_ABORTED', retryable: false });
    await noneBusy(subject());
  });

  it('ends an aborted call and keeps no connection', async () => {
    subject().play({ does: 'hang', pieces: PIECES });
    const caller = new AbortController();
    const call = failure(subject().provider.complete(REQUEST, { signal: caller.signal }));
    await until('the call has arrived', () => subject().calls() === 1);
    caller.abort();
    expect((await call).code).toBe('CALL_ABORTED');
    await noneBusy(subject());
  });

  it('sends nothing if the signal is already aborted', async () => {
    const options = { signal: AbortSignal.abort() };
    expect((await failure(subject().provider.complete(REQUEST, options))).code).toBe('CALL_ABORTED');
    expect((await failure(drain(subject().provider, REQUEST, options))).code).toBe('CALL_ABORTED');
    expect(subject().calls()).toBe(0);
  });

  it('ends the call when the caller stops reading', async () => {
    subject().play({ does: 'hang', pieces: PIECES });
    for await (const event of subject().provider.stream(REQUEST)) if (event.type === 'text') break;
    await noneBusy(subject());
    expect(subject().calls()).toBe(1);
  });

  it('keeps no connection in use after an answer', async () => {
    subject().play({ does: 'say', pieces: PIECES, usage: USAGE });
    await drain(subject().provider, REQUEST);
    await noneBusy(subject());
    expect(subject().calls()).toBe(1);
  });
}

async function complete(provider: ModelProvider, request: ModelRequest): Promise<ModelReply> {
  return await provider.complete(request);
}

async function drain(provider: ModelProvider, request: ModelRequest, options = {}): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of provider.stream(request, options)) events.push(event);
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

async function noneBusy(subject: ModelContractSubject): Promise<void> {
  await until('no connection is in use', () => subject.busyConnections() === 0);
}

function finished(events: ModelEvent[]): ModelReply {
  const ends = events.filter((event) => event.type === 'finished');
  expect(ends).toHaveLength(1);
  expect(events.at(-1)).toBe(ends[0]);
  return ends[0].reply;
}

function texts(events: ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

function toolCall(index: number): ToolCallPart {
  const { id, name, input } = CALLS[index] as ScenarioCall;
  return { type: 'tool-call', id, name, input };
}

/** Removes vendor-specific fields. */
function plain({ content, finish, usage }: ModelReply): object {
  return { content: content.map((part) => ({ ...part, vendorData: undefined })), finish, usage };
}

function expectNoKey(error: ProviderError, key?: string): void {
  if (!key) return;
  const shown = [error.message, error.stack, JSON.stringify(error), String(error.cause)].join('\n');
  expect(shown).not.toContain(key);
}
