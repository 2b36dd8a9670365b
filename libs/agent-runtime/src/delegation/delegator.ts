import type { RunContext } from '../loop/run.context.js';
import type { ToolContext } from '../tools/tool.js';
import { type ChildResult, isFailed } from './child.result.js';
import { type Child, ChildRunner, type ChildRunnerOptions, type DelegatedTask } from './child.runner.js';
import { checkPath, reachedLimit, tooManyRuns, type TreeCounter } from './delegation.limits.js';
import { RunSlots } from './run.slots.js';
import { isOnPath, type ListedTarget } from './targets/delegation.targets.js';

interface DelegatorOptions extends ChildRunnerOptions {
  /** All agents of a process share it, because it counts the runs of whole trees. */
  readonly counter: TreeCounter;
}

type SpawnMode = 'failFast' | 'collect';

/**
 * Delegates tasks of a run to other agents. All limits come from the context of the run: the depth and width of delegation, and the
 * number of runs and the deadline of the tree. A call that would exceed a limit is refused with DELEGATION_REFUSED before anything
 * starts.
 */
export class Delegator {
  private readonly slots = new RunSlots();
  private readonly runner: ChildRunner;

  constructor(private readonly options: DelegatorOptions) {
    this.runner = new ChildRunner(options);
  }

  /** Whether the run has reached a limit, so that it cannot delegate at all. */
  isBlocked(run: RunContext): boolean {
    return reachedLimit(run, this.options.counter, this.options.now()) !== undefined;
  }

  /** The agents that the run can delegate to: not itself, and not its ancestors. */
  async list(run: RunContext): Promise<ListedTarget[]> {
    const all = await this.options.targets.list(run);
    return all.filter(({ name }) => !isOnPath(name, run));
  }

  async delegate(task: DelegatedTask, context: ToolContext): Promise<ChildResult> {
    if ('name' in task.wanted) checkPath(task.wanted.name, context.run);
    return await this.admitted(context.run, 1, async () => await this.runOne({ ...task, index: 0 }, context));
  }

  /** Like `delegate`, but the tasks of a run are executed one after the other (S4.8). */
  async delegateInOrder(task: DelegatedTask, context: ToolContext): Promise<ChildResult> {
    return await this.slots.inOrder(context.run, async () => await this.delegate(task, context));
  }

  /** Executes the tasks at the same time (S2.5). With `failFast`, the first failure cancels the others. Returns all results, in order. */
  async spawn(tasks: readonly DelegatedTask[], mode: SpawnMode, context: ToolContext): Promise<ChildResult[]> {
    const failure = new AbortController();
    const siblings = failure.signal;
    const work = async (task: DelegatedTask, index: number): Promise<ChildResult> => {
      const result = await this.runOne({ ...task, index, siblings }, context);
      if (mode === 'failFast' && isFailed(result)) failure.abort();
      return result;
    };
    return await this.admitted(context.run, tasks.length, async () => await Promise.all(tasks.map(work)));
  }

  private async admitted<Value>(run: RunContext, runs: number, work: () => Promise<Value>): Promise<Value> {
    const { counter, now } = this.options;
    const refusal = reachedLimit(run, counter, now());
    if (refusal) throw refusal;
    return await this.slots.use(run, runs, async () => {
      if (!(await counter.add(run, runs, run.limits.maxRuns))) throw tooManyRuns(run);
      return await work();
    });
  }

  private async runOne(child: Child, context: ToolContext): Promise<ChildResult> {
    const result = await this.runner.run(child, context);
    if (result.outcome === 'not-started') await this.options.counter.remove(context.run, 1);
    return result;
  }
}
