import { RegistryError } from '../../errors.js';
import { CONTRACT_NET } from './agent.query.js';
import type { Assessment } from './assessment.js';
import { estimateMicros, priceText } from './price.js';

/**
 * Orders candidates. A strategy compares two assessments and nothing else, so the directory can keep orders up to date
 * instead of sorting for every query. Standing takes precedence (see STANDINGS); the agentId breaks ties.
 */
export interface SelectionStrategy {
  /** The value of `prefer` that selects it. */
  readonly name: string;
  /** What the score of a candidate means. */
  readonly scoreMeaning: string;
  /** Whether agents of equal rank rotate: each result of a replica starts with the next agent. */
  readonly rotates?: boolean;
  /** Negative when the first is better. Must be a total preorder over assessments. */
  compare(one: Assessment, other: Assessment): number;
  /** Null if unknown. */
  score(agent: Assessment): number | null;
  /** A short reason for the agent's rank. */
  reason(agent: Assessment): string;
  /** Whether it failed a moment ago, so that queries use another strategy. Absent: it cannot fail. */
  hasFailed?(now: number): boolean;
}

/** Two infinities, which stand for unknown values, are equal; subtraction would return NaN. */
function compareNumbers(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

const STEPS_OF_LOAD = 10;

/** Compares the load in steps of a tenth, so that small changes of load do not change the order. */
function compareRoughLoad(one: Assessment, other: Assessment): number {
  return compareNumbers(Math.floor(one.load * STEPS_OF_LOAD), Math.floor(other.load * STEPS_OF_LOAD));
}

function loadText({ record: { load } }: Assessment): string {
  const { ratio, inFlight, capacity } = load;
  const tasks = capacity === null ? `${inFlight} in progress` : `${inFlight} of ${capacity}`;
  return `${Math.round(ratio * 100)} % busy (${tasks})`;
}

const DEFAULT_TASK_TOKENS = 10_000;

/**
 * Ranks the lowest price first. Prices per task and per token are compared by the price of a typical task. Agents with a low
 * budget rank after all others, because the budget may not suffice for the task. Unknown prices rank after known ones.
 */
class CheapestStrategy implements SelectionStrategy {
  readonly name = 'cheapest';
  readonly scoreMeaning: string;

  constructor(private readonly taskTokens: number = DEFAULT_TASK_TOKENS) {
    this.scoreMeaning = `US dollars for a task of ${taskTokens} tokens; lower is better`;
  }

  compare(one: Assessment, other: Assessment): number {
    if (one.lowBudget !== other.lowBudget) return one.lowBudget ? 1 : -1;
    return compareNumbers(this.micros(one), this.micros(other)) || compareRoughLoad(one, other);
  }

  score({ price }: Assessment): number | null {
    return price === undefined ? null : estimateMicros(price, this.taskTokens) / 1_000_000;
  }

  reason({ price, record }: Assessment): string {
    const { type } = record.provider;
    return `${type === 'unknown' ? 'provider type unknown' : type}, ${priceText(price)}`;
  }

  private micros({ price }: Assessment): number {
    return price === undefined ? Infinity : estimateMicros(price, this.taskTokens);
  }
}

/** Ranks by latency, lowest first. The declared latency is used if none was observed. Agents without a latency rank last. */
class FastestStrategy implements SelectionStrategy {
  readonly name = 'fastest';
  readonly scoreMeaning = 'milliseconds of latency; lower is better';

  compare(one: Assessment, other: Assessment): number {
    return compareNumbers(one.latencyMs, other.latencyMs) || compareRoughLoad(one, other);
  }

  score({ latencyMs }: Assessment): number | null {
    return latencyMs === Infinity ? null : latencyMs;
  }

  reason({ latencyMs, record }: Assessment): string {
    if (latencyMs === Infinity) return 'latency unknown';
    return `${Math.round(latencyMs)} ms ${record.latency.observedMs === null ? 'declared' : 'observed'}`;
  }
}

/** Ranks the smallest share of used capacity first; among equals, the agent with the fewest running tasks. */
export class LeastLoadedStrategy implements SelectionStrategy {
  readonly name = 'least-loaded';
  readonly scoreMeaning = 'share of capacity in use; lower is better';

  compare(one: Assessment, other: Assessment): number {
    return compareNumbers(one.load, other.load) || one.record.load.inFlight - other.record.load.inFlight;
  }

  score({ load }: Assessment): number | null {
    return load;
  }

  reason(agent: Assessment): string {
    return loadText(agent);
  }
}

/** Treats all agents of one standing as equal, so that they rotate. `Rotation` stores the state. */
class RoundRobinStrategy implements SelectionStrategy {
  readonly name = 'round-robin';
  readonly scoreMeaning = 'none: agents of equal rank rotate, in the order of their agentId';
  readonly rotates = true;

  compare(): number {
    return 0;
  }

  score(): number | null {
    return null;
  }

  reason(agent: Assessment): string {
    return `in rotation, ${loadText(agent)}`;
  }
}

/** A strategy of a plugin. It only scores agents, so that no mistake in it can break the order of a directory. */
export interface ScoredStrategy {
  /** The value of `prefer` that selects it. */
  readonly name: string;
  /** What the score of a candidate means, with its unit. */
  readonly scoreMeaning: string;
  /** Whether the lowest or the highest score is the best. */
  readonly best: 'lowest' | 'highest';
  /**
   * The score of an agent; null if it is unknown, which ranks last. It is called once for each state of an agent, in the path of queries
   * and heartbeats, so it must be fast, and it must depend on its argument only.
   */
  score(agent: Assessment): number | null;
  /** A short reason for the rank of the agent. Absent: the score. */
  reason?(agent: Assessment): string;
}

/** After a failure, queries use the default strategy for this time. */
const FAILURE_PAUSE_MS = 60_000;

/**
 * Makes a `SelectionStrategy` of the scores of a plugin. The score of each assessment is computed once and kept with it, so the order is
 * always consistent. A score that is not a number, or an error, ranks the agent last, and the strategy counts as failed for a minute.
 */
export class GuardedStrategy implements SelectionStrategy {
  readonly name: string;
  readonly scoreMeaning: string;
  private readonly keys = new WeakMap<Assessment, number>();
  private failed = false;
  private pausedUntil = -Infinity;

  constructor(
    private readonly scored: ScoredStrategy,
    private readonly onFailure: (error: unknown) => void,
  ) {
    this.name = scored.name;
    this.scoreMeaning = scored.scoreMeaning;
  }

  compare(one: Assessment, other: Assessment): number {
    return compareNumbers(this.keyOf(one), this.keyOf(other));
  }

  score(agent: Assessment): number | null {
    const key = this.keyOf(agent);
    if (key === Infinity) return null;
    return this.scored.best === 'highest' ? -key : key;
  }

  reason(agent: Assessment): string {
    const text = this.guarded(() => this.scored.reason?.(agent));
    if (typeof text === 'string') return text;
    const score = this.score(agent);
    return score === null ? 'score unknown' : `score ${score}`;
  }

  hasFailed(now: number): boolean {
    if (this.failed) this.pausedUntil = now + FAILURE_PAUSE_MS;
    this.failed = false;
    return now < this.pausedUntil;
  }

  /** The lowest key is the best one. */
  private keyOf(agent: Assessment): number {
    const known = this.keys.get(agent);
    if (known !== undefined) return known;
    const score = this.guarded(() => {
      const value: unknown = this.scored.score(agent);
      if (value === null || (typeof value === 'number' && Number.isFinite(value))) return value;
      throw new TypeError(`The strategy ${this.name} returned ${String(value)} as the score of ${agent.agentId}.`);
    });
    const key = score === null || score === undefined ? Infinity : this.scored.best === 'highest' ? -score : score;
    this.keys.set(agent, key);
    return key;
  }

  private guarded<Value>(call: () => Value): Value | undefined {
    try {
      return call();
    } catch (error) {
      this.failed = true;
      this.onFailure(error);
      return undefined;
    }
  }
}

/** `prefer` names a strategy that does not exist. */
export class UnknownStrategyError extends RegistryError {
  readonly code = 'UNKNOWN_STRATEGY';

  constructor(requested: string, known: readonly string[]) {
    const others = `Set prefer to one of: ${known.join(', ')}.`;
    super(
      requested === CONTRACT_NET
        ? `An auction cannot choose an agent here. To start a run with its winner, announce a contract with POST /v1/contracts and "run": true. ${others}`
        : `There is no strategy "${requested.slice(0, 60)}". ${others}`,
    );
  }
}

/** The strategies that a query may name in `prefer`. To add one, write a class and add it to `defaultStrategies`, or write a plugin. */
export class Strategies {
  private readonly byName = new Map<string, SelectionStrategy>();

  constructor(strategies: Iterable<SelectionStrategy> = defaultStrategies()) {
    for (const strategy of strategies) {
      if (this.byName.has(strategy.name))
        throw new Error(`Two strategies have the name "${strategy.name}". Rename one of them.`);
      this.byName.set(strategy.name, strategy);
    }
  }

  get(name: string): SelectionStrategy {
    const strategy = this.byName.get(name);
    if (!strategy) throw new UnknownStrategyError(name, this.names());
    return strategy;
  }

  names(): string[] {
    return [...this.byName.keys()].toSorted();
  }
}

export function defaultStrategies(): SelectionStrategy[] {
  return [new CheapestStrategy(), new FastestStrategy(), new LeastLoadedStrategy(), new RoundRobinStrategy()];
}
