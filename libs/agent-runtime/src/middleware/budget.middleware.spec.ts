import {
  ModelCatalog,
  type ModelMessage,
  type ModelProvider,
  type ModelReply,
  ProviderError,
  userMessage,
  VendorRegistry,
} from '#rollcall/providers';
import { callTool, say, scripted, using } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import type { RunOutcome } from '../loop/run.outcome.js';
import { RunReservations } from '../spending/run.reservations.js';
import { SpendingLimitError } from '../spending/spending.errors.js';
import { unrecorded } from '../spending/spending.js';
import { given, InMemorySpending, outcomeOf } from '../testing/index.js';
import { TestLoop } from '../testing/test-loop.js';
import { defineTool, type Tool } from '../tools/tool.js';
import { BudgetMiddleware, type BudgetOptions } from './budget.middleware.js';
import { attemptModel, composeModel, composeRun } from './compose.js';
import { fallback } from './fallback.middleware.js';
import type { ModelCall, ModelMiddleware, ModelNext } from './middleware.js';
import { retry } from './retry.middleware.js';

type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;
const COMPLETED: RunOutcome = { type: 'completed', parts: [] };
const NO_LIMIT = { tokens: null, microUsd: null };
const RUN = { namespace: 'default', runId: 'run-1' };

let spending: InMemorySpending;
let made: ModelCall[];
beforeEach(() => {
  spending = new InMemorySpending();
  made = [];
});

interface Setting {
  limit?: number | null;
  budget?: Partial<BudgetOptions>;
  outer?: ModelMiddleware[];
  /** What the vendor does. By default it answers with 10 input and 5 output tokens. */
  vendor?: ModelNext;
}

/** Executes a run whose loop is the given function. */
async function run(
  loop: (model: (call?: Partial<ModelCall>) => Promise<ModelReply>) => Promise<unknown>,
  { limit = null, budget: options, outer = [], vendor = async () => given.reply('ok') }: Setting = {},
): Promise<RunOutcome> {
  const budget = new BudgetMiddleware({ spending, limit: { tokens: limit, microUsd: null }, ...options });
  const model = composeModel([...outer, budget.model], async (call) => {
    made.push(call);
    return await vendor(call);
  });
  const running = composeRun([budget.run], async function* ({ context }) {
    yield given.progress();
    await loop(async (call) => await model(given.modelCall({ context, ...call })));
    return COMPLETED;
  })(given.runCall());
  return await outcomeOf(running);
}

/** Executes a run of the real loop. */
async function runLoop(model: ModelProvider, tokens: number, tools: Tool[] = []): Promise<RunOutcome> {
  const budget = new BudgetMiddleware({ spending, limit: { tokens, microUsd: null } });
  const loop = new TestLoop(model, { tools, callModel: composeModel([budget.model], attemptModel) });
  return await outcomeOf(composeRun([budget.run], (call) => loop.start(call))(given.runCall()));
}

/** A delegated run uses this many tokens. */
async function delegate(tokens: number): Promise<void> {
  const child = { namespace: 'default', runId: 'child', agentId: null, callerId: null };
  await spending.openRun({ ...child, parentRunId: 'run-1', limit: NO_LIMIT });
  const reservations = new RunReservations(spending, child, unrecorded(spending));
  const terms = { amount: { tokens, microUsd: 0 }, isUnpriced: true };
  const use = reservations.wanted('call', terms, (opened) => opened.use(terms.amount, false));
  await reservations.change([], [use]);
  await reservations.close();
}

const used = async (): Promise<number> => (await spending.usageOf(RUN)).own.tokens;
const held = (): number => spending.heldBy('default', 'run-1').tokens;
const maxOutputs = (): (number | undefined)[] => made.map(({ request }) => request.settings?.maxOutputTokens);
const codeOf = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'succeeded',
    (error: { code: string }) => error.code,
  );
const failing = (error: Error): ModelNext =>
  async function fail() {
    throw error;
  };

/** A model with a price of 1 micro-dollar per input token and 2 per output token. */
function pricedModel(settings = {}): ModelProvider {
  const catalog = new ModelCatalog({ vendors: VendorRegistry.withAll(), secrets: () => undefined, fetch });
  const prices = { input: 1_000_000, output: 2_000_000 };
  return catalog.open({ vendor: 'scripted', model: 'echo', settings, prices });
}

