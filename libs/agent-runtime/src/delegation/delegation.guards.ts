import type { RunContext } from '../loop/run.context.js';
import { DelegationRefusedError } from './delegation.errors.js';
import { isOnPath } from './delegation.targets.js';
import type { TreeCounter } from './tree.counter.js';

const ALONE = 'Do the task yourself, or give your answer with what you know.';

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
