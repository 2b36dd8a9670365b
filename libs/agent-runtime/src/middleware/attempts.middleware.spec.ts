import { aborted, type ModelReply, ProviderError, type ProviderErrorCode } from '#rollcall/providers';
import { expectNoOpenResources, openResources, scripted } from '#rollcall/providers/testing';
import { DEFAULT_CIRCUIT_POLICY } from '#rollcall/registry';
import { given } from '../testing/index.js';
import { composeModel } from './compose.js';
import { fallback } from './fallback.middleware.js';
import type { ModelCall, ModelMiddleware } from './middleware.js';
import { ModelCircuit } from './model-circuit.middleware.js';
import { delayAfter, retry, type RetryOptions } from './retry.middleware.js';

type Behaviour = ProviderErrorCode | Error | 'reply' | 'delta, then fail';

/** Executes one behaviour for each attempt, and records the attempts. */
class FakeModelCall {
  readonly calls: { attempt: number; model: string }[] = [];

  constructor(private readonly behaviours: Behaviour[]) {}

  readonly answer = async (call: ModelCall): Promise<ModelReply> => {
    this.calls.push({ attempt: call.attempt, model: call.model.model });
    if (call.signal.aborted) throw aborted('The call');
    const behaviour = this.behaviours.shift() ?? 'reply';
    if (behaviour === 'reply') return given.reply('done');
    if (behaviour === 'delta, then fail') call.onDelta?.({ type: 'text', text: 'do' });
    if (behaviour instanceof Error) throw behaviour;
    throw new ProviderError(behaviour === 'delta, then fail' ? 'MODEL_STREAM_BROKEN' : behaviour, 'failed');
  };

  get attempts(): number[] {
    return this.calls.map(({ attempt }) => attempt);
  }
}

const FAST: RetryOptions = { random: () => 0 };

async function callThrough(
  middleware: readonly ModelMiddleware[],
  behaviours: Behaviour[],
  overrides: Partial<ModelCall> = {},
): Promise<{ fake: FakeModelCall; result: ModelReply | { code?: string } }> {
  const fake = new FakeModelCall(behaviours);
  const result = await composeModel(
    middleware,
    fake.answer,
  )(given.modelCall(overrides)).catch((error: { code?: string }) => error);
  return { fake, result };
}

