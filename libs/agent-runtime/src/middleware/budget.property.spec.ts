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
import type { LedgerOp, LedgerOutcome } from '#rollcall/registry';
import type { LoopEvent } from '../loop/loop.step.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import { SpendingLimitError } from '../spending/spending.errors.js';
import type { Charge, SpendingAmount, SpendingLimit } from '../spending/spending.js';
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
  /** The attempts with unknown usage: the most that each could have used. */
  readonly unknown: SpendingAmount[] = [];
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
    const prices = model === MODEL ? PRICES : FALLBACK_PRICES;
    const microUsd = costOf({ inputTokens, outputTokens: most }, prices) ?? NaN;
    const whole = { tokens: inputTokens + most, microUsd };
    switch (next.does) {
      case 'reject':
        throw new ProviderError('MODEL_RATE_LIMITED', 'busy', { usage: { inputTokens: 0, outputTokens: 0 } });
      case 'fail without usage':
        this.unknown.push(whole);
        throw new ProviderError('MODEL_UNAVAILABLE', 'down');
      case 'abort':
        this.unknown.push(whole);
        this.caller.abort();
        throw aborted('The call');
      case 'reply':
      case 'use too much':
      case 'fail with usage': {
        const outputTokens = Math.floor((most * next.share) / 100) + (next.does === 'use too much' ? most : 0);
        const usage = { inputTokens, outputTokens };
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

/** Records how each reservation begins and ends. */
class RecordedSpending extends InMemorySpending {
  /** The largest amount of each reservation, by its key. */
  readonly opened = new Map<string, SpendingAmount>();
  readonly ends: { key: string; how: 'settled' | 'estimated' | 'released'; usage: SpendingAmount }[] = [];

  override async apply(ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]> {
    const outcomes = await super.apply(ops);
    for (const [index, outcome] of outcomes.entries()) if (outcome.ok) this.record(ops[index], outcome);
    return outcomes;
  }

  private record(op: LedgerOp | undefined, { reservation }: Extract<LedgerOutcome, { ok: true }>): void {
    if (!op || !reservation) return;
    const { key, held } = reservation;
    if (op.op === 'reserve' || op.op === 'raise') this.opened.set(key, held);
    if (op.op === 'release') this.ends.push({ key, how: 'released', usage: NOTHING });
    if (op.op !== 'settle') return;
    const { tokens, microUsd, isEstimated } = op.usage;
    const usage = { tokens: tokens ?? NaN, microUsd: microUsd ?? NaN };
    this.ends.push({ key, how: isEstimated ? 'estimated' : 'settled', usage });
  }
}

const NOTHING = { tokens: 0, microUsd: 0 };
const COMPLETED: RunOutcome = { type: 'completed', parts: [] };

/** Calls the model until the turns are over, as the loop does. Returns the charges that its steps contain. */
async function runLoop(
  spending: RecordedSpending,
  vendor: Vendor,
  signal: AbortSignal,
  setting: Setting,
): Promise<Charge[]> {
  const budget = new BudgetMiddleware({ spending, limit: setting.limit });
  const middleware = [fallback([FALLBACK]), retry({ random: () => 0, maxAttempts: 2 }), budget.model];
  const model = composeModel(middleware, vendor.call);
  const charges: Charge[] = [];
  const loop = composeRun([budget.run], async function* ({ context }) {
    const messages: ModelMessage[] = [{ role: 'system', text: 'You are Ada.' }, userMessage('Hello')];
    yield given.progress();
    for (const [index, { length, isRejected, isKept }] of setting.turns.entries()) {
      const turn = index + 1;
      const call = given.modelCall({ context, model: MODEL, turn, request: { messages: [...messages] }, signal });
      try {
        const reply = await model(call);
        if (!isRejected) yield replied(turn, reply);
        if (isKept) for (const account of spending.accounts.all) await account.keep();
        const result = { type: 'tool-result' as const, id: `${index}`, name: 'read', output: 'x'.repeat(length) };
        messages.push({ role: 'assistant', content: reply.content }, { role: 'tool', content: [result] });
      } catch (error) {
        if (!(error instanceof SpendingLimitError)) throw error;
        yield replied(turn, await model({ ...call, isFinal: true }));
        return COMPLETED;
      }
    }
    return COMPLETED;
  });
  const onEvent = (event: LoopEvent): void => {
    if (event.type === 'step' && event.step.type === 'model-replied') charges.push(...(event.step.charges ?? []));
  };
  await outcomeOf(loop(given.runCall({ signal })), onEvent).catch(() => undefined);
  return charges;
}

function replied(turn: number, reply: ModelReply): LoopEvent {
  return { type: 'step', step: { type: 'model-replied', turn, reply } };
}

/** The estimates of the attempts with unknown usage: what each ended reservation was charged beyond the replies of its steps. */
function estimatesIn({ ends }: RecordedSpending, charges: readonly Charge[]): (SpendingAmount & { key: string })[] {
  return ends.flatMap(({ key, how, usage }) => {
    const recorded = charges.filter((charge) => key === `run-1/${charge.key}`);
    const rest = (unit: keyof SpendingAmount): number =>
      recorded.reduce((left, charge) => left - (charge[unit] ?? 0), usage[unit]);
    return how === 'estimated' ? [{ key, tokens: rest('tokens'), microUsd: rest('microUsd') }] : [];
  });
}

interface Setting {
  limit: SpendingLimit;
  turns: Turn[];
  behaviours: Behaviour[];
}

interface Turn {
  /** The length of the text that a tool returns. */
  length: number;
  /** A middleware rejects the reply, so that no step contains it. */
  isRejected: boolean;
  /** The reservations are renewed after the reply. */
  isKept: boolean;
}

const turn = fc.record({ length: fc.nat(4_000), isRejected: fc.nat(4).map((n) => n === 0), isKept: fc.boolean() });

describe('the budget of a run', () => {
  it('B2 charges all attempts exactly, reserves nothing at the end and stays within the limit, whatever the vendor and the caller do', async () => {
    const setting: fc.Arbitrary<Setting> = fc.record({
      limit: fc.record({
        tokens: fc.option(fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 1, max: 400_000 }))),
        microUsd: fc.option(fc.oneof(fc.integer({ min: 1, max: 40_000 }), fc.integer({ min: 1, max: 2_000_000 }))),
      }),
      turns: fc.array(turn, { minLength: 1, maxLength: 8 }),
      behaviours: fc.array(behaviour, { maxLength: 24 }),
    });
    const seen = { made: 0, shared: 0, estimates: 0 };
    await fc.assert(
      fc.asyncProperty(setting, async (one) => {
        const [spending, caller] = [new RecordedSpending(), new AbortController()];
        const vendor = new Vendor([...one.behaviours], caller);
        const charges = await runLoop(spending, vendor, caller.signal, one);
        const estimates = estimatesIn(spending, charges);
        const { own, subtree } = await spending.usageOf({ namespace: 'default', runId: 'run-1' });
        expect(estimates.length).toBe(vendor.unknown.length);
        for (const unit of ['tokens', 'microUsd'] as const) {
          const charged = estimates.reduce((sum, estimate) => sum + estimate[unit], vendor.billed[unit]);
          expect([unit, own[unit], subtree[unit]]).toEqual([unit, charged, charged]);
          expect(charged).toBeLessThanOrEqual((one.limit[unit] ?? Infinity) + vendor.excess[unit]);
          for (const [index, estimate] of estimates.entries()) {
            expect(estimate[unit]).toBeGreaterThanOrEqual(vendor.unknown[index]?.[unit] ?? NaN);
            expect(estimate[unit]).toBeLessThanOrEqual(spending.opened.get(estimate.key)?.[unit] ?? NaN);
          }
        }
        expect(spending.heldBy('default', 'run-1')).toEqual({ tokens: 0, microUsd: 0 });
        expect(spending.ends.map(({ key }) => key).toSorted()).toEqual([...spending.opened.keys()].toSorted());
        if (vendor.sent > 0) seen.made += 1;
        seen.shared += charges.length - new Set(charges.map(({ key }) => key)).size;
        seen.estimates += estimates.length;
      }),
      { numRuns: 1_000 },
    );
    expect(seen.made).toBeGreaterThan(500);
    expect(seen.shared).toBeGreaterThan(50);
    expect(seen.estimates).toBeGreaterThan(50);
  });
});
