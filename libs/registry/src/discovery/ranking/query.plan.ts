import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import { RegistryError } from '../../errors.js';
import type { CapabilityAliases } from '../capabilities/capability.aliases.js';
import { normaliseCapability } from '../capabilities/capability.js';
import { compareIds } from '../capabilities/ordered.list.js';
import {
  type AgentQuery,
  type CapabilitySets,
  DEFAULT_LIMIT,
  DEFAULT_STRATEGY,
  MAX_CAPABILITIES,
  MAX_LIMIT,
} from './agent.query.js';
import { type Filter, filtersOf } from './filters.js';
import type { SelectionStrategy, Strategies } from './strategies.js';

/** The query exceeds a limit or contains an empty capability. */
export class InvalidQueryError extends RegistryError {
  readonly code = 'INVALID_QUERY';
}

/** A query with all capabilities resolved and all defaults filled in. It does not depend on the agents in the directory. */
export interface QueryPlan {
  namespace: string;
  all: readonly string[];
  any: readonly string[];
  none: readonly string[];
  filters: readonly Filter[];
  strategy: SelectionStrategy;
  limit: number;
  explain: boolean;
  about: string | undefined;
  fuzzy: boolean;
  /** The key of the rotation. Queries that differ only in the order or spelling of their parts have the same key. */
  queryKey: string;
}

export function planQuery(query: AgentQuery, aliases: CapabilityAliases, strategies: Strategies): QueryPlan {
  const sets = capabilitySets(query);
  const [all, any, none] = [sets.all, sets.any, sets.none].map((texts) => aliases.resolveAll(texts ?? []));
  const strategy = strategies.get(query.prefer ?? DEFAULT_STRATEGY);
  const { namespace = DEFAULT_NAMESPACE } = query;
  const queryKey = JSON.stringify([
    namespace,
    strategy.name,
    all,
    any,
    none,
    sortedFilter(query),
    query.fuzzy === true,
  ]);
  const { limit = DEFAULT_LIMIT, explain = false, about, fuzzy = false } = query;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new InvalidQueryError(`limit must be a whole number from 1 to ${MAX_LIMIT}.`);
  }
  const filters = filtersOf(query.filter);
  return { namespace, all, any, none, filters, strategy, limit, explain, about, fuzzy, queryKey };
}

function capabilitySets({ capabilities = [] }: AgentQuery): CapabilitySets {
  const sets: CapabilitySets = Array.isArray(capabilities) ? { all: capabilities } : (capabilities as CapabilitySets);
  const names = [...(sets.all ?? []), ...(sets.any ?? []), ...(sets.none ?? [])];
  if (names.length > MAX_CAPABILITIES) {
    throw new InvalidQueryError(
      `A query may contain at most ${MAX_CAPABILITIES} capabilities, but this one contains ${names.length}.`,
    );
  }
  if (names.some((name) => normaliseCapability(name) === '')) {
    throw new InvalidQueryError('A capability must not be empty. Omit the list to query the whole fleet.');
  }
  return sets;
}

function sortedFilter({ filter = {} }: AgentQuery): unknown {
  return sortedEntries(filter).map(([name, value]) => [
    name,
    typeof value === 'object' && value !== null ? sortedEntries(value) : value,
  ]);
}

function sortedEntries(values: object): [string, unknown][] {
  return Object.entries(values).toSorted(([one], [other]) => compareIds(one, other));
}
