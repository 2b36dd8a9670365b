import { ProviderError, textPart } from '#rollcall/providers';
import {
  breakAfter,
  callTool,
  callTools,
  expectNoOpenResources,
  hangAfter,
  openResources,
  say,
  scripted,
  ScriptedModel,
  type Step as ScriptStep,
} from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { TestLoop } from '../testing/test-loop.js';
import { aRun } from '../testing/tool-calls.js';
import { defineTool } from '../tools/tool.js';

const never = async (): Promise<never> => await new Promise<never>(() => undefined);
const hangs = defineTool({ name: 'hangs', description: 'Ignores its signal.', execute: never });
const echo = defineTool({ name: 'echo', description: 'Echoes.', idempotent: true, execute: () => 'echo' });

let before: Map<string, number>;
let unhandled: unknown[];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => {
  before = openResources();
  unhandled = [];
  process.on('unhandledRejection', note);
});
afterEach(async () => {
  await expectNoOpenResources(before);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

function malformed(text: string): ScriptStep {
  return {
    content: [{ type: 'tool-call', id: 'echo-1', name: 'echo', input: {}, malformed: text }],
    finish: 'tool-calls',
  };
}

describe('bad replies', () => {
  it.each([
    ['arguments that are not JSON', malformed('{"q": ')],
    ['malformed arguments of 10 MB', malformed('x'.repeat(10 << 20))],
    ['arguments of 10 MB', callTool('echo', { q: 'x'.repeat(10 << 20) })],
    ['an unknown tool', callTool('ech0', {})],
    ['a tool name of 1 MB', callTool('x'.repeat(1 << 20), {})],
  ])('S2.2 reports %s to the model in a short text', async (_name, step) => {
    const model = scripted(step, say('done'));
    const { outcome, steps } = await new TestLoop(model, { tools: [echo] }).read();
    expect(outcome.type).toBe('completed');
    const finished = steps.find(({ type }) => type === 'tool-finished');
    expect(finished).toMatchObject({ failed: true });
    expect((finished as { output: string }).output.length).toBeLessThan(1_000);
  });

  it('S2.1 a broken stream is an error of the provider', async () => {
    const loop = new TestLoop(scripted(breakAfter('The ans')));
    await expect(loop.read({ streams: true })).rejects.toMatchObject({ code: 'MODEL_STREAM_BROKEN' });
  });

  it('S2.1 a model that always calls unknown tools ends at the iteration cap', async () => {
    const model = new ScriptedModel(() => callTool('nope', {}));
    const { outcome } = await new TestLoop(model, { maxIterations: 5 }).read();
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'iterations' });
  });
});

describe('a cancelled run', () => {
  it('S2.1 aborts the model and throws CALL_ABORTED', async () => {
    const model = scripted(hangAfter('The ans'));
    const caller = new AbortController();
    const run = Promise.allSettled([new TestLoop(model).read({ signal: caller.signal })]);
    await until('the model works', () => model.inFlight === 1);
    caller.abort();
    expect(await run).toMatchObject([{ reason: { code: 'CALL_ABORTED' } }]);
    expect(model.inFlight).toBe(0);
  });

  it('S2.1 ends even if the model and the tools ignore the abort', async () => {
    const caller = new AbortController();
    const deaf = new TestLoop(scripted(), { callModel: never }).read({ signal: caller.signal });
    const model = scripted(callTools(['hangs', {}], ['hangs', {}]));
    const busy = new TestLoop(model, { tools: [hangs] }).read({ signal: caller.signal });
    const both = Promise.allSettled([deaf, busy]);
    await until('the model replied', () => model.calls.length === 1);
    caller.abort();
    const code = { reason: { code: 'CALL_ABORTED' } };
    expect(await both).toMatchObject([code, code]);
  });

  it('S2.1 fails with the reason of the signal if the reason is an error of a provider', async () => {
    const signal = AbortSignal.abort(new ProviderError('AGENT_UNREACHABLE', 'It took too long.'));
    await expect(new TestLoop(scripted()).read({ signal })).rejects.toMatchObject({ code: 'AGENT_UNREACHABLE' });
  });

  it('S2.1 makes no call if the signal is already aborted', async () => {
    const model = scripted();
    await expect(new TestLoop(model).read({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'CALL_ABORTED',
    });
    expect(model.calls).toEqual([]);
  });

  it('S2.1 aborts the tools in progress when the reader stops reading', async () => {
    const signals: AbortSignal[] = [];
    const waits = {
      ...hangs,
      execute: async (_: unknown, { signal }: { signal: AbortSignal }) => (signals.push(signal), await never()),
    };
    const run = new TestLoop(scripted(callTools(['echo', {}], ['hangs', {}])), { tools: [echo, waits] }).start();
    for (let next = await run.next(); !next.done; next = await run.next())
      if (next.value.type === 'step' && next.value.step.type === 'tool-finished') break;
    expect(signals[0]?.aborted).toBe(false);
    await run.return({ type: 'refused', parts: [] });
    expect(signals[0]?.aborted).toBe(true);
  });
});

describe('the deadline', () => {
  it('S2.1 ends a model call that hangs, and the outcome contains the last text', async () => {
    const first = callTool('echo', {});
    const model = scripted({ ...first, content: [{ type: 'text', text: 'Almost.' }, ...first.content] }, hangAfter(''));
    const loop = new TestLoop(model, { tools: [echo], now: () => 1_000 });
    const { outcome } = await loop.read({ context: aRun({ deadline: 1_200 }) });
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'deadline', parts: [textPart('Almost.')] });
    expect(model.inFlight).toBe(0);
  });

  it('S2.1 allows no model call after the deadline has passed', async () => {
    const model = scripted();
    const { outcome } = await new TestLoop(model, { now: () => 2 }).read({
      context: aRun({ deadline: 1 }),
    });
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'deadline', parts: [] });
    expect(model.calls).toEqual([]);
  });

  it('S2.1 leaves no timer when the run is closed before its first event', async () => {
    const run = new TestLoop(scripted()).start({ context: aRun({ deadline: 60_000 }) });
    expect(await run.return({ type: 'refused', parts: [] })).toMatchObject({ done: true });
  });
});
