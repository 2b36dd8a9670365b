import { z } from 'zod';
import { type ModelRequest, ProviderError, textPart, userMessage } from '#rollcall/providers';
import {
  callTool,
  callTools,
  expectNoOpenResources,
  openResources,
  refuse,
  runOutOfTokens,
  say,
  scripted,
  ScriptedModel,
  using,
} from '#rollcall/providers/testing';
import { attemptModel } from '../middleware/compose.js';
import { SpendingLimitError } from '../spending/spending.errors.js';
import { HOSTILE_SCHEMAS } from '../testing/hostile.schemas.js';
import { TestLoop } from '../testing/test-loop.js';
import { defineTool, type Tool } from '../tools/tool.js';
import { outputFormat } from './output.format.js';
import { initialState } from './run.state.js';

const search = defineTool({
  name: 'search',
  description: 'Finds a page.',
  input: z.object({ q: z.string() }),
  idempotent: true,
  execute: ({ q }) => `page about ${q}`,
});
const breaks = defineTool({
  name: 'breaks',
  description: 'Fails.',
  execute: () => Promise.reject(new Error('no disk')),
});

function slow(name: string, gate: Promise<unknown>): Tool {
  return defineTool({ name, description: 'Waits.', execute: async () => `${name} ${String(await gate)}` });
}

const lastMessage = (model: ScriptedModel): unknown => model.calls.at(-1)?.request.messages.at(-1);

let before: Map<string, number>;
beforeEach(() => void (before = openResources()));
afterEach(async () => await expectNoOpenResources(before));

