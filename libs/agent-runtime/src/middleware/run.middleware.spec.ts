import { DatabaseUnavailableError } from '#rollcall/platform';
import { ProviderError, userMessage } from '#rollcall/providers';
import { expectNoOpenResources, openResources } from '#rollcall/providers/testing';
import type { LoopEvent } from '../loop/loop.step.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import { given, outcomeOf } from '../testing/index.js';
import { composeRun } from './compose.js';
import { inputGuardrail, outputGuardrail } from './guardrail.middleware.js';
import { logger } from './logger.middleware.js';
import type { LoopEvents, RunCall, RunMiddleware, RunNext } from './middleware.js';
import { recovery } from './recovery.middleware.js';
import { timeout } from './timeout.middleware.js';

const COMPLETED: RunOutcome = { type: 'completed', parts: [{ type: 'text', text: 'Paris' }] };

/** A loop that reports one reply and its text, and then ends with the outcome. */
const answering = (outcome: RunOutcome = COMPLETED): RunNext =>
  async function* (call) {
    if (call.streams) yield { type: 'text', text: 'Paris' };
    yield { type: 'step', step: { type: 'model-replied', turn: 1, reply: given.reply('Paris') } };
    return outcome;
  };

const failing = (error: unknown): RunNext =>
  async function* () {
    yield given.progress();
    throw error;
  };

/** Waits for the abort, as a model call does. */
async function* hanging({ signal }: RunCall): LoopEvents {
  yield given.progress();
  return await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new ProviderError('CALL_ABORTED', 'aborted')), { once: true });
  });
}

async function run(
  middleware: readonly RunMiddleware[],
  loop: RunNext,
  call: Partial<RunCall> = {},
): Promise<{ outcome: RunOutcome; events: LoopEvent[] }> {
  const events: LoopEvent[] = [];
  const running = composeRun(middleware, loop)(given.runCall(call));
  return { outcome: await outcomeOf(running, (event) => events.push(event)), events };
}

/** Records the entries of a log. */
class RecordedLog {
  readonly entries: Record<string, unknown>[] = [];
  readonly log = (entry: Record<string, unknown>): void => void this.entries.push(entry);
  readonly warn = this.log;
  readonly error = this.log;
}

describe('composeRun', () => {
  it('S2.8 runs the first middleware outermost, and the loop innermost', async () => {
    const order: string[] = [];
    const named = (name: string): RunMiddleware => ({
      name,
      async *run(call, next) {
        order.push(`${name} begins`);
        const outcome = yield* next(call);
        order.push(`${name} ends`);
        return outcome;
      },
    });
    const { outcome, events } = await run([named('a'), named('b')], answering());
    expect(order).toEqual(['a begins', 'b begins', 'b ends', 'a ends']);
    expect([outcome, events.length]).toEqual([COMPLETED, 1]);
  });

  it('S2.8 an abandoned run reports its time limit, even if its reader did not wait for an event when it was abandoned', async () => {
    async function* ignoring(): LoopEvents {
      yield given.progress();
      return await new Promise<RunOutcome>(() => undefined);
    }
    const [first, second] = [1, 2].map(() => composeRun([timeout(10)], ignoring)(given.runCall())) as [
      LoopEvents,
      LoopEvents,
    ];
    for (const running of [first, second]) await running.next();
    for (const running of [second, first])
      // the time of the first run is over when the second one ends
      expect(await running.next()).toMatchObject({ done: true, value: { type: 'stopped', reason: 'deadline' } });
    expect(await first.next()).toMatchObject({ done: true });
  });

  it('S2.8 executes only the loop if there is no middleware', async () => {
    expect((await run([], answering())).outcome).toEqual(COMPLETED);
  });
});

