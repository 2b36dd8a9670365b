import * as fc from 'fast-check';
import {
  aborted,
  costOf,
  ModelCatalog,
  type ModelMessage,
  type ModelProvider,
  type ModelReply,
  type Prices,
  ProviderError,
  userMessage,
  VendorRegistry,
} from '#rollcall/providers';
import type { RunOutcome } from '../loop/run.outcome.js';
import { SpendingLimitError } from '../spending/spending.errors.js';
import type { Hold, HoldRequest, SpendingAmount, SpendingLimit } from '../spending/spending.js';
import { given, InMemorySpending, outcomeOf } from '../testing/index.js';
import { BudgetMiddleware } from './budget.middleware.js';
import { composeModel, composeRun } from './compose.js';
import { fallback } from './fallback.middleware.js';
import type { ModelCall } from './middleware.js';
import { retry } from './retry.middleware.js';

/** What the vendor does with one attempt. `share` is the used part of the allowed output, 0 to 100. */
type Behaviour =
  | { does: 'reply' | 'use too much' | 'fail with usage'; share: number }
  | { does: 'fail without usage' | 'reject' | 'fail before sending' | 'abort' };

const share = fc.nat(100);
const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('reply' as const), share }) },
  fc.record({ does: fc.constantFrom('use too much' as const, 'fail with usage' as const), share }),
  fc.record({ does: fc.constantFrom('fail without usage', 'reject', 'fail before sending', 'abort') }),
);

const PRICES = { input: 1_000_000, output: 2_000_000, cacheWrite: 1_250_000 };
const FALLBACK_PRICES = { input: 700_000, output: 5_300_000 };
const catalog = new ModelCatalog({ vendors: VendorRegistry.withAll(), secrets: () => undefined, fetch });
const open = (prices: Prices): ModelProvider =>
  catalog.open({ vendor: 'scripted', model: 'echo', settings: {}, prices });
const MODEL = open(PRICES);
const FALLBACK = open(FALLBACK_PRICES);

/** A vendor whose tokenizer counts fewer tokens than the estimate. It records what it bills. */
class Vendor {
  readonly billed = { tokens: 0, microUsd: 0 };
  /** The number of attempts with unknown usage. */
  unknown = 0;
  /** What it used beyond the output limit. */
  readonly excess = { tokens: 0, microUsd: 0 };
  sent = 0;

  constructor(
    private readonly behaviours: Behaviour[],
    private readonly caller: AbortController,
  ) {}

  readonly call = async ({ request, model }: ModelCall): Promise<ModelReply> => {
    const next = this.behaviours.shift() ?? { does: 'reply', share: 50 };
    const most = request.settings?.maxOutputTokens ?? 0;
    const inputTokens = request.messages.reduce(
      (sum, message) => sum + Math.ceil(JSON.stringify(message).length / 5),
      0,
    );
    if (next.does === 'fail before sending') throw new ProviderError('EGRESS_DENIED', 'denied');
    this.sent += 1;
    switch (next.does) {
      case 'reject':
        throw new ProviderError('MODEL_RATE_LIMITED', 'busy', { usage: { inputTokens: 0, outputTokens: 0 } });
      case 'fail without usage':
        this.unknown += 1;
        throw new ProviderError('MODEL_UNAVAILABLE', 'down');
      case 'abort':
        this.unknown += 1;
        this.caller.abort();
        throw aborted('The call');
      case 'reply':
      case 'use too much':
      case 'fail with usage': {
        const outputTokens = Math.floor((most * next.share) / 100) + (next.does === 'use too much' ? most : 0);
        const [usage, prices] = [{ inputTokens, outputTokens }, model === MODEL ? PRICES : FALLBACK_PRICES];
        const excess = Math.max(0, outputTokens - most);
        this.billed.tokens += inputTokens + outputTokens;
        this.billed.microUsd += costOf(usage, prices) ?? NaN;
        this.excess.tokens += excess;
        this.excess.microUsd += Math.ceil((excess * prices.output) / 1_000_000);
        if (next.does === 'fail with usage') throw new ProviderError('MODEL_STREAM_BROKEN', 'broken', { usage });
        return given.reply('ok', usage);
      }
    }
  };
}

