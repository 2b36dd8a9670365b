import type { ModelEvent, ModelProvider, ModelReply, ModelRequest } from '../models/model.provider.js';
import { userMessage, type ToolCallPart } from '../models/message.js';
import { ProviderError, type ProviderErrorCode } from '../errors.js';
import { expectNothingLeft, openResources } from './leftovers.js';
import { until } from './until.js';
import type { Scenario, ScenarioCall } from './wires/scenario.js';

/** One implementation under test, and the other side it talks to. */
export interface ModelContractSubject {
  provider: ModelProvider;
  /** Decides what the next call meets. */
  play(scenario: Scenario): void;
  /** How many calls have reached the other side. */
  calls(): number;
  /** Connections in use by a call; idle ones kept for the next do not count. */
  busyConnections(): number;
  /** Must not show up anywhere. */
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
const CANCEL_WITHIN_MS = 1_000;

/** What every ModelProvider promises. Run it against each implementation. */
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
      await expectNothingLeft(before);
    });
    describeAnswers(() => subject);
    describeFailures(() => subject);
    describeEndings(() => subject);
  });
}

function describeAnswers(the: () => ModelContractSubject): void {
  it('gives the whole text and the usage that was stated', async () => {
    the().play({ does: 'say', pieces: PIECES, usage: USAGE });
    const reply = await the().provider.complete(REQUEST);
    expect(plain(reply)).toEqual({ content: [{ type: 'text', text: 'Hello world' }], finish: 'stop', usage: USAGE });
  });

  it('leaves a count that was not stated undefined, not 0', async () => {
    the().play({ does: 'say', pieces: PIECES, usage: { inputTokens: 3, outputTokens: 4 } });
    expect((await the().provider.complete(REQUEST)).usage).toEqual({ inputTokens: 3, outputTokens: 4 });
  });

  it('believes a 0 that was stated', async () => {
    const usage = { inputTokens: 3, outputTokens: 4, cacheReadTokens: 0 };
    the().play({ does: 'say', pieces: PIECES, usage });
    expect((await the().provider.complete(REQUEST)).usage).toEqual(usage);
  });

  it.each(['say', 'refuse', 'run out of tokens'] as const)(
    'streams the same reply that it gives at once: %s',
    async (does) => {
      const scenario: Scenario = { does, pieces: PIECES, usage: USAGE };
      the().play(scenario);
      const events = await drain(the().provider, REQUEST);
      the().play(scenario);
      const reply = await the().provider.complete(REQUEST);
      expect(texts(events)).toBe('Hello world');
      expect(plain(finished(events))).toEqual(plain(reply));
      expect(reply.finish).toBe(FINISH[does]);
    },
  );

  it('gives one tool call with its input parsed', async () => {
    the().play({ does: 'call', calls: CALLS.slice(0, 1), usage: USAGE });
    const reply = plain(await the().provider.complete(REQUEST));
    expect(reply).toEqual({ content: [toolCall(0)], finish: 'tool-calls', usage: USAGE });
  });

  it('gives parallel tool calls in their order, at once and streamed', async () => {
    const scenario: Scenario = { does: 'call', calls: CALLS, usage: USAGE };
    the().play(scenario);
    const reply = plain(await the().provider.complete(REQUEST));
    expect(reply).toEqual({ content: [toolCall(0), toolCall(1)], finish: 'tool-calls', usage: USAGE });
    the().play(scenario);
    const events = await drain(the().provider, REQUEST);
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

function describeFailures(the: () => ModelContractSubject): void {
  it.each(FAILURES)('turns status %i into %s, once, without the key', async (status, code, retryable) => {
    for (const attempt of [complete, drain]) {
      const before = the().calls();
      the().play({ does: 'fail', status, headers: { 'retry-after': '7' } });
      const error = await failure(attempt(the().provider, REQUEST));
      expect(error).toMatchObject({ code, retryable, status, retryAfterMs: 7_000 });
      expect(the().calls()).toBe(before + 1);
      expectNoKey(error, the().key);
    }
  });

  it.each(['drop', 'stop short'] as const)('calls a stream broken that ends too early: %s', async (does) => {
    the().play({ does, pieces: PIECES });
    const error = await failure(drain(the().provider, REQUEST));
    expect(error).toMatchObject({ code: 'MODEL_STREAM_BROKEN', retryable: true });
  });
}

function describeEndings(the: () => ModelContractSubject): void {
  it('ends a stream at once when it is aborted, and keeps no connection', async () => {
    the().play({ does: 'hang', pieces: PIECES });
    const caller = new AbortController();
    let abortedAt = 0;
    const reading = (async (): Promise<void> => {
      for await (const event of the().provider.stream(REQUEST, { signal: caller.signal })) {
        if (event.type !== 'text') continue;
        abortedAt = performance.now();
        caller.abort();
      }
    })();
    expect(await failure(reading)).toMatchObject({ code: 'CALL_ABORTED', retryable: false });
    expect(performance.now() - abortedAt).toBeLessThan(CANCEL_WITHIN_MS);
    await noneBusy(the());
  });

  it('ends a plain call at once when it is aborted, and keeps no connection', async () => {
    the().play({ does: 'hang', pieces: PIECES });
    const caller = new AbortController();
    const call = failure(the().provider.complete(REQUEST, { signal: caller.signal }));
    await until('the call has arrived', () => the().calls() === 1);
    caller.abort();
    expect((await call).code).toBe('CALL_ABORTED');
    await noneBusy(the());
  });

  it('sends nothing when it was aborted before', async () => {
    const options = { signal: AbortSignal.abort() };
    expect((await failure(the().provider.complete(REQUEST, options))).code).toBe('CALL_ABORTED');
    expect((await failure(drain(the().provider, REQUEST, options))).code).toBe('CALL_ABORTED');
    expect(the().calls()).toBe(0);
  });

  it('ends the call when its stream is left early', async () => {
    the().play({ does: 'hang', pieces: PIECES });
    for await (const event of the().provider.stream(REQUEST)) if (event.type === 'text') break;
    await noneBusy(the());
    expect(the().calls()).toBe(1);
  });

  it('keeps no connection busy after an answer', async () => {
    the().play({ does: 'say', pieces: PIECES, usage: USAGE });
    await drain(the().provider, REQUEST);
    await noneBusy(the());
    expect(the().calls()).toBe(1);
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
  await until('no connection is in use', () => subject.busyConnections() === 0, CANCEL_WITHIN_MS);
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

/** Without what is the vendor's own affair. */
function plain({ content, finish, usage }: ModelReply): object {
  return { content: content.map((part) => ({ ...part, vendorData: undefined })), finish, usage };
}

function expectNoKey(error: ProviderError, key?: string): void {
  if (!key) return;
  const shown = [error.message, error.stack, JSON.stringify(error), String(error.cause)].join('\n');
  expect(shown).not.toContain(key);
}