describe('timeout', () => {
  let before: Map<string, number>;
  beforeEach(() => void (before = openResources()));
  afterEach(async () => await expectNoOpenResources(before));

  it('S2.8 ends a run that takes too long with the outcome stopped, and aborts it', async () => {
    const { outcome } = await run([timeout(20)], hanging);
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'deadline', detail: expect.stringContaining('20 ms') });
  });

  it('S2.8 abandons a run that ignores the abort', async () => {
    const deaf: RunNext = async function* () {
      yield given.progress();
      return await new Promise<never>(() => undefined);
    };
    expect((await run([timeout(20)], deaf)).outcome).toMatchObject({ type: 'stopped', reason: 'deadline' });
  });

  it('S2.8 returns the outcome of a run that ends in time', async () => {
    expect((await run([timeout(60_000)], answering())).outcome).toEqual(COMPLETED);
  });

  it('S2.8 puts the earlier deadline into the context, for tools and delegated runs', async () => {
    const deadlines: (number | null)[] = [];
    const seen: RunNext = async function* ({ context }) {
      yield given.progress();
      deadlines.push(context.deadline);
      return COMPLETED;
    };
    const limit = timeout(500, () => 1_000);
    await run([limit], seen);
    await run([limit], seen, { context: given.context({ deadline: 1_200 }) });
    expect(deadlines).toEqual([1_500, 1_200]);
  });

  it('S2.8 does not report an abort by the caller as a timeout', async () => {
    const caller = new AbortController();
    const running = composeRun([timeout(60_000)], hanging)(given.runCall({ signal: caller.signal }));
    await running.next();
    const ended = running.next();
    caller.abort();
    await expect(ended).rejects.toMatchObject({ code: 'CALL_ABORTED' });
  });

  it('S2.8 throws an error that occurs at the time limit and is not an abort', async () => {
    const failsLate: RunNext = async function* ({ signal }) {
      yield given.progress();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw new TypeError('a bug');
    };
    await expect(run([timeout(20)], failsLate)).rejects.toThrow('a bug');
  });

  it('S2.8 ends the run if its reader stops reading', async () => {
    let isEnded = false;
    const loop: RunNext = async function* () {
      try {
        yield given.progress();
        return COMPLETED;
      } finally {
        isEnded = true;
      }
    };
    const running = composeRun([timeout(60_000), logger(new RecordedLog())], loop)(given.runCall());
    await running.next();
    await running.return(COMPLETED);
    expect(isEnded).toBe(true);
  });
});

describe('recovery', () => {
  it('S2.8 converts an unknown error to AGENT_FAILED_INTERNALLY without details, and logs the unknown error in full', async () => {
    const [log, bug] = [new RecordedLog(), new TypeError('secret detail')];
    const error = await run([recovery(log)], failing(bug)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'AGENT_FAILED_INTERNALLY', cause: bug });
    expect((error as Error).message).not.toContain('secret');
    expect(log.entries).toEqual([
      { event: 'run.internal_error', runId: 'run-1', rootRunId: 'run-1', agentName: 'ada', err: bug },
    ]);
  });

  it('S2.8 converts a thrown value that is not an error', async () => {
    await expect(run([recovery(new RecordedLog())], failing(undefined))).rejects.toMatchObject({
      code: 'AGENT_FAILED_INTERNALLY',
    });
  });

  it.each([
    ['an error of a provider', new ProviderError('MODEL_UNAVAILABLE', 'down')],
    ['an abort', new ProviderError('CALL_ABORTED', 'aborted')],
    ['an error of another library', new DatabaseUnavailableError(new Error('down'))],
  ])('S2.8 throws errors with a stable code unchanged: %s', async (_name, error) => {
    const log = new RecordedLog();
    await expect(run([recovery(log)], failing(error))).rejects.toBe(error);
    expect(log.entries).toEqual([]);
  });

  it('S2.8 returns outcomes unchanged', async () => {
    expect((await run([recovery(new RecordedLog())], answering())).outcome).toEqual(COMPLETED);
  });
});

describe('logger', () => {
  const context = given.context({ runId: 'run-2', agentName: 'bob', depth: 1 });
  const identity = { namespace: 'default', runId: 'run-2', rootRunId: 'run-1', agentName: 'bob', depth: 1 };

  it('S2.8 S2.9 logs the start and the end of a run with the name of the agent, the tokens and the duration', async () => {
    const log = new RecordedLog();
    await run([logger(log)], answering(), { context });
    expect(log.entries).toEqual([
      { event: 'run.started', ...identity },
      {
        event: 'run.finished',
        ...identity,
        outcome: 'completed',
        turns: 1,
        inputTokens: 10,
        outputTokens: 5,
        durationMs: expect.any(Number),
      },
    ]);
  });

  it('S2.8 logs why a run was stopped, under the given name', async () => {
    const log = new RecordedLog();
    await run([logger(log, 'job')], answering({ type: 'stopped', reason: 'iterations', detail: '', parts: [] }));
    expect(log.entries[1]).toMatchObject({ event: 'job.finished', outcome: 'stopped', reason: 'iterations' });
  });

  it('S2.8 logs the code of an error, and throws the error', async () => {
    const [log, error] = [new RecordedLog(), new ProviderError('MODEL_UNAVAILABLE', 'down')];
    await expect(run([logger(log)], failing(error), { context })).rejects.toBe(error);
    expect(log.entries[1]).toMatchObject({ event: 'run.failed', ...identity, code: 'MODEL_UNAVAILABLE', err: error });
  });

  it('S2.8 a run that was cancelled or handed over is not logged as failed', async () => {
    const [log, error] = [new RecordedLog(), new ProviderError('CALL_ABORTED', 'cancelled')];
    await expect(run([logger(log)], failing(error), { context })).rejects.toBe(error);
    expect(log.entries[1]).toEqual({
      event: 'run.aborted',
      ...identity,
      turns: 0,
      inputTokens: 0,
      outputTokens: 0,
      durationMs: expect.any(Number),
    });
  });

  it('S2.8 an unknown token count makes the sum unknown, not zero', async () => {
    const log = new RecordedLog();
    const loop: RunNext = async function* () {
      yield { type: 'step', step: { type: 'model-replied', turn: 1, reply: given.reply('x', { inputTokens: 3 }) } };
      yield { type: 'step', step: { type: 'model-replied', turn: 2, reply: given.reply('x') } };
      return COMPLETED;
    };
    await run([logger(log)], loop);
    expect(log.entries[1]).toMatchObject({ turns: 2, inputTokens: 13, outputTokens: null });
  });
});