/** Records how each hold ends. */
class RecordedSpending extends InMemorySpending {
  readonly ends: { how: 'settled' | 'estimated' | 'released'; amount: SpendingAmount }[] = [];
  opened = 0;

  override async hold(request: HoldRequest): Promise<Hold> {
    const hold = await super.hold(request);
    this.opened += 1;
    return {
      key: hold.key,
      amount: hold.amount,
      settle: async (usage) => {
        const isKnown = usage.inputTokens !== undefined;
        this.ends.push({ how: isKnown ? 'settled' : 'estimated', amount: hold.amount });
        await hold.settle(usage);
      },
      release: async () => {
        this.ends.push({ how: 'released', amount: hold.amount });
        await hold.release();
      },
    };
  }
}

const COMPLETED: RunOutcome = { type: 'completed', parts: [] };

/** Calls the model until the turns are over, as the loop does. Tools return texts of the given lengths. */
async function runLoop(
  spending: RecordedSpending,
  vendor: Vendor,
  signal: AbortSignal,
  setting: Setting,
): Promise<void> {
  const budget = new BudgetMiddleware({ spending, limit: setting.limit, model: MODEL });
  const middleware = [fallback([FALLBACK]), retry({ random: () => 0, maxAttempts: 2 }), budget.model];
  const model = composeModel(middleware, vendor.call);
  const loop = composeRun([budget.run], async function* () {
    const messages: ModelMessage[] = [{ role: 'system', text: 'You are Ada.' }, userMessage('Hello')];
    yield given.progress();
    for (const [index, length] of setting.tools.entries()) {
      const call = given.modelCall({ model: MODEL, turn: index + 1, request: { messages: [...messages] }, signal });
      try {
        const { content } = await model(call);
        const result = { type: 'tool-result' as const, id: `${index}`, name: 'read', output: 'x'.repeat(length) };
        messages.push({ role: 'assistant', content }, { role: 'tool', content: [result] });
      } catch (error) {
        if (!(error instanceof SpendingLimitError)) throw error;
        await model({ ...call, isFinal: true });
        return COMPLETED;
      }
    }
    return COMPLETED;
  });
  await outcomeOf(loop(given.runCall({ signal }))).catch(() => undefined);
}

interface Setting {
  limit: SpendingLimit;
  tools: number[];
  behaviours: Behaviour[];
}

describe('the budget of a run', () => {
  it('B2 charges all attempts exactly, holds nothing at the end and stays within the limit, whatever the vendor and the caller do', async () => {
    const setting: fc.Arbitrary<Setting> = fc.record({
      limit: fc.record({
        tokens: fc.option(fc.integer({ min: 1, max: 20_000 })),
        microUsd: fc.option(fc.integer({ min: 1, max: 40_000 })),
      }),
      tools: fc.array(fc.nat(4_000), { minLength: 1, maxLength: 8 }),
      behaviours: fc.array(behaviour, { maxLength: 24 }),
    });
    let made = 0;
    await fc.assert(
      fc.asyncProperty(setting, async (one) => {
        const [spending, caller] = [new RecordedSpending(), new AbortController()];
        const vendor = new Vendor([...one.behaviours], caller);
        await runLoop(spending, vendor, caller.signal, one);
        const estimated = spending.ends.filter(({ how }) => how === 'estimated');
        const { own, subtree } = await spending.usageOf('default', 'run-1');
        for (const unit of ['tokens', 'microUsd'] as const) {
          const charged = estimated.reduce((sum, { amount }) => sum + amount[unit], vendor.billed[unit]);
          expect([unit, own[unit], subtree[unit]]).toEqual([unit, charged, charged]);
          expect(charged).toBeLessThanOrEqual((one.limit[unit] ?? Infinity) + vendor.excess[unit]);
        }
        expect(spending.heldBy('default', 'run-1')).toEqual({ tokens: 0, microUsd: 0 });
        expect(spending.ends.length).toBe(spending.opened);
        expect(estimated.length).toBeGreaterThanOrEqual(vendor.unknown);
        if (vendor.sent > 0) made += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(made).toBeGreaterThan(500);
  });
});
