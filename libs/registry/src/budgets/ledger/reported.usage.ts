/**
 * Prevents tokens from being charged twice when an agent reports a total and its calls are settled too. The total of an agent
 * contains the tokens of its calls, and a report may arrive at any time before or after the settlement of a call:
 *
 * - A report charges only the part of its total that exceeds the known tokens: those of all earlier reports and settlements.
 * - The settlement of a call is reduced by what reports charged since the call was reserved, because they may contain the call.
 * - An adjustment by an operator changes the usage, but not the known tokens.
 *
 * The total that a usage source such as Langfuse counts is a report, too.
 *
 * If a report did not contain the call, too little is charged until the next report, and never too much.
 */
export interface ReportState {
  /** The tokens that all reports have charged. This number never decreases. */
  readonly charged: number;
  /** The known tokens minus the usage. It is not 0 after an adjustment of the usage. */
  readonly offset: number;
}

export const NO_REPORTS: ReportState = { charged: 0, offset: 0 };

/** The part of a budget that this arithmetic needs. Only the total budget of an agent receives reports. */
interface ReportedBudget {
  readonly used: { readonly tokens: number };
  readonly reports: ReportState;
}

/** Returns the tokens that a report of this total charges. */
export function chargeOfReport({ used, reports }: ReportedBudget, total: number): number {
  return Math.max(0, total - reports.offset - used.tokens);
}

/** Returns the tokens that reports have charged on the budgets of a new reservation. At most one of them receives reports. */
export function reportedBefore(budgets: readonly ReportedBudget[]): number {
  return Math.max(0, ...budgets.map(({ reports }) => reports.charged));
}

/** Returns how many tokens of a settlement may be contained in reports that arrived since the reservation. */
export function coveredByReports({ reports }: ReportedBudget, before: number, tokens: number): number {
  return Math.min(tokens, Math.max(0, reports.charged - before));
}

export function afterReport({ charged, offset }: ReportState, tokens: number): ReportState {
  return { charged: charged + tokens, offset };
}

/** `tokens` is the difference that the adjustment makes to the usage. */
export function afterAdjustment({ charged, offset }: ReportState, tokens: number): ReportState {
  return { charged, offset: offset - tokens };
}
