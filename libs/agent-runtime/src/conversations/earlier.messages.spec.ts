import { array, assert, boolean, double, nat, option, property, record } from 'fast-check';
import { type ModelReply, textPart } from '#rollcall/providers';
import type { LoopStep } from '../loop/loop.step.js';
import { afterEarlier, applyStep, closedMessages, resume, type RunState, startOfHistory } from '../loop/run.state.js';
import { redactStep } from '../runs/retention/run.redaction.js';
import { type RunStep, toLoopSteps } from '../runs/run.step.js';
import { EarlierMessages, type EarlierRun } from './earlier.messages.js';

const USAGE = { inputTokens: 10, outputTokens: 5 };

/** A run: the number of tool calls in each turn, whether its last call has a result, and where a summary is made. */
const runs = array(
  record({
    turns: array(nat(2), { minLength: 1, maxLength: 3 }),
    isBroken: boolean(),
    summary: option(record({ before: nat(2), cut: double({ min: 0, max: 1, noNaN: true }) })),
  }),
  { minLength: 1, maxLength: 6 },
);
type Plan = Parameters<Parameters<typeof property<[Plans]>>[1]>[0][number];
type Plans = { turns: number[]; isBroken: boolean; summary: { before: number; cut: number } | null }[];

/** The steps of a run that begins with this state, and its state at the end. */
class Simulated {
  readonly steps: RunStep[] = [];
  state: RunState;

  constructor(name: string, base: RunState, plan: Plan) {
    this.state = base;
    this.push({ type: 'message', parts: [textPart(name)] });
    plan.turns.forEach((calls, turn) => {
      if (plan.summary?.before === turn) this.summarise(`${name}.${turn}`, plan.summary.cut);
      const content: ModelReply['content'] = [{ type: 'text', text: `${name}.${turn}` }];
      const ids = Array.from({ length: calls }, (_, at) => `${name}.${turn}.${at}`);
      for (const id of ids) content.push({ type: 'tool-call', id, name: 'look', input: {} });
      this.push({ type: 'model-replied', turn: turn + 1, reply: { content, finish: 'stop', usage: USAGE } });
      const isLast = turn === plan.turns.length - 1;
      for (const callId of isLast && plan.isBroken ? ids.slice(1) : ids)
        this.push({ type: 'tool-finished', turn: turn + 1, callId, name: 'look', output: callId });
    });
  }

  private summarise(name: string, cut: number): void {
    const { messages, earlier, turn } = this.state;
    const start = startOfHistory(messages);
    let end = start + Math.floor((messages.length - start) * cut);
    while (messages[end]?.role === 'tool') end -= 1;
    if (end - start < 2) return;
    const place = { turn, replaced: end - start, ...(earlier !== undefined && { earlier }) };
    this.push({ type: 'context-summarised', ...place, summary: `summary ${name}`, usage: USAGE });
  }

  private push(step: RunStep): void {
    this.steps.push(step);
    for (const one of toLoopSteps([step])) this.state = applyStep(this.state, one);
  }
}

/** Simulates the runs of a conversation: each begins with the messages of the one before it. */
function conversationOf(plans: Plans): { runs: EarlierRun[]; last: RunState } {
  let last: RunState | undefined;
  const all = plans.map((plan, index): EarlierRun => {
    const base = last ? afterEarlier(closedMessages(last), 0) : resume([]);
    const { steps, state } = new Simulated(`run${index}`, base, plan);
    last = state;
    return { id: `run${index}`, retryOf: null, isRedacted: false, steps };
  });
  return { runs: all, last: last ?? resume([]) };
}

function collected(all: readonly EarlierRun[], retryOf: string | null = null): RunState {
  const earlier = new EarlierMessages(retryOf);
  for (const run of all.toReversed()) earlier.add(run);
  const first = all.find(({ isRedacted }) => !isRedacted);
  if (earlier.needsFirst && first) earlier.addFirst(first);
  return earlier.state();
}

const redacted = (run: EarlierRun): EarlierRun => ({ ...run, isRedacted: true, steps: run.steps.map(redactStep) });
const hasCalls = (messages: RunState['messages']): boolean =>
  messages.every((message, at) => {
    const calls = messages[at - 1];
    return (
      message.role !== 'tool' ||
      (calls?.role === 'assistant' &&
        message.content.every(({ id }) => calls.content.some((part) => part.type === 'tool-call' && part.id === id)))
    );
  });

describe('the messages of earlier runs', () => {
  it('S2.10 are those that the last run ended with, for all runs and summaries', () => {
    assert(
      property(runs, (plans) => {
        const { runs: all, last } = conversationOf(plans);
        expect(collected(all).messages).toEqual(closedMessages(last));
      }),
      { numRuns: 500 },
    );
  });

  it('S2.10 keep each result with its call when runs are redacted or deleted, also while a summarised run is continued', () => {
    assert(
      property(runs, array(boolean()), nat(3), (plans, isRedacted, deleted) => {
        const { runs: all } = conversationOf(plans);
        const left = all.map((run, at) => (isRedacted[at] ? redacted(run) : run)).slice(deleted);
        const { messages } = collected(left);
        expect(hasCalls(messages)).toBe(true);
        if (messages.length > 0) expect(messages[0]?.role).toBe('user');
        const current = all.at(-1)?.steps ?? [];
        const steps: LoopStep[] = toLoopSteps(current);
        expect(hasCalls(closedMessages(resume(steps, collected(left.slice(0, -1)))))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('S2.10 do not contain a run that was repeated, nor the contents of redacted ones', () => {
    const plan = { turns: [1], isBroken: false, summary: null };
    const { runs: all } = conversationOf([plan, plan, plan]);
    const [first, second, third] = all as [EarlierRun, EarlierRun, EarlierRun];
    const texts = JSON.stringify(collected([first, second, { ...third, retryOf: 'run1' }]).messages);
    expect(texts).toContain('run0');
    expect(texts).not.toContain('run1');
    expect(JSON.stringify(collected([first, second, third], 'run2').messages)).not.toContain('run2');
    expect(collected([redacted(first), second]).messages).toEqual(collected([second]).messages);
    expect(collected([redacted(first)]).messages).toEqual([]);
    expect(collected([first, redacted(second), third]).messages.length).toBe(9);
  });
});
