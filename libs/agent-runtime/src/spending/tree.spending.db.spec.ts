import { TwoReplicas } from '#rollcall/registry/testing';
import type { RunOutcome } from '../loop/run.outcome.js';
import { BudgetMiddleware } from '../middleware/budget.middleware.js';
import { composeModel, composeRun } from '../middleware/compose.js';
import { given, outcomeOf } from '../testing/index.js';
import { LedgerSpending } from './ledger.spending.js';
import { ReservationRecovery } from './reservation.recovery.js';
import { SpendingLimitError } from './spending.errors.js';
import type { BudgetUsage } from './spending.js';

const NO_LIMIT = { tokens: null, microUsd: null };
const ANSWERED: RunOutcome = { type: 'completed', parts: [] };
const AT_LIMIT: RunOutcome = { type: 'stopped', reason: 'budget', detail: 'final answer', parts: [] };

let replicas: TwoReplicas;
let billed: number;
beforeEach(async () => {
  replicas = await TwoReplicas.start();
  billed = 0;
});
afterEach(async () => await replicas.stop());

/** The outcome of a run whose budget does not cover even its final call. */
function stoppedBy(error: unknown): RunOutcome {
  if (!(error instanceof SpendingLimitError)) throw error;
  return { type: 'stopped', reason: 'budget', detail: error.message, parts: [] };
}

/** Executes a run whose model uses all tokens that it may use, in each of five turns. */
async function greedyRun(runId: string, spending: LedgerSpending): Promise<RunOutcome> {
  const budget = new BudgetMiddleware({ spending });
  const context = given.context({ runId, rootRunId: 'root', depth: 1 });
  const model = composeModel([budget.model], async ({ request }) => {
    const outputTokens = request.settings?.maxOutputTokens ?? 0;
    billed += 10 + outputTokens;
    return given.reply('ok', { inputTokens: 10, outputTokens });
  });
  const loop = composeRun([budget.run], async function* () {
    yield given.progress();
    for (let turn = 1; turn <= 5; turn += 1) {
      try {
        await model(given.modelCall({ context, turn }));
      } catch (error) {
        if (!(error instanceof SpendingLimitError)) throw error;
        return await model(given.modelCall({ context, turn, isFinal: true })).then(() => AT_LIMIT, stoppedBy);
      }
    }
    return ANSWERED;
  });
  return await outcomeOf(loop(given.runCall({ context })));
}

describe('the budget of a tree of runs', () => {
  it('B2 children on two replicas together spend at most the 2,000 tokens of their parent, and all charges are exact', async () => {
    const [here, there] = [replicas.here, replicas.there].map(
      ({ budgets: { budgets, ledger } }) => new LedgerSpending(budgets, ledger, new ReservationRecovery(ledger)),
    ) as [LedgerSpending, LedgerSpending];
    const open = async (runId: string, parentRunId: string | null, tokens: number | null): Promise<BudgetUsage> =>
      await here.openRun({ namespace: 'default', runId, parentRunId, limit: { ...NO_LIMIT, tokens } });
    await open('root', null, 2_000);
    const children = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const child of children) await open(child, 'root', null);
    const outcomes = await Promise.all(
      children.map(async (child, index) => await greedyRun(child, index % 2 ? here : there)),
    );
    expect(outcomes.every(({ type }) => type === 'stopped')).toBe(true);
    expect(outcomes).toContain(AT_LIMIT);
    const { own, subtree } = await there.usageOf({ namespace: 'default', runId: 'root' });
    expect([own.tokens, subtree.tokens]).toEqual([0, billed]);
    expect(billed).toBeGreaterThan(500);
    expect(billed).toBeLessThanOrEqual(2_000);
    const [root] = await replicas.here.budgets.budgets.of('run', 'root');
    expect(root?.budget.reserved).toEqual({ tokens: 0, microUsd: 0 });
    expect((await replicas.here.budgets.reconciliation.reconcile()).discrepancies).toEqual([]);
  });
});
