import type { Counts } from '#rollcall/platform';
import type { LedgerOp } from './ledger.batch.js';
import type { LedgerOutcome } from './ledger.outcome.js';

export interface AppliedOp {
  readonly op: LedgerOp;
  readonly outcome: LedgerOutcome;
}

/** Counts what a committed batch reserved, charged and rejected. A repeated operation counts once. */
export function countOutcomes(counts: Counts, applied: readonly AppliedOp[]): void {
  for (const {
    op: { op },
    outcome,
  } of applied) {
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