describe('the loop', () => {
  it('S2.1 alternates model and tools until the final answer', async () => {
    const model = scripted(callTool('search', { q: 'x' }), callTool('search', { q: 'y' }), say('done'));
    const { outcome, steps } = await new TestLoop(model, { tools: [search] }).read();
    expect(outcome).toEqual({ type: 'completed', parts: [textPart('done')] });
    expect(steps.map(({ type }) => type)).toEqual([
      'model-replied',
      'tool-called',
      'tool-finished',
      'model-replied',
      'tool-called',
      'tool-finished',
      'model-replied',
    ]);
    const roles = model.calls[2]?.request.messages.map(({ role }) => role);
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'tool']);
    expect(model.calls[0]?.request.tools?.map(({ name }) => name)).toEqual(['search']);
    model.assertAllStepsUsed();
  });

  it('S2.1 keeps the text of a reply that also calls tools, and runs the calls', async () => {
    const mixed = { ...callTool('search', { q: 'x' }) };
    mixed.content = [{ type: 'text', text: 'I look it up.' }, ...mixed.content];
    const model = scripted(mixed, say('done'));
    const { state } = await new TestLoop(model, { tools: [search] }).read();
    expect(state.messages[1]).toMatchObject({
      role: 'assistant',
      content: [{ text: 'I look it up.' }, { name: 'search' }],
    });
    expect(state.messages[2]).toMatchObject({ role: 'tool', content: [{ output: 'page about x' }] });
  });

  it('S2.1 starts all calls of a reply at once, reports each when it ends, and returns the results in the order of the calls', async () => {
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const tools = [slow('one', gates[0].promise), slow('two', gates[1].promise)];
    const model = scripted(callTools(['one', {}], ['two', {}]), say('done'));
    const run = new TestLoop(model, { tools }).start();
    const seen: string[] = [];
    for (let at = 0; at < 3; at += 1) seen.push(nameOf((await run.next()).value));
    const third = run.next();
    gates[1].resolve('b');
    seen.push(nameOf((await third).value));
    gates[0].resolve('a');
    seen.push(nameOf((await run.next()).value));
    expect(seen).toEqual([
      'model-replied',
      'tool-called one-1',
      'tool-called two-2',
      'tool-finished two-2',
      'tool-finished one-1',
    ]);
    for (let next = await run.next(); !next.done; next = await run.next());
    expect(lastMessage(model)).toMatchObject({ content: [{ output: 'one a' }, { output: 'two b' }] });
  });

  it('S2.2 reports unknown tools, invalid input and errors of a tool to the model while the other calls continue', async () => {
    const calls = callTools(['nope', {}], ['search', { q: 5 }], ['breaks', {}], ['search', { q: 'x' }]);
    const model = scripted(calls, say('done'));
    const { outcome } = await new TestLoop(model, { tools: [search, breaks] }).read();
    expect(outcome.type).toBe('completed');
    expect(lastMessage(model)).toMatchObject({
      content: [
        { output: expect.stringContaining('no tool named nope') as string, failed: true },
        { output: expect.stringContaining('q') as string, failed: true },
        { output: expect.stringContaining('no disk') as string, failed: true },
        { output: 'page about x' },
      ],
    });
  });

  it('S2.2 gives two calls with the same id different ids', async () => {
    const model = scripted(callTools(['search', { q: 'a' }, 'c'], ['search', { q: 'b' }, 'c']), say('done'));
    await new TestLoop(model, { tools: [search] }).read();
    expect(lastMessage(model)).toMatchObject({
      content: [
        { id: 'c', output: 'page about a' },
        { id: 'c-2', output: 'page about b' },
      ],
    });
  });

  it('S2.1 stops a model that always calls tools at the iteration cap, with its last text', async () => {
    const endless = new ScriptedModel((_request, number) => {
      const step = callTool('search', { q: String(number) });
      return { ...step, content: [{ type: 'text', text: `try ${number}` }, ...step.content] };
    });
    const { outcome } = await new TestLoop(endless, { tools: [search], maxIterations: 4 }).read();
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'iterations', parts: [textPart('try 4')] });
    expect(endless.calls).toHaveLength(4);
  });

  it('S2.1 a reply that reaches the limit of output tokens ends the run with the partial text', async () => {
    const { outcome } = await new TestLoop(scripted(runOutOfTokens('The answer is'))).read();
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'output-limit', parts: [textPart('The answer is')] });
  });

  it('S2.1 a refusal is an outcome', async () => {
    const { outcome } = await new TestLoop(scripted(refuse('I do not do that.'))).read();
    expect(outcome).toEqual({ type: 'refused', parts: [textPart('I do not do that.')] });
  });

  it('S2.1 asks the model once for another answer if its answer is empty', async () => {
    const model = scripted(say(''), say('Here it is.'));
    const { outcome, steps } = await new TestLoop(model).read();
    expect(outcome).toEqual({ type: 'completed', parts: [textPart('Here it is.')] });
    expect(steps[1]).toMatchObject({ type: 'message-received', isCorrection: true });
    expect(JSON.stringify(lastMessage(model))).toContain('empty');
  });

  it('S2.1 stops after repeated empty answers', async () => {
    const model = scripted(say(''), { ...say(''), content: [{ type: 'text', text: ' \n' }] });
    expect((await new TestLoop(model).read()).outcome).toMatchObject({ type: 'stopped', reason: 'empty-answer' });
    model.assertAllStepsUsed();
  });

  it('S2.1 streams text and reasoning only if the reader wants them', async () => {
    const model = scripted(say('one two'), say('one two'));
    const loop = new TestLoop(model);
    const streamed = await loop.read({ streams: true });
    expect(streamed.events.filter(({ type }) => type === 'text')).toEqual([
      { type: 'text', text: 'one ' },
      { type: 'text', text: 'two' },
    ]);
    expect((await loop.read({ streams: false })).events.map(({ type }) => type)).toEqual(['step']);
    expect(model.calls.map(({ streamed: isStreamed }) => isStreamed)).toEqual([true, false]);
  });

  it('S2.9 reports the progress of tools with the name of the agent', async () => {
    const tool = defineTool({
      name: 'work',
      description: 'Works.',
      execute: (_input: unknown, context) => context.progress('half'),
    });
    const { events } = await new TestLoop(scripted(callTool('work', {}), say('done')), { tools: [tool] }).read();
    expect(events).toContainEqual({ type: 'progress', text: 'half', agentName: 'ada' });
  });
});