describe('retry', () => {
  it('S2.8 repeats a call that failed with a retryable error, with the next attempt number', async () => {
    const { fake, result } = await callThrough([retry(FAST)], ['MODEL_OVERLOADED', 'MODEL_UNAVAILABLE', 'reply']);
    expect(result).toMatchObject({ finish: 'stop' });
    expect(fake.attempts).toEqual([1, 2, 3]);
  });

  it('S2.8 throws the last error after the last attempt', async () => {
    const { fake, result } = await callThrough(
      [retry({ ...FAST, maxAttempts: 2 })],
      ['MODEL_OVERLOADED', 'MODEL_UNAVAILABLE', 'reply'],
    );
    expect([result, fake.attempts]).toEqual([expect.objectContaining({ code: 'MODEL_UNAVAILABLE' }), [1, 2]]);
  });

  it.each<Behaviour>(['MODEL_KEY_REFUSED', 'MODEL_REQUEST_REFUSED', 'CALL_ABORTED', new TypeError('a bug')])(
    'S2.8 does not repeat a call that failed with an error that is not retryable: %s',
    async (behaviour) => {
      expect((await callThrough([retry(FAST)], [behaviour])).fake.attempts).toEqual([1]);
    },
  );

  it('S2.8 does not repeat a call after the first delta', async () => {
    const deltas: string[] = [];
    const onDelta: ModelCall['onDelta'] = ({ text }) => deltas.push(text);
    const { fake, result } = await callThrough([retry(FAST)], ['delta, then fail'], { onDelta });
    expect([fake.attempts, deltas]).toEqual([[1], ['do']]);
    expect(result).toMatchObject({ code: 'MODEL_STREAM_BROKEN' });
  });

  it('S2.8 repeats a streamed call that failed before the first delta', async () => {
    const { fake } = await callThrough([retry(FAST)], ['MODEL_OVERLOADED', 'reply'], { onDelta: () => undefined });
    expect(fake.attempts).toEqual([1, 2]);
  });

  it('S2.8 the delay is random, below a limit that doubles with each attempt until it reaches maxDelayMs', () => {
    const error = new ProviderError('MODEL_OVERLOADED', 'busy');
    const rules = { firstDelayMs: 100, maxDelayMs: 350, random: () => 0.5 };
    expect([1, 2, 3, 4].map((failures) => delayAfter(error, failures, rules))).toEqual([50, 100, 175, 175]);
    expect(delayAfter(error, 1, { ...rules, random: () => 0 })).toBe(0);
  });

  it('S2.8 waits as long as the vendor requests, but does not repeat a call if the requested time is longer than the maximum', async () => {
    const limited = (retryAfterMs: number): Error => new ProviderError('MODEL_RATE_LIMITED', 'slow', { retryAfterMs });
    expect(delayAfter(limited(40), 1, { firstDelayMs: 1, maxDelayMs: 40, random: () => 0 })).toBe(40);
    expect((await callThrough([retry(FAST)], [limited(2), 'reply'])).fake.attempts).toEqual([1, 2]);
    expect((await callThrough([retry({ ...FAST, maxDelayMs: 39 })], [limited(40), 'reply'])).fake.attempts).toEqual([
      1,
    ]);
  });

  it('S2.8 does not wait beyond the deadline of the run', async () => {
    const context = given.context({ deadline: 1_000 });
    const late = { random: () => 1, firstDelayMs: 10, now: () => 991 };
    expect((await callThrough([retry(late)], ['MODEL_OVERLOADED'], { context })).fake.attempts).toEqual([1]);
    expect(
      (await callThrough([retry({ ...late, now: () => 980 })], ['MODEL_OVERLOADED'], { context })).fake.attempts,
    ).toEqual([1, 2]);
  });

  it('S2.8 an abort ends the wait at once and leaves no timer', async () => {
    const before = openResources();
    const caller = new AbortController();
    const ended = callThrough([retry({ random: () => 1, firstDelayMs: 30_000 })], ['MODEL_OVERLOADED'], {
      signal: caller.signal,
    });
    setImmediate(() => caller.abort());
    const { fake, result } = await ended;
    expect([result, fake.attempts]).toEqual([expect.objectContaining({ code: 'CALL_ABORTED' }), [1]]);
    await expectNoOpenResources(before);
  });
});

