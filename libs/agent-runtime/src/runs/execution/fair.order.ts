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

interface FairLimits {
  /** How many runs the order contains at most. */
  readonly most: number;
  /** How many runs of one agent a replica executes at a time. */
  readonly perAgent: number;
}

/** The waiting runs of one caller, the oldest first, and what the caller and its namespace already got. */
interface CallerQueue {
  readonly runs: WaitingRun[];
  readonly caller: Share;
  readonly namespace: Share;
}

interface Share {
  /** How many runs of this caller or namespace have a slot. */
  runs: number;
  /** When it last got a slot, by `Turns.of`. */
  readonly turn: number;
}

const MAX_TURNS = 20_000;

/** When namespaces and callers last got a slot of this replica. Those that got one long ago are forgotten. */
export class Turns {
  private readonly turns = new Map<string, number>();
  private last = 0;

  /** Called when a run has got a slot. */
  taken(run: CapacityUse): void {
    this.last += 1;
    for (const group of [run.namespace, callerOf(run)]) {
      this.turns.delete(group);
      this.turns.set(group, this.last);
    }
    for (const group of this.turns.keys()) if (this.turns.size > MAX_TURNS) this.turns.delete(group);
  }

  /** Larger if the namespace or caller got its last slot later; 0 if it never got one. */
  of(group: string): number {
    return this.turns.get(group) ?? 0;
  }
}

/**
 * The order in which waiting runs get the free slots of a replica. Each slot goes to the namespace with the fewest runs on the
 * replica. Among namespaces with the same number, it goes to the one that got its last slot first. Callers within the namespace
 * are compared in the same way, and the oldest run of the chosen caller gets the slot. Runs beyond the limit of their agent are left
 * out. If only one namespace waits, it gets all slots.
 */
export function fairOrder(
  waiting: readonly WaitingRun[],
  running: readonly CapacityUse[],
  { most, perAgent }: FairLimits,
  turns: Pick<Turns, 'of'>,
): WaitingRun[] {
  const agents = new Shares(running, agentOf, turns);
  const queues = queuesOf(waiting, running, turns);
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
    for (const share of [next.namespace, next.caller, agents.of(run)]) share.runs += 1;
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

function queuesOf(
  waiting: readonly WaitingRun[],
  running: readonly CapacityUse[],
  turns: Pick<Turns, 'of'>,
): CallerQueue[] {
  const callers = new Shares(running, callerOf, turns);
  const namespaces = new Shares(running, ({ namespace }) => namespace, turns);
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
    one.namespace.turn - other.namespace.turn ||
    one.caller.runs - other.caller.runs ||
    one.caller.turn - other.caller.turn ||
    (one.runs[0]?.seq ?? 0) - (other.runs[0]?.seq ?? 0)
  );
}

/** The runs by namespace, by caller or by agent. */
class Shares {
  private readonly shares = new Map<string, Share>();

  constructor(
    runs: readonly CapacityUse[],
    private readonly groupOf: (run: CapacityUse) => string,
    private readonly turns: Pick<Turns, 'of'>,
  ) {
    for (const run of runs) this.of(run).runs += 1;
  }

  of(run: CapacityUse): Share {
    const group = this.groupOf(run);
    const share = this.shares.get(group) ?? { runs: 0, turn: this.turns.of(group) };
    this.shares.set(group, share);
    return share;
  }
}
