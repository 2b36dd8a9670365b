import type { Assessment } from '../assessment.js';
import { estimateMicros, priceText } from '../price.js';
import { compareNumbers, compareRoughLoad, type SelectionStrategy } from './selection.strategy.js';

const DEFAULT_TASK_TOKENS = 10_000;

/**
 * Ranks the lowest price first. Prices per task and per token are compared by the price of a typical task. Agents with a low
 * budget rank after all others, because the budget may not suffice for the task. Unknown prices rank after known ones.
 */
export class CheapestStrategy implements SelectionStrategy {
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