describe('fallback', () => {
  const others = [scripted(), scripted()].map((model, index) => Object.assign(model, { model: `other-${index + 1}` }));

  it.each<ProviderErrorCode>(['MODEL_OVERLOADED', 'MODEL_KEY_REFUSED', 'MODEL_KEY_MISSING', 'MODEL_QUOTA_EXHAUSTED'])(
    'S2.8 calls the next model after %s',
    async (code) => {
      const { fake, result } = await callThrough([fallback(others)], [code, code, 'reply']);
      expect(result).toMatchObject({ finish: 'stop' });
      expect(fake.calls).toEqual([
        { attempt: 1, model: 'script' },
        { attempt: 2, model: 'other-1' },
        { attempt: 3, model: 'other-2' },
      ]);
    },
  );

  it.each<Behaviour>(['MODEL_REQUEST_REFUSED', 'CALL_ABORTED', new TypeError('a bug')])(
    'S2.8 does not call another model after %s',
    async (behaviour) => {
      expect((await callThrough([fallback(others)], [behaviour])).fake.attempts).toEqual([1]);
    },
  );

  it('S2.8 does not change the model after the first delta or an abort', async () => {
    const onDelta = (): undefined => undefined;
    expect((await callThrough([fallback(others)], ['delta, then fail'], { onDelta })).fake.attempts).toEqual([1]);
    const signal = AbortSignal.abort();
    expect((await callThrough([fallback(others)], ['MODEL_OVERLOADED'], { signal })).fake.attempts).toEqual([1]);
  });

  it('S2.8 attempt numbers are unique when retry and fallback are combined, in either order', async () => {
    const down = (count: number): Behaviour[] => Array.from({ length: count }, () => 'MODEL_OVERLOADED');
    const twice = retry({ ...FAST, maxAttempts: 2 });
    const outside = await callThrough([fallback(others), twice], down(9));
    expect(outside.fake.calls.map(({ model }) => model)).toEqual(
      ['script', 'other-1', 'other-2'].flatMap((model) => [model, model]),
    );
    expect(outside.fake.attempts).toEqual([1, 2, 3, 4, 5, 6]);
    expect((await callThrough([twice, fallback(others)], down(9))).fake.attempts).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe('the circuit of a model', () => {
  const { failuresToOpen, coolDownMs } = DEFAULT_CIRCUIT_POLICY;
  let now: number;
  let circuit: ModelCircuit;
  beforeEach(() => {
    now = 0;
    circuit = new ModelCircuit({ now: () => now });
  });
  const fail = async (times = failuresToOpen, code: Behaviour = 'MODEL_UNAVAILABLE'): Promise<void> => {
    for (let failure = 0; failure < times; failure += 1) await callThrough([circuit], [code]);
  };

  it('S2.8 opens after repeated failures, and then rejects calls without making them', async () => {
    await fail();
    const { fake, result } = await callThrough([circuit], ['reply']);
    expect([result, fake.attempts]).toEqual([
      expect.objectContaining({ code: 'MODEL_CIRCUIT_OPEN', retryAfterMs: coolDownMs }),
      [],
    ]);
  });

  it('S2.8 admits one probe after the cool-down, and closes when the probe succeeds', async () => {
    await fail();
    now = coolDownMs;
    const probe = Promise.withResolvers<ModelReply>();
    const probing = composeModel([circuit], async () => await probe.promise)(given.modelCall());
    expect((await callThrough([circuit], ['reply'])).result).toMatchObject({ code: 'MODEL_CIRCUIT_OPEN' });
    probe.resolve(given.reply('done'));
    await probing;
    expect((await callThrough([circuit], ['reply'])).fake.attempts).toEqual([1]);
  });

  it('S2.8 admits another probe if the first probe was aborted', async () => {
    await fail();
    now = coolDownMs;
    await fail(1, 'CALL_ABORTED');
    expect((await callThrough([circuit], ['reply'])).fake.attempts).toEqual([1]);
  });

  it.each<Behaviour>(['CALL_ABORTED', 'MODEL_KEY_REFUSED', 'MODEL_REQUEST_REFUSED', new TypeError('a bug')])(
    'S2.8 does not count an error that is not a fault of the vendor: %s',
    async (behaviour) => {
      await fail(failuresToOpen * 2, behaviour);
      expect((await callThrough([circuit], ['reply'])).fake.attempts).toEqual([1]);
    },
  );

  it('S2.8 a success resets the count of failures', async () => {
    await fail(failuresToOpen - 1);
    await callThrough([circuit], ['reply']);
    await fail(failuresToOpen - 1);
    expect((await callThrough([circuit], ['reply'])).fake.attempts).toEqual([1]);
  });

  it('S2.8 each model has its own circuit, and a fallback model is called while the circuit of the first model is open', async () => {
    await fail();
    const other = Object.assign(scripted(), { model: 'other' });
    const { fake, result } = await callThrough([fallback([other]), retry(FAST), circuit], ['reply']);
    expect(result).toMatchObject({ finish: 'stop' });
    expect(fake.calls).toEqual([{ attempt: 2, model: 'other' }]);
  });
});
