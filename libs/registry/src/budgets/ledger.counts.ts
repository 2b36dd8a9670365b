import type { Counts } from '#rollcall/platform';
import type { LedgerOp } from './ledger.batch.js';
import type { LedgerOutcome } from './ledger.outcome.js';

/** Counts what a committed batch reserved, charged and rejected. A repeated operation counts once. */
export function countOutcomes(counts: Counts, ops: readonly LedgerOp[], outcomes: readonly LedgerOutcome[]): void {
  for (const [index, outcome] of outcomes.entries()) {
    const op = ops[index]?.op;
    if (!outcome.ok) {
      if (outcome.error.code === 'BUDGET_EXHAUSTED') counts.add('budget.refused');
    } else if (op === 'reserve' && !outcome.replayed) {
      counts.add('budget.reserved');
    } else if (outcome.charged) {
      counts.add('budget.tokens', outcome.charged.tokens);
      counts.add('budget.micro_usd', outcome.charged.microUsd);
    }
  }
}
