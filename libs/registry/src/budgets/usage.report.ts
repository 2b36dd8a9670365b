import type { LedgerOp } from './ledger.batch.js';

/** What an agent told to have used in all. */
export interface ReportedTotal {
  agentId: string;
  usedTokens: number | string | null;
}

/** What an agent told to have used in all, where its ledger knows of less. */
export interface UsageReport {
  budgetId: number;
  tokens: number;
}

/** It only ever counts up, so a report that is taken in twice, or late, does no harm. */
export function usageCorrection({ budgetId, tokens }: UsageReport): LedgerOp {
  const facts = { budgetId, as: 'reported' as const, by: null, note: null };
  return { op: 'correct', correction: { ...facts, usedAtLeast: { tokens } } };
}
