/** What a run counts against: capacity is divided by namespace, then by caller, and each agent has a limit. */
export interface CapacityUse {
  readonly namespace: string;
  readonly createdBy: string;
  readonly agentId: string;
}

/** A run that waits for capacity. `seq` is its position in the order of creation. */
export interface WaitingRun extends CapacityUse {
  readonly id: string;
  readonly seq: number;
}

export interface FairLimits {
  /** How many runs the order contains at most. */
  readonly most: number;
  /** How many runs of one agent a replica executes at a time. */
  readonly perAgent: number;
}

/** The waiting runs of one caller, the oldest first, and how many runs the caller and its namespace already have. */
interface CallerQueue {
  readonly runs: WaitingRun[];
  readonly caller: Count;
  readonly namespace: Count;
}

interface Count {
  runs: number;
}

/**
 * The order in which waiting runs get the free slots of a replica. Each slot goes to the namespace with the fewest runs on the
 * replica, within it to the caller with the fewest, and to the oldest run of that caller. Runs beyond the limit of their agent
 * are left out. If only one namespace waits, it gets all slots.
 */
export function fairOrder(
  waiting: readonly WaitingRun[],
  running: readonly CapacityUse[],
  { most, perAgent }: FairLimits,
): WaitingRun[] {
  const agents = new Counts(running, agentOf);
  const queues = queuesOf(waiting, running);
  const order: WaitingRun[] = [];
  const isFull = (run: WaitingRun): boolean => agents.of(run).runs >= perAgent;
  while (order.length < most) {
    let next: CallerQueue | undefined;
    for (const queue of queues) {
      while (queue.runs[0] && isFull(queue.runs[0])) queue.runs.shift();
      if (queue.runs[0] && (!next || precedence(queue, next) < 0)) next = queue;
    }
    const run = next?.runs.shift();
    if (!next || !run) break;
    for (const count of [next.namespace, next.caller, agents.of(run)]) count.runs += 1;
    order.push(run);
  }
  return order;
}

/** How many of the runs count against each agent, by `agentOf`. */
export function countByAgent(runs: readonly CapacityUse[]): Map<string, number> {
  return new Map(Array.from(Map.groupBy(runs, agentOf), ([agent, all]) => [agent, all.length]));
}

/** Identifies the agent of a run among all namespaces. */
export function agentOf({ namespace, agentId }: CapacityUse): string {
  return `${namespace}/${agentId}`;
}

function callerOf({ namespace, createdBy }: CapacityUse): string {
  return `${namespace}/${createdBy}`;
}

function queuesOf(waiting: readonly WaitingRun[], running: readonly CapacityUse[]): CallerQueue[] {
  const callers = new Counts(running, callerOf);
  const namespaces = new Counts(running, ({ namespace }) => namespace);
  const byAge = waiting.toSorted((one, other) => one.seq - other.seq);
  return Array.from(Map.groupBy(byAge, callerOf).values(), (runs) => {
    const [oldest] = runs as [WaitingRun];
    return { runs, caller: callers.of(oldest), namespace: namespaces.of(oldest) };
  });
}

/** Negative if the first queue gets the next slot. */
function precedence(one: CallerQueue, other: CallerQueue): number {
  return (
    one.namespace.runs - other.namespace.runs ||
    one.caller.runs - other.caller.runs ||
    (one.runs[0]?.seq ?? 0) - (other.runs[0]?.seq ?? 0)
  );
}

class Counts {
  private readonly counts = new Map<string, Count>();

  constructor(
    runs: readonly CapacityUse[],
    private readonly groupOf: (run: CapacityUse) => string,
  ) {
    for (const run of runs) this.of(run).runs += 1;
  }

  of(run: CapacityUse): Count {
    const group = this.groupOf(run);
    const count = this.counts.get(group) ?? { runs: 0 };
    this.counts.set(group, count);
    return count;
  }
}