describe('budget', () => {
  it('B2 S2.8 opens the budget of the run, charges each call with what it used, and reserves nothing at the end', async () => {
    const heldDuringCalls: number[] = [];
    const outcome = await run(
      async (model) => {
        await model();
        await model({ turn: 2 });
      },
      {
        limit: 50_000,
        vendor: async () => {
          heldDuringCalls.push(held());
          return given.reply('ok');
        },
      },
    );
    expect(outcome).toBe(COMPLETED);
    expect(heldDuringCalls.every((tokens) => tokens > 4_096 + 1_024)).toBe(true);
    expect([await used(), held()]).toEqual([30, 0]);
    expect((await spending.usageOf(RUN)).limit).toEqual({ tokens: 50_000, microUsd: null });
  });

  it('B2 ends a run before any model call if the budget does not cover the final call', async () => {
    const model = scripted();
    const outcome = await runLoop(model, 50);
    expect(outcome).toMatchObject({ type: 'stopped', reason: 'budget', detail: expect.stringContaining('50 tokens') });
    expect([model.calls, await used(), held()]).toEqual([[], 0, 0]);
  });

  it('B2 limits the answer by the request, else by the preset, else to 4,096 tokens', async () => {
    await run(async (model) => {
      await model({
        request: { messages: [userMessage('x')], settings: { maxOutputTokens: 7 } },
        model: pricedModel(),
      });
      await model({ turn: 2, model: pricedModel({ maxOutputTokens: 300 }) });
      await model({ turn: 3, model: pricedModel() });
    });
    expect(maxOutputs()).toEqual([7, 300, 4_096]);
  });

  it('B2 limits the answer to the part of the budget that is left', async () => {
    await run(async (model) => await model(), { limit: 2_000 });
    expect(maxOutputs()[0]).toBeGreaterThan(1_000);
    expect(maxOutputs()[0]).toBeLessThan(2_000);
  });

  it('B2 rejects a call that the budget does not cover, and charges the final call to the amount reserved since the first call', async () => {
    const rest = async (call: ModelCall): Promise<ModelReply> => {
      const { maxOutputTokens = 0 } = call.request.settings ?? {};
      return given.reply('ok', { inputTokens: 15, outputTokens: maxOutputTokens });
    };
    const outcome = await run(
      async (model) => {
        await model();
        await expect(model({ turn: 2 })).rejects.toBeInstanceOf(SpendingLimitError);
        await model({ turn: 2, isFinal: true });
        await expect(model({ turn: 3, isFinal: true })).rejects.toBeInstanceOf(SpendingLimitError);
      },
      { limit: 2_000, vendor: rest },
    );
    expect([outcome, made.length, held()]).toEqual([COMPLETED, 2, 0]);
    expect(made[1]?.request.settings?.maxOutputTokens).toBeGreaterThanOrEqual(64);
    expect(await used()).toBeGreaterThan(1_900);
    expect(await used()).toBeLessThanOrEqual(2_000);
  });

  it('B2 the amount for the final call grows with the conversation', async () => {
    const messages: ModelMessage[] = [userMessage('x'.repeat(3_000))];
    await run(
      async (model) => {
        await model({ request: { messages } });
        expect(held()).toBeGreaterThan(1_000);
        await expect(
          model({ turn: 2, request: { messages: [...messages, ...messages, ...messages] } }),
        ).rejects.toThrow('tokens left');
        await model({ turn: 2, isFinal: true, request: { messages } });
      },
      { limit: 4_000, vendor: async () => given.reply('ok', { inputTokens: 900, outputTokens: 100 }) },
    );
    expect([made.length, await used(), held()]).toEqual([2, 2_000, 0]);
  });

  it('B2 sends only the beginning of a tool result in the final call if the budget does not cover all of it', async () => {
    const output = 'ä'.repeat(20_000);
    const messages: ModelMessage[] = [
      userMessage('Hello'),
      { role: 'tool', content: [{ type: 'tool-result', id: '1', name: 'read', output: 'short' }] },
      { role: 'tool', content: [{ type: 'tool-result', id: '2', name: 'read', output }] },
    ];
    await run(
      async (model) => {
        await model();
        expect(await codeOf(model({ turn: 2, request: { messages } }))).toBe('SPENDING_LIMIT_REACHED');
        await model({ turn: 2, isFinal: true, request: { messages } });
      },
      { limit: 3_000 },
    );
    const [, second, third] = (made[1]?.request.messages ?? []) as [ModelMessage, ToolMessage, ToolMessage];
    expect(second).toEqual(messages[1]);
    expect(third.content[0]?.output).toMatch(/^ä{50,2000}\n\[cut: the budget of this run does not allow more\]$/);
    expect(made[1]?.request.settings?.maxOutputTokens).toBeGreaterThanOrEqual(64);
    expect([made.length, await used(), held()]).toEqual([2, 30, 0]);
  });

  it('B2 informs the model when 80 % of the budget is used, in all attempts of that turn and in no later turn', async () => {
    const messages: ModelMessage[] = [{ role: 'system', text: 'You are Ada.' }, userMessage('Hello')];
    const usage = { inputTokens: 10, outputTokens: 40_490 };
    let fails = 1;
    await run(
      async (model) => {
        for (const turn of [1, 2, 3, 4]) await model({ turn, request: { messages } });
      },
      {
        limit: 100_000,
        outer: [retry({ random: () => 0 })],
        vendor: async ({ turn }) => {
          if (turn === 3 && fails-- > 0)
            throw new ProviderError('MODEL_OVERLOADED', 'busy', { usage: { inputTokens: 0, outputTokens: 0 } });
          return given.reply('ok', turn < 3 ? usage : { inputTokens: 10, outputTokens: 5 });
        },
      },
    );
    const notices = made.map(({ turn, request }) => [turn, request.messages[1]?.role, request.messages.length]);
    expect(notices).toEqual([
      [1, 'user', 2],
      [2, 'user', 2],
      [3, 'system', 3],
      [3, 'system', 3],
      [4, 'user', 2],
    ]);
    expect(made[2]?.request.messages[1]).toMatchObject({ text: expect.stringContaining('81 %') });
    expect(messages).toHaveLength(2);
  });

  it('B2 includes the usage of delegated runs when it decides about the notice, without reading the budget again', async () => {
    const { usageOf } = spending;
    let reads = 0;
    await run(
      async (model) => {
        spending.usageOf = async (of) => {
          if (of.runId === 'run-1') reads += 1;
          return await usageOf.call(spending, of);
        };
        await delegate(90_000);
        await model();
      },
      { limit: 100_000 },
    );
    expect(made[0]?.request.messages[0]).toMatchObject({ role: 'system', text: expect.stringContaining('90 %') });
    expect(reads).toBe(0);
  });

  it('B2 adds the usage that is not charged yet to the usage of delegated runs when it decides about the notice', async () => {
    const usage = { inputTokens: 10, outputTokens: 4_000 };
    const model = scripted(using(usage, callTool('delegate', {})), using(usage, say('done')));
    const charged: number[] = [];
    const delegates = defineTool({
      name: 'delegate',
      description: 'Delegates.',
      execute: async () => {
        charged.push((await spending.usageOf(RUN)).subtree.tokens);
        await delegate(796_000);
        return 'done';
      },
    });
    expect(await runLoop(model, 1_000_000, [delegates])).toMatchObject({ type: 'completed' });
    expect(charged).toEqual([0]);
    expect(model.calls.map(({ request }) => request.messages[1]?.role)).toEqual(['user', 'system']);
    expect(model.calls[1]?.request.messages[1]).toMatchObject({ text: expect.stringContaining('80 %') });
  });

  it('B2 charges a failed call with its known usage', async () => {
    const error = new ProviderError('MODEL_STREAM_BROKEN', 'broken', { usage: { inputTokens: 9, outputTokens: 2 } });
    await expect(run(async (model) => await model(), { vendor: failing(error) })).rejects.toBe(error);
    expect([await used(), held()]).toEqual([11, 0]);
  });

  it.each([
    ['a broken stream', new ProviderError('MODEL_STREAM_BROKEN', 'broken')],
    ['an abort after the request was sent', new ProviderError('CALL_ABORTED', 'aborted')],
    ['a bug', new TypeError('a bug')],
  ])('B2 charges the reserved amount if a call failed and its usage is unknown: %s', async (_name, error) => {
    const request = { messages: [userMessage('Hello')], settings: { maxOutputTokens: 100 } };
    await expect(run(async (model) => await model({ request }), { vendor: failing(error) })).rejects.toBe(error);
    expect(await used()).toBeGreaterThan(100);
    expect(await used()).toBeLessThan(150);
    expect(held()).toBe(0);
  });

  it.each(['EGRESS_DENIED', 'MODEL_KEY_MISSING', 'MODEL_KEY_REFUSED'] as const)(
    'B2 charges nothing if the request was never sent: %s',
    async (code) => {
      const error = new ProviderError(code, 'not sent');
      await expect(run(async (model) => await model(), { vendor: failing(error) })).rejects.toBe(error);
      expect([await used(), held()]).toEqual([0, 0]);
    },
  );

  it('B2 charges nothing if the caller aborts before the call', async () => {
    expect(await codeOf(run(async (model) => await model({ signal: AbortSignal.abort() })))).toBe('CALL_ABORTED');
    expect([made, await used(), held()]).toEqual([[], 0, 0]);
  });

  it('B2 S2.8 charges each attempt of retry and fallback', async () => {
    const failures = [11, 12, 13, 14].map(
      (outputTokens) =>
        new ProviderError('MODEL_STREAM_BROKEN', 'broken', { usage: { inputTokens: 100, outputTokens } }),
    );
    await run(async (model) => await model(), {
      outer: [fallback([pricedModel()]), retry({ random: () => 0 })],
      vendor: async () => {
        const error = failures.shift();
        if (error) throw error;
        return given.reply('ok', { inputTokens: 100, outputTokens: 15 });
      },
    });
    expect(made.map(({ attempt, model }) => [attempt, model.model])).toEqual([
      [1, 'script'],
      [2, 'script'],
      [3, 'script'],
      [4, 'echo'],
      [5, 'echo'],
    ]);
    expect([await used(), held()]).toEqual([565, 0]);
  });

  it('B2 charges money by the prices of the model that was called', async () => {
    await run(async (model) => await model({ model: pricedModel() }), {
      budget: { limit: { tokens: null, microUsd: 50_000 } },
    });
    expect((await spending.usageOf(RUN)).own).toEqual({ tokens: 15, microUsd: 20 });
  });

  it('B2 allows only the shortest answer when little money is left, and then rejects calls', async () => {
    const model = pricedModel();
    await run(
      async (call) => {
        await call({ model });
        expect(await codeOf(call({ model, turn: 2 }))).toBe('SPENDING_LIMIT_REACHED');
        await call({ model, turn: 2, isFinal: true });
      },
      {
        budget: { limit: { tokens: null, microUsd: 400 } },
        vendor: async ({ request }) =>
          given.reply('ok', { inputTokens: 5, outputTokens: request.settings?.maxOutputTokens }),
      },
    );
    expect(maxOutputs()).toEqual([64, 64]);
    expect((await spending.usageOf(RUN)).own.microUsd).toBe(2 * (5 + 128));
  });

  it('B2 rejects a model without prices in a run with a limit of money', async () => {
    const options = { budget: { limit: { tokens: null, microUsd: 50_000 } } };
    expect(await codeOf(run(async (model) => await model(), options))).toBe('MODEL_PRICE_UNKNOWN');
    expect([made, held()]).toEqual([[], 0]);
  });

  it('B2 also limits the answer to the budget of the agent', async () => {
    spending.limit('agent', 'default', 'ada', { tokens: 1_000, microUsd: null });
    await run(
      async (model) => {
        await model();
        expect(maxOutputs()[0]).toBeLessThan(1_000);
      },
      { budget: { finalOutputTokens: 64 } },
    );
    expect(made).toHaveLength(1);
  });

  it('B2 charges each of two concurrent runs only with its own usage', async () => {
    const budget = new BudgetMiddleware({ spending });
    const model = composeModel([budget.model], async () => given.reply('ok'));
    const both = ['a', 'b'].map(async (runId) => {
      const context = given.context({ runId });
      const running = composeRun([budget.run], async function* () {
        yield given.progress();
        await model(given.modelCall({ context }));
        return COMPLETED;
      })(given.runCall({ context }));
      await outcomeOf(running);
      return (await spending.usageOf({ namespace: 'default', runId })).own.tokens;
    });
    expect(await Promise.all(both)).toEqual([15, 15]);
  });

  it('B2 charges the reserved amount of a call that is still in progress when the run ends', async () => {
    const reply = Promise.withResolvers<ModelReply>();
    const request = { messages: [userMessage('Hello')], settings: { maxOutputTokens: 100 } };
    let late: Promise<ModelReply> | undefined;
    await run(
      async (model) => {
        late = model({ request });
        await until('the call is in progress', () => made.length === 1);
      },
      { vendor: async () => await reply.promise },
    );
    const charged = await used();
    expect(charged).toBeGreaterThan(100);
    expect(charged).toBeLessThan(150);
    reply.resolve(given.reply('late'));
    await late;
    expect([await used(), held(), spending.accounts.all]).toEqual([charged, 0, []]);
  });

  it('B2 reserves nothing if a reservation is made while the run ends', async () => {
    const { apply } = spending;
    const isMade = Promise.withResolvers<void>();
    const caller = new AbortController();
    let late: Promise<unknown> | undefined;
    await run(async (model) => {
      spending.apply = async (ops) => {
        const outcomes = await apply.call(spending, ops);
        await isMade.promise;
        return outcomes;
      };
      late = codeOf(model({ signal: caller.signal }));
      await until('the reservation is made', () => held() > 0);
      caller.abort();
    });
    isMade.resolve();
    expect(await late).toBe('CALL_ABORTED');
    expect([made, await used(), held(), spending.accounts.all]).toEqual([[], 0, 0, []]);
  });

  it('B2 logs a reservation that cannot be ended, and still returns the outcome', async () => {
    const warnings: unknown[] = [];
    spending.close = async () => await Promise.reject(new Error('down'));
    const log = { warn: (entry: unknown) => warnings.push(entry) };
    expect(await run(async (model) => await model(), { budget: { log } })).toBe(COMPLETED);
    expect(warnings).toMatchObject([{ event: 'run.charge_failed', runId: 'run-1' }]);
  });
});
