import { NamedScoringUnknownError } from './contract.errors.js';
import { type ScoringRule, WEIGHTED_RULE } from './scoring.js';

/** The scoring rules that an announcement can name. A deployment adds its own with the option `contracts.scoring`. */
export class ScoringRules {
  private readonly rules: ReadonlyMap<string, ScoringRule>;

  constructor(more: readonly ScoringRule[] = []) {
    this.rules = new Map([WEIGHTED_RULE, ...more].map((rule) => [rule.name, rule]));
  }

  get(name: string): ScoringRule {
    const rule = this.rules.get(name);
    if (!rule) throw new NamedScoringUnknownError(name, [...this.rules.keys()]);
    return rule;
  }
}
