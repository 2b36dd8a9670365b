import type { ModelProvider } from '#rollcall/providers';
import { breakAfter, callTool, callTools, say, scripted, using } from '#rollcall/providers/testing';
import type { LedgerOp, LedgerOutcome } from '#rollcall/registry';
import { BudgetMiddleware } from '../middleware/budget.middleware.js';
import { attemptModel, composeModel, composeRun } from '../middleware/compose.js';
import { retry } from '../middleware/retry.middleware.js';
import type { RunWriter } from '../spending/spending.js';
import { given, InMemorySpending, outcomeOf } from '../testing/index.js';
import { TestLoop } from '../testing/test-loop.js';
import { defineTool, type Tool } from '../tools/tool.js';
import type { LoopStep } from './loop.step.js';
import type { RunOutcome } from './run.outcome.js';

const USED = { inputTokens: 10, outputTokens: 5 };

/** What happens in a run, in order: its commits, and its effects outside. */
class Order implements RunWriter {
  readonly execution = '1';
  readonly spending = new InMemorySpending();
  /** A commit is written as the types of its steps, and its operations with the kind of the reservation. */
  readonly events: string[] = [];
  private added: LoopStep[] = [];
  private closing: readonly LedgerOp[] = [];
  private readonly stored = new Map<string, PromiseWithResolvers<void>>();

  add(step: LoopStep): void {
    this.added.push(step);
  }

  async commit(ops: readonly LedgerOp[] = []): Promise<readonly LedgerOutcome[]> {
    return this.added.length + ops.length > 0 ? await this.write('commit', ops) : [];
  }

  async close(ops: readonly LedgerOp[]): Promise<void> {
    this.closing = ops;
  }

  async finish(): Promise<void> {
    await this.write('finish', this.closing);
  }

  /** An effect outside, for example a model call. All steps before it must be stored. */
  effect(name: string): void {
    this.events.push(this.added.length === 0 ? name : `${name} before ${this.added.length} steps are stored`);
  }

  /** Resolves when the result of the call is stored. */
  async storedResult(callId: string): Promise<void> {
    await this.resultOf(callId).promise;
  }

  private resultOf(callId: string): PromiseWithResolvers<void> {
    const result = this.stored.get(callId) ?? Promise.withResolvers<void>();
    this.stored.set(callId, result);
    return result;
  }

  private async write(name: string, ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]> {
    const steps = this.added;
    this.added = [];
    this.events.push([`${name}:`, ...steps.map(({ type }) => type), ...ops.map(textOf)].join(' '));
    const outcomes = await this.spending.apply(ops);
    for (const step of steps) if (step.type === 'tool-finished') this.resultOf(step.callId).resolve();
    return outcomes;
  }
}

function textOf(op: LedgerOp): string {
  const { key } = op.op === 'reserve' ? op.request : 'of' in op ? op.of : { key: '' };
  return `${op.op}(${key.split('/')[1]})`;
}

interface Setting {
  limit?: number;
  tools?: readonly Tool[];
  isPaid?: boolean;
}

/** Executes a run, and reads it as the owner of a durable run does. */
async function execute(order: Order, model: ModelProvider, setting: Setting): Promise<RunOutcome> {
  const { limit = null, tools = [], isPaid = true } = setting;
  const budget = new BudgetMiddleware({ spending: order.spending, limit: { tokens: limit, microUsd: null } });
  const middleware = isPaid ? [retry({ random: () => 0 }), budget.model] : [];
  const complete: ModelProvider['complete'] = async (request, options) => {
    order.effect('model');
    return await model.complete(request, options);
  };
  const seen: ModelProvider = { vendor: 'test', model: 'seen', complete, stream: (...all) => model.stream(...all) };
  const loop = new TestLoop(seen, { tools, callModel: composeModel(middleware, attemptModel) });
  const run = composeRun(isPaid ? [budget.run] : [], (call) => loop.start(call))(given.runCall({ writer: order }));
  const outcome = await outcomeOf(run, (event) => void (event.type === 'step' && order.add(event.step)));
  await order.finish();
  return outcome;
}

let order: Order;
beforeEach(() => void (order = new Order()));

