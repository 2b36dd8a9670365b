import {
  LARGEST_LIMIT,
  MAX_CAPABILITIES,
  DEFAULT_LIMIT,
  DEFAULT_STRATEGY,
  type AgentQuery,
  type CapabilitySets,
} from './agent.query.js';
import { normaliseCapability } from './capability.js';
import type { CapabilityAliases } from './capability.aliases.js';
import { InvalidQueryError } from './discovery.errors.js';
import { compareIds } from './ordered.list.js';
import { filtersOf, type Filter } from './filters.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';
import type { Strategies } from './strategies/strategies.js';

/** A query with every capability resolved and every default filled in. It does not depend on the agents listed. */
export interface QueryPlan {
  all: readonly string[];
  any: readonly string[];
  none: readonly string[];
  filters: readonly Filter[];
  strategy: SelectionStrategy;
  limit: number;
  explain: boolean;
  fuzzy: boolean;
  /** Identifies the query, however it is written: the key of its rotation. */
  question: string;
}

export function planQuery(query: AgentQuery, aliases: CapabilityAliases, strategies: Strategies): QueryPlan {
  const sets = capabilitySets(query);
  const [all, any, none] = [sets.all, sets.any, sets.none].map((texts) => aliases.resolveAll(texts ?? []));
  const strategy = strategies.get(query.prefer ?? DEFAULT_STRATEGY);
  const question = JSON.stringify([strategy.name, all, any, none, sortedFilter(query), query.fuzzy === true]);
  const { limit = DEFAULT_LIMIT, explain = false, fuzzy = false } = query;
  if (!Number.isInteger(limit) || limit < 1 || limit > LARGEST_LIMIT) {
    throw new InvalidQueryError(`limit must be a whole number from 1 to ${LARGEST_LIMIT}.`);
  }
  return { all, any, none, filters: filtersOf(query.filter), strategy, limit, explain, fuzzy, question };
}

function capabilitySets({ capabilities = [] }: AgentQuery): CapabilitySets {
  const sets: CapabilitySets = Array.isArray(capabilities) ? { all: capabilities } : (capabilities as CapabilitySets);
  const words = [...(sets.all ?? []), ...(sets.any ?? []), ...(sets.none ?? [])];
  if (words.length > MAX_CAPABILITIES) {
    throw new InvalidQueryError(`A query may name ${MAX_CAPABILITIES} capabilities, this one names ${words.length}.`);
  }
  if (words.some((word) => normaliseCapability(word) === '')) {
    throw new InvalidQueryError('A capability must not be empty. Leave the list out to ask the whole fleet.');
  }
  return sets;
}

function sortedFilter({ filter = {} }: AgentQuery): unknown {
  return sortedEntries(filter).map(([name, wish]) => [
    name,
    typeof wish === 'object' && wish !== null ? sortedEntries(wish) : wish,
  ]);
}

function sortedEntries(values: object): [string, unknown][] {
  return Object.entries(values).toSorted(([one], [other]) => compareIds(one, other));
}
