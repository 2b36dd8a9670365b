import { addUsage, type AgentUsage } from '#rollcall/providers';
import type { Charge, SpendingAmount } from '../../spending/spending.js';
import type { RunStep } from '../run.step.js';

/** The usage of a run without its descendants. */
export interface RunUsage extends AgentUsage {
  /**
   * The tokens that were charged for calls without a reported usage: aborted and failed calls, and agents that report none. The
   * budget of the run was charged with the sum of these, the input and the output tokens.
   */
  readonly estimatedTokens?: number;
}

/** What a stored step reports. */
export interface StepUsage {
  readonly usage: AgentUsage;
  readonly charges?: readonly Charge[] | null;
}

/** What the steps of a run report. */
export function reportsIn(steps: readonly RunStep[]): StepUsage[] {
  return steps.flatMap((step): StepUsage[] => {
    if (step.type === 'model-replied') return [{ usage: step.reply.usage, charges: step.charges }];
    if (step.type === 'context-summarised') return [{ usage: step.usage, charges: step.charges }];
    return step.type === 'finished' ? [{ usage: step.result.usage }] : [];
  });
}

export function chargesIn(reports: readonly StepUsage[]): Charge[] {
  return reports.flatMap(({ charges }) => charges ?? []);
}

/** The usage that all steps of a run report together. */
export function sumOf(reports: readonly StepUsage[]): AgentUsage {
  const [first, ...others] = reports;
  if (!first) return {};
  const usage = others.reduce((sum, report) => addUsage(sum, report.usage), first.usage);
  const costs = reports.map(costOf);
  if (costs.some((cost) => cost === undefined)) return withoutCost(usage);
  return { ...withoutCost(usage), costMicroUsd: costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0) };
}

/** Adds what the budget of the run was charged beyond the usage that its steps report. */
export function chargedUsage(usage: AgentUsage, charged: SpendingAmount | undefined): RunUsage {
  if (!charged) return usage;
  const { inputTokens = 0, outputTokens = 0, costMicroUsd = 0 } = usage;
  const estimatedTokens = charged.tokens - inputTokens - outputTokens;
  return {
    ...usage,
    ...(estimatedTokens > 0 && { estimatedTokens }),
    ...(charged.microUsd > costMicroUsd && { costMicroUsd: charged.microUsd }),
  };
}

function costOf({ usage, charges }: StepUsage): number | undefined {
  if (!charges) return usage.costMicroUsd;
  const known = charges.filter(({ microUsd, estimated }) => microUsd !== null && !estimated);
  return known.length === 0 ? undefined : known.reduce((sum, { microUsd }) => sum + (microUsd ?? 0), 0);
}

function withoutCost({ costMicroUsd: _cost, byModel: _models, ...counts }: AgentUsage): AgentUsage {
  return counts;
}
