import type { RunContext, TreeLimits } from '../loop/run.context.js';
import { DelegationRefusedError } from './delegation.errors.js';
import { isOnPath } from './targets/delegation.targets.js';

/**
 * The limits of a tree of runs, if neither its agent nor the installation sets others. `maxRuns` counts the delegated runs of the whole
 * tree, so it bounds what one request can cost (S4.6).
 */
export const DEFAULT_TREE_LIMITS: TreeLimits = { maxDepth: 3, maxWidth: 8, maxRuns: 50 };

/** Identifies a tree of runs. */
type TreeId = Pick<RunContext, 'namespace' | 'rootRunId'>;

/** Counts the delegated runs of each tree, including the runs of siblings that delegate at the same time. */
export interface TreeCounter {
  /** How many runs the tree has started, as far as this process knows. */
  count(tree: TreeId): number;
  /** Counts all of these runs, or none if the tree would then have more than `max`. Returns whether they were counted. */
  add(tree: TreeId, runs: number, max: number): Promise<boolean>;
  /** Takes back runs that were counted and then not started. */
  remove(tree: TreeId, runs: number): Promise<void>;
}

const MAX_TREES = 50_000;

const ALONE = 'Do the task yourself, or give your answer with what you know.';

/** Counts in the memory of this process. It forgets the tree that has delegated least recently when it knows too many trees. */
export class ProcessTreeCounter implements TreeCounter {
  private readonly runs = new Map<string, number>();

  constructor(private readonly maxTrees = MAX_TREES) {}

  count(tree: TreeId): number {
    return this.runs.get(keyOf(tree)) ?? 0;
  }

  async add(tree: TreeId, runs: number, max: number): Promise<boolean> {
    const total = this.count(tree) + runs;
    if (total > max) return false;
    this.store(tree, total);
    return true;
  }

  async remove(tree: TreeId, runs: number): Promise<void> {
    this.store(tree, Math.max(0, this.count(tree) - runs));
  }

  private store(tree: TreeId, total: number): void {
    const key = keyOf(tree);
    this.runs.delete(key); // the tree moves to the end of the map, which is ordered by last use
    if (total > 0) this.runs.set(key, total);
    if (this.runs.size <= this.maxTrees) return;
    const [oldest] = this.runs.keys();
    if (oldest !== undefined) this.runs.delete(oldest);
  }
}

const keyOf = ({ namespace, rootRunId }: TreeId): string => `${namespace}/${rootRunId}`;

/** Returns the reason why a run cannot delegate at all, or undefined if it can. A run at a limit does not get the delegation tools. */
export function reachedLimit(run: RunContext, counter: TreeCounter, now: number): DelegationRefusedError | undefined {
  const { depth, deadline, limits } = run;
  if (depth >= limits.maxDepth)
    return new DelegationRefusedError('depth', `Delegation is limited to ${limits.maxDepth} levels. ${ALONE}`);
  if (deadline !== null && deadline <= now)
    return new DelegationRefusedError('deadline', `The deadline of this task has passed. ${ALONE}`);
  if (counter.count(run) >= limits.maxRuns) return tooManyRuns(run);
  return undefined;
}

export function tooManyRuns({ limits }: RunContext): DelegationRefusedError {
  const message = `This task and its subtasks may use ${limits.maxRuns} delegations in total, which are not enough for this call. ${ALONE}`;
  return new DelegationRefusedError('runs', message);
}

/** Throws if the agent is the run's own agent or one of its ancestors. */
export function checkPath(name: string, run: RunContext): void {
  if (!isOnPath(name, run)) return;
  if (name === run.agentName)
    throw new DelegationRefusedError('self', `You are ${name} and cannot delegate to yourself. ${ALONE}`);
  const message = `${name} has delegated this task, directly or indirectly, to you, so it cannot receive a part of it. Delegate to another agent, or do the task yourself.`;
  throw new DelegationRefusedError('cycle', message);
}