/** A tool that ends when the result of another call is stored, if one is given. */
function tool(name: string, after?: string): Tool {
  const work = async (): Promise<string> => {
    order.effect(name);
    if (after) await order.storedResult(after);
    return 'worked';
  };
  return defineTool({ name, description: 'Works.', execute: work });
}

describe('the order of the commits and the effects of a run', () => {
  it('B6 stores a reply together with the start of its tools before a tool is executed, and a result before the next model call', async () => {
    const model = scripted(callTool('look', {}), callTools(['look', {}, 'a'], ['pay', {}, 'b']), say('done'));
    await execute(order, model, { isPaid: false, tools: [tool('look'), tool('pay')] });
    expect(order.events).toEqual([
      'model',
      'commit: model-replied tool-called',
      'look',
      'commit: tool-finished',
      'model',
      'commit: model-replied tool-called tool-called',
      'look',
      'pay',
      'commit: tool-finished tool-finished',
      'model',
      'finish: model-replied',
    ]);
  });

  it('B2 B6 reserves the amounts of the first call and of the final call in one commit before the first model call, and ends them with the last reply', async () => {
    const model = scripted(using(USED, callTool('look', {})), using(USED, say('done')));
    await execute(order, model, { tools: [tool('look')] });
    expect(order.events).toEqual([
      'commit: reserve(final) reserve(calls)',
      'model',
      'commit: model-replied tool-called',
      'look',
      'commit: tool-finished',
      'model',
      'finish: model-replied release(final) settle(calls)',
    ]);
    expect(await order.spending.usageOf({ namespace: 'default', runId: 'run-1' })).toMatchObject({
      own: { tokens: 30 },
      reserved: { tokens: 0 },
    });
  });

  it('B2 B6 stores the result of a tool in the commit that reserves the next model call', async () => {
    const model = scripted(using(USED, callTool('look', {})), using(USED, say('done')));
    await execute(order, model, { tools: [tool('look')], limit: 3_000 });
    expect(order.events).toEqual([
      'commit: reserve(final) reserve(calls)',
      'model',
      'commit: model-replied tool-called',
      'look',
      'commit: tool-finished settle(calls) reserve(calls)',
      'model',
      'finish: model-replied release(final) settle(calls)',
    ]);
  });

  it('B6 stores the result of a tool at once while another tool is still executed', async () => {
    const model = scripted(callTools(['slow', {}, 'a'], ['fast', {}, 'b']), say('done'));
    await execute(order, model, { isPaid: false, tools: [tool('slow', 'b'), tool('fast')] });
    expect(order.events).toEqual([
      'model',
      'commit: model-replied tool-called tool-called',
      'slow',
      'fast',
      'commit: tool-finished',
      'commit: tool-finished',
      'model',
      'finish: model-replied',
    ]);
  });

  it('B2 B6 ends the reservation of a failed attempt before the next attempt', async () => {
    const model = scripted(breakAfter('hm'), using(USED, say('done')));
    await execute(order, model, {});
    expect(order.events).toEqual([
      'commit: reserve(final) reserve(calls)',
      'model',
      'commit: settle(calls)',
      'commit: reserve(calls)',
      'model',
      'finish: model-replied release(final) settle(calls)',
    ]);
  });

  it('B2 B6 stores the results of tools before the final call, in the commit whose reservation is rejected', async () => {
    const usage = { inputTokens: 10, outputTokens: 1_500 };
    const model = scripted(using(usage, callTool('look', {})), using(USED, say('done')));
    const outcome = await execute(order, model, { tools: [tool('look')], limit: 2_000 });
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'budget' });
    expect(order.events.filter((event) => event !== 'commit: raise(final)')).toEqual([
      'commit: reserve(final) reserve(calls)',
      'model',
      'commit: model-replied tool-called',
      'look',
      'commit: tool-finished settle(calls) reserve(calls)',
      'model',
      'finish: model-replied settle(final)',
    ]);
  });

  it('B2 B6 makes no call and stores no step if the budget does not cover the first call', async () => {
    const outcome = await execute(order, scripted(), { limit: 50 });
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'budget' });
    expect(order.events.filter((event) => event.startsWith('model'))).toEqual([]);
    expect(order.events.at(-1)).toBe('finish:');
  });
});
