import { array, assert, asyncProperty, constantFrom, nat } from 'fast-check';
import { type ModelProvider, type ModelReply, textPart, userMessage } from '#rollcall/providers';
import { callTool, callTools, expectNoOpenResources, openResources, say, scripted } from '#rollcall/providers/testing';
import { TestLoop } from '../testing/test-loop.js';
import { approvalHashOf } from './approval.hash.js';
import { inputHashOf } from '../tools/input.hash.js';
import { defineTool, type Tool } from '../tools/tool.js';
import type { LoopStep } from './loop.step.js';
import { resume } from './run.state.js';

let executed: string[];
let before: Map<string, number>;
beforeEach(() => {
  executed = [];
  before = openResources();
});
afterEach(async () => await expectNoOpenResources(before));

function tool(name: string, traits: Partial<Tool> = {}): Tool {
  const defined = defineTool({ name, description: 'Works.', idempotent: true, execute: () => undefined });
  return { ...defined, parse: (value) => ({ ok: true, value }), ...traits, execute: (input) => run(name, input) };
}

function run(name: string, input: unknown): string {
  executed.push(name);
  if (name === 'fails') throw new Error('broken');
  return `${name} ${JSON.stringify(input)}`;
}

const SAFE = [tool('a'), tool('b'), tool('fails')];
const START: LoopStep = { type: 'message-received', messages: [userMessage('Hello')] };

/** The tools that the model calls in each turn. A turn without tools is an empty reply; after the last turn, the model answers. */
const turns = array(array(constantFrom('a', 'b', 'fails', 'nope'), { maxLength: 3 }), { maxLength: 5 });

/** A model whose reply depends only on the conversation, so that a resumed run gets the same replies. */
function modelOf(script: readonly (readonly string[])[], requests: string[]): ModelProvider {
  return {
    vendor: 'test',
    model: 'pure',
    complete: async ({ messages }) => {
      const replies = messages.filter(({ role }) => role === 'assistant').length;
      const reminders = messages.filter(({ role }) => role === 'user').length - 1;
      requests.push(JSON.stringify(messages));
      if (JSON.stringify(messages[0]).includes('You summarise')) return replyOf(undefined, replies);
      return replyOf(script[replies + reminders], replies);
    },
    stream: () => {
      throw new Error('not used');
    },
  };
}

function replyOf(names: readonly string[] | undefined, turn: number): ModelReply {
  const usage = { inputTokens: 10, outputTokens: 5 };
  if (!names) return { content: [{ type: 'text', text: 'done' }], finish: 'stop', usage };
  const content = names.map((name, at) => ({
    type: 'tool-call' as const,
    id: `${turn}-${at}`,
    name,
    input: { turn, at },
  }));
  return { content, finish: 'tool-calls', usage };
}

