import type { AgentUsage } from '#rollcall/providers';
import type { RunTree } from '../runs/run.js';

type Counts = Pick<AgentUsage, 'inputTokens' | 'outputTokens' | 'costMicroUsd'>;

/**
 * What the agents of a tree of runs reported. A count that no agent reported is absent. If a call was charged without a reported usage,
 * the real usage of the tree is unknown, so all counts are absent.
 */
export function reportedUsage(tree: RunTree): Counts {
  const usages = runsOf(tree).map(({ run }) => run.usage);
  if (usages.some(({ estimatedTokens = 0 }) => estimatedTokens > 0)) return {};
  return {
    ...sumOf(usages, 'inputTokens'),
    ...sumOf(usages, 'outputTokens'),
    ...sumOf(usages, 'costMicroUsd'),
  };
}

/** The tokens of a usage; null if they are unknown. */
export function tokensOf({ inputTokens, outputTokens }: Counts): number | null {
  return inputTokens === undefined && outputTokens === undefined ? null : (inputTokens ?? 0) + (outputTokens ?? 0);
}

function runsOf(tree: RunTree): RunTree[] {
  return [tree, ...tree.children.flatMap(runsOf)];
}

function sumOf<Name extends keyof Counts>(usages: readonly Counts[], name: Name): Pick<Counts, Name> | undefined {
  const known = usages.flatMap((usage) => usage[name] ?? []);
  if (known.length === 0) return undefined;
  return { [name]: known.reduce((sum, count) => sum + count, 0) } as Pick<Counts, Name>;
}
