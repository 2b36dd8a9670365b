import type { RunSummary, RunTree } from '../runs/run.js';
import { reportedUsage, tokensOf } from './run.cost.js';

const tree = (usage: RunSummary['usage'], ...children: RunTree[]): RunTree => ({
  run: { usage } as RunSummary,
  subtree: { tokens: 32_000, microUsd: 0 },
  children,
});

describe('the cost of the run of a winner', () => {
  it('S3.9 is the sum of what the agents of its tree report', () => {
    const child = tree({ inputTokens: 5, outputTokens: 1, costMicroUsd: 7 });
    const usage = reportedUsage(tree({ inputTokens: 10, outputTokens: 10, costMicroUsd: 20 }, child));
    expect([usage, tokensOf(usage)]).toEqual([{ inputTokens: 15, outputTokens: 11, costMicroUsd: 27 }, 26]);
  });

  it('S3.9 is unknown if no agent reports it, or if a call was charged without a reported usage', () => {
    const unknown = [tree({}), tree({ costMicroUsd: 5 }, tree({ estimatedTokens: 32_000 }))].map(reportedUsage);
    expect(unknown).toEqual([{}, {}]);
    expect(tokensOf({})).toBeNull();
    expect(reportedUsage(tree({ inputTokens: 3 }))).toEqual({ inputTokens: 3 });
  });
});