describe('a resumed run', () => {
  it('B6 S2.1 has the same conversation and outcome as the run without interruption, from every prefix of its steps', async () => {
    let summaries = 0;
    await assert(
      asyncProperty(turns, nat(), constantFrom(undefined, 30), async (script, where, contextWindow) => {
        const options = { tools: SAFE, maxIterations: 7, contextWindow };
        const whole = await new TestLoop(modelOf(script, []), options).read();
        const steps = [START, ...whole.steps];
        const prefix = steps.slice(0, 1 + (where % steps.length));
        const requests: string[] = [];
        const rest = await new TestLoop(modelOf(script, requests), options).read({ state: resume(prefix) });
        expect(rest.state).toEqual(whole.state);
        expect(rest.outcome).toEqual(whole.outcome);
        expect(requests).toHaveLength(whole.state.turn - resume(prefix).turn); // a reply in the steps is never requested again
        summaries += steps.filter(({ type }) => type === 'context-summarised').length;
      }),
    );
    expect(summaries).toBeGreaterThan(0);
  });

  it('B6 S2.1 the state is plain JSON', async () => {
    const { state } = await new TestLoop(modelOf([['a', 'nope']], []), { tools: SAFE }).read();
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  });

  it('B6 repeats an idempotent call that was interrupted, and no other call', async () => {
    const script = [['a', 'b']];
    const { steps } = await new TestLoop(modelOf(script, []), { tools: SAFE }).read();
    executed = [];
    await new TestLoop(modelOf(script, []), { tools: SAFE }).read({ state: resume([START, ...steps.slice(0, 4)]) });
    expect(executed).toEqual(['b']);
  });

  it('B6 does not repeat a call that is not idempotent, but asks for a review', async () => {
    const tools = [tool('pay', { idempotent: false }), tool('a')];
    const model = (): ReturnType<typeof scripted> => scripted(callTools(['pay', { eur: 5 }], ['a', {}]), say('paid'));
    const { steps } = await new TestLoop(model(), { tools }).read();
    const interrupted = [START, ...steps.slice(0, 3)];
    executed = [];
    const review = await new TestLoop(scripted(), { tools }).read({ state: resume(interrupted) });
    expect(review.outcome).toMatchObject({ type: 'stopped', reason: 'needs-review' });
    expect((review.outcome as { detail: string }).detail).toContain('pay (pay-1)');
    expect(executed).toEqual([]);
  });

  it('B6 continues after a review with the recorded result, or repeats the call if an operator approved the repetition', async () => {
    const tools = [tool('pay', { idempotent: false })];
    const { steps } = await new TestLoop(scripted(callTool('pay', { eur: 5 }), say('paid')), { tools }).read();
    const interrupted = [START, ...steps.slice(0, 2)];
    executed = [];
    const result: LoopStep = { type: 'tool-finished', turn: 1, callId: 'pay-1', name: 'pay', output: 'it had worked' };
    const recorded = await new TestLoop(scripted(say('paid')), { tools }).read({
      state: resume([...interrupted, result]),
    });
    expect([recorded.outcome.type, executed]).toEqual(['completed', []]);
    const again = { ...decision('pay-1', { eur: 5 }), approved: true };
    const repeated = await new TestLoop(scripted(say('paid')), { tools }).read({
      state: resume([...interrupted, again]),
    });
    expect([repeated.outcome.type, executed]).toEqual(['completed', ['pay']]);
    const crashed = resume([...interrupted, again, repeated.steps[0]]);
    expect((await new TestLoop(scripted(), { tools }).read({ state: crashed })).outcome).toMatchObject({
      reason: 'needs-review',
    });
  });

  it('S2.1 adds a failed result to each call that has no result when the caller continues the conversation', () => {
    const reply: LoopStep = { type: 'model-replied', turn: 1, reply: replyOf(['a'], 0) };
    const { messages } = resume([START, reply, { type: 'message-received', messages: [userMessage('Stop that.')] }]);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(messages[2]).toMatchObject({ content: [{ failed: true }] });
  });
});

describe('a call that needs an approval', () => {
  const tools = [tool('pay', { needsApproval: true, idempotent: false }), tool('a')];
  const reply = callTools(['pay', { eur: 5 }], ['a', {}]);

  it('S2.2 waits for the decision about exactly its input, while other calls are executed', async () => {
    const { outcome } = await new TestLoop(scripted(reply), { tools }).read();
    expect(executed).toEqual(['a']);
    const inputHash = approvalHashOf({ input: { eur: 5 }, turn: 1, asked: 0 });
    expect(outcome).toEqual({
      type: 'waiting',
      approvals: [{ callId: 'pay-1', tool: 'pay', input: { eur: 5 }, inputHash, approve: 'operator' }],
    });
  });

  it.each([
    ['is executed after the approval', true, ['pay'], 'pay {"eur":5}'],
    ['is reported as rejected to the model', false, [], 'An operator rejected this call: too expensive'],
  ])('S2.2 %s', async (_name, approved, calls, output) => {
    const { steps } = await new TestLoop(scripted(reply), { tools }).read();
    executed = [];
    const decided: LoopStep = { ...decision('pay-1', { eur: 5 }), approved, reason: 'too expensive' };
    const model = scripted(say('done'));
    const { outcome } = await new TestLoop(model, { tools }).read({ state: resume([START, ...steps, decided]) });
    expect(outcome).toEqual({ type: 'completed', parts: [textPart('done')] });
    expect(executed).toEqual(calls);
    expect(model.calls[0]?.request.messages.at(-1)).toMatchObject({ content: [{ output }, { output: 'a {}' }] });
  });

  it('S2.2 is not executed after an approval of another input', async () => {
    const { steps } = await new TestLoop(scripted(reply), { tools }).read();
    executed = [];
    const decided: LoopStep = { ...decision('pay-1', { eur: 500 }), approved: true };
    const { outcome } = await new TestLoop(scripted(), { tools }).read({ state: resume([START, ...steps, decided]) });
    expect([outcome.type, executed]).toEqual(['waiting', []]);
  });

  it('S2.2 is not shown to an operator if its input is invalid', async () => {
    const strict = [{ ...tools[0], parse: () => ({ ok: false as const, problems: 'eur is too large' }) }];
    const model = scripted(callTool('pay', { eur: 5 }), say('done'));
    const { outcome } = await new TestLoop(model, { tools: strict }).read();
    expect(outcome.type).toBe('completed');
    expect(JSON.stringify(model.calls[1]?.request.messages.at(-1))).toContain('eur is too large');
  });
});

function decision(callId: string, input: unknown): Extract<LoopStep, { type: 'approval-decided' }> {
  return { type: 'approval-decided', callId, inputHash: inputHashOf(input), approved: true };
}
