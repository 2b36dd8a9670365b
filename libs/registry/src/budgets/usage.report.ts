import type { LedgerOp } from './ledger.batch.js';

/** The total usage that an agent reported by heartbeat. */
export interface ReportedTotal {
  agentId: string;
  usedTokens: number | string | null;
}

/** A reported total that exceeds the known tokens of a budget. */
export interface UsageReport {
  budgetId: number;
  tokens: number;
}

/** Returns the operation that applies a report. It never lowers a counter, so repeated and late reports are harmless. */
export function usageCorrection({ budgetId, tokens }: UsageReport): LedgerOp {
  const facts = { budgetId, as: 'reported' as const, by: null, note: null };
  return { op: 'correct', correction: { ...facts, reportedTotal: tokens } };
}