describe('structured output', () => {
  const output = outputFormat(z.object({ city: z.string() }), 'default');

  it('S2.1 returns the answer as data that matches the schema, even if it is in a fenced code block', async () => {
    const model = scripted(say('{"city":"Rome"}'), say('```json\n{"city":"Oslo"}\n```'));
    const loop = new TestLoop(model, { output });
    expect((await loop.read()).outcome).toEqual({
      type: 'completed',
      parts: [{ type: 'data', data: { city: 'Rome' } }],
    });
    expect((await loop.read()).outcome).toMatchObject({ parts: [{ data: { city: 'Oslo' } }] });
    expect(model.calls[0]?.request.output?.schema).toMatchObject({ type: 'object', required: ['city'] });
  });

  it('S-2 fails with SCHEMA_CHECK_TIMED_OUT if the schema of a user is too expensive for the answer', async () => {
    const { schema, value } = HOSTILE_SCHEMAS.find(({ name }) => name === 'recursion that branches below oneOf')!;
    const loop = new TestLoop(scripted(say(JSON.stringify(value))), { output: outputFormat(schema, 'default') });
    await expect(loop.read()).rejects.toMatchObject({ code: 'SCHEMA_CHECK_TIMED_OUT' });
  });

  it('S2.1 asks once for a correction, then stops', async () => {
    const model = scripted(say('Rome'), say('{"city":5}'), say('no'), say('{"city":"Oslo"}'));
    const loop = new TestLoop(model, { output });
    const failed = await loop.read();
    expect(failed.outcome).toMatchObject({
      type: 'stopped',
      reason: 'invalid-output',
      parts: [textPart('{"city":5}')],
    });
    expect(JSON.stringify(failed.state.messages)).toContain('not valid JSON');
    expect((await loop.read()).outcome).toMatchObject({ type: 'completed', parts: [{ data: { city: 'Oslo' } }] });
  });
});

describe('a budget', () => {
  const limit = (): SpendingLimitError =>
    new SpendingLimitError('The budget of the run is used up.', { kind: 'run', unit: 'tokens' });

  it('B2 makes one final call without tools when the budget does not cover a call', async () => {
    const model = scripted(callTool('search', { q: 'x' }), say('I know only x.'));
    const loop = new TestLoop(model, {
      tools: [search],
      callModel: async (call) => {
        if (call.turn > 1 && !call.isFinal) throw limit();
        return await attemptModel(call);
      },
    });
    const { outcome, steps } = await loop.read();
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'budget', parts: [textPart('I know only x.')] });
    expect(outcome).toMatchObject({ detail: 'The run reached its budget. The budget of the run is used up.' });
    expect(steps.at(-1)).toMatchObject({ type: 'model-replied', turn: 2, isFinal: true });
    expect(model.calls[1]?.request.toolChoice).toBe('none');
  });

  it('B2 does not execute the calls of a final reply', async () => {
    const model = scripted(callTool('search', { q: 'x' }));
    const callModel = async (call: Parameters<typeof attemptModel>[0]) => {
      if (!call.isFinal) throw limit();
      return await attemptModel(call);
    };
    const { outcome, steps } = await new TestLoop(model, { tools: [search], callModel }).read();
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'budget', parts: [] });
    expect(steps).toHaveLength(1);
  });

  it('B2 stops without a call if the budget does not cover even the final call', async () => {
    const model = scripted();
    const callModel = async (): Promise<never> => await Promise.reject(limit());
    const { outcome, steps } = await new TestLoop(model, { callModel }).read();
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'budget', detail: 'The budget of the run is used up.' });
    expect(steps).toEqual([]);
  });
});