describe('inputGuardrail', () => {
  const noSecrets = inputGuardrail((text) => (text.includes('password') ? { reject: 'no passwords' } : undefined));
  const saying = (text: string): Partial<RunCall> => ({
    state: { ...given.runCall().state, messages: [userMessage(text)] },
  });

  it('S2.8 rejects an input before the loop begins', async () => {
    let hasRun = false;
    const loop: RunNext = async function* () {
      hasRun = true;
      yield given.progress();
      return COMPLETED;
    };
    const { outcome } = await run([noSecrets], loop, saying('my password is x'));
    expect(outcome).toEqual({
      type: 'stopped',
      reason: 'guardrail',
      detail: 'A guardrail rejected the input: no passwords',
      parts: [],
    });
    expect(hasRun).toBe(false);
  });

  it('S2.8 accepts other input, and checks nothing when a turn is resumed', async () => {
    expect((await run([noSecrets], answering(), saying('hello'))).outcome).toEqual(COMPLETED);
    const messages = [
      userMessage('password'),
      { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'password' }] },
    ];
    const resumed = { state: { ...given.runCall().state, messages } };
    expect((await run([noSecrets], answering(), resumed)).outcome).toEqual(COMPLETED);
  });

  it('S2.8 a check that throws ends the run', async () => {
    const broken = inputGuardrail(async () => await Promise.reject(new Error('checker down')));
    await expect(run([broken], answering())).rejects.toThrow('checker down');
  });
});

describe('outputGuardrail', () => {
  it('S2.8 a rejected answer ends the run with the outcome stopped, and no part of the answer reaches the reader', async () => {
    const { outcome, events } = await run([outputGuardrail(() => ({ reject: 'wrong city' }))], answering(), {
      streams: true,
    });
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'guardrail', parts: [] });
    expect(events.map(({ type }) => type)).toEqual(['step']);
  });

  it('S2.8 replaces the text and keeps the other parts', async () => {
    const data = { type: 'data' as const, data: { city: 'Paris' } };
    const answer: RunOutcome = { ...COMPLETED, parts: [...COMPLETED.parts, data] };
    const shout = outputGuardrail((text) => ({ replace: text.toUpperCase() }));
    const { outcome, events } = await run([shout], answering(answer), { streams: true });
    expect(outcome).toEqual({ type: 'completed', parts: [{ type: 'text', text: 'PARIS' }, data] });
    expect(events.at(-1)).toEqual({ type: 'text', text: 'PARIS' });
  });

  it('S2.8 streams an accepted answer after the check, in one piece', async () => {
    const { outcome, events } = await run([outputGuardrail(() => undefined)], answering(), { streams: true });
    expect(outcome).toEqual(COMPLETED);
    expect(events.map(({ type }) => type)).toEqual(['step', 'text']);
  });

  it('S2.8 also checks a partial answer, but not a run that waits for an approval', async () => {
    const reject = outputGuardrail(() => ({ reject: 'no' }));
    const partial: RunOutcome = { type: 'stopped', reason: 'iterations', detail: '', parts: COMPLETED.parts };
    expect((await run([reject], answering(partial))).outcome).toMatchObject({ reason: 'guardrail', parts: [] });
    const waiting: RunOutcome = { type: 'waiting', approvals: [] };
    expect((await run([reject], answering(waiting))).outcome).toBe(waiting);
  });

  it('S2.8 S2.9 a check gets the context of the run', async () => {
    const names: string[] = [];
    await run([outputGuardrail((_text, { agentName }) => void names.push(agentName))], answering());
    expect(names).toEqual(['ada']);
  });
});