describe('a question to the caller', () => {
  it('S2.1 ends the run with the question, and the answer continues it', async () => {
    const model = scripted(callTool('ask_caller', { question: 'Which city?' }), say('Rome it is.'));
    const loop = new TestLoop(model, { mayAsk: true });
    const asked = await loop.read();
    expect(asked.outcome).toEqual({ type: 'input-required', parts: [textPart('Which city?')] });
    const state = initialState([...asked.state.messages, userMessage('Rome')]);
    expect((await loop.read({ state })).outcome).toMatchObject({ type: 'completed' });
    expect(lastMessage(model)).toEqual(userMessage('Rome'));
  });

  it('S2.1 is possible only if the option mayAsk is on', async () => {
    const model = scripted(callTool('ask_caller', { question: 'Which city?' }), say('I guess.'));
    const { outcome } = await new TestLoop(model).read();
    expect(outcome.type).toBe('completed');
    expect(lastMessage(model)).toMatchObject({ content: [{ failed: true }] });
  });

  it('S2.1 is reported to the model as invalid if it is empty', async () => {
    const model = scripted(callTool('ask_caller', { question: ' ' }), say('Never mind.'));
    expect((await new TestLoop(model, { mayAsk: true }).read()).outcome.type).toBe('completed');
  });
});

describe('the context window', () => {
  const isSummary = ({ messages }: ModelRequest): boolean => JSON.stringify(messages[0]).includes('You summarise');

  it('S2.1 replaces the oldest messages except the first with a summary, and does not separate a call from its result', async () => {
    const model = new ScriptedModel((request, number) => {
      if (isSummary(request)) return using({ inputTokens: 50, outputTokens: 5 }, say('Searched a lot.'));
      const used = { inputTokens: request.messages.length * 150, outputTokens: 10 };
      return using(used, number < 9 ? callTool('search', { q: `${number}`.repeat(400) }) : say('done'));
    });
    const { outcome, steps, state } = await new TestLoop(model, { tools: [search], contextWindow: 1_500 }).read();
    expect(outcome.type).toBe('completed');
    const summary = steps.find(({ type }) => type === 'context-summarised');
    expect(summary).toMatchObject({ summary: 'Searched a lot.', usage: { inputTokens: 50 } });
    expect(state.messages[0]).toEqual(userMessage('Hello'));
    expect(JSON.stringify(state.messages[1])).toContain('Searched a lot.');
    for (const { request } of model.calls) expectPaired(request);
  });

  it('S2.1 summarises nothing if only the last turn could be replaced', async () => {
    const model = new ScriptedModel((_request, number) =>
      using({ inputTokens: 10_000, outputTokens: 1 }, number === 1 ? callTool('search', { q: 'x' }) : say('done')),
    );
    const { steps } = await new TestLoop(model, { tools: [search], contextWindow: 1_000 }).read();
    expect(steps.some(({ type }) => type === 'context-summarised')).toBe(false);
  });
});

describe('a fault of the model', () => {
  it('S2.1 is thrown with the code of the provider', async () => {
    const failing = new TestLoop(scripted(), {
      callModel: async () => await Promise.reject(new ProviderError('MODEL_STREAM_BROKEN', 'It broke.')),
    });
    await expect(failing.read()).rejects.toMatchObject({ code: 'MODEL_STREAM_BROKEN' });
  });
});

function nameOf(event: unknown): string {
  const { step } = event as { step: { type: string; callId?: string; call?: { id: string } } };
  return [step.type, step.callId ?? step.call?.id].filter(Boolean).join(' ');
}

function expectPaired({ messages }: ModelRequest): void {
  const called = messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])) : [],
  );
  const finished = messages.flatMap((message) => (message.role === 'tool' ? message.content.map(({ id }) => id) : []));
  expect(finished).toEqual(called);
}
