import type { AgentFilter } from './agent.query.js';
import type { Assessment } from './assessment.js';
import { perMillion, priceText, toMicros } from './price.js';
import type { Exclusion, ExclusionCode } from './routability.js';

/** One condition of a query. A search uses only `accepts`; an explanation also uses `exclusion`. */
export interface Filter {
  accepts(agent: Assessment): boolean;
  /** The reason why an agent is not accepted. */
  exclusion(agent: Assessment): Exclusion;
}

/** Returns one filter for each condition that the query contains. */
export function filtersOf(filter: AgentFilter = {}): Filter[] {
  return [
    ...providerFilters(filter.provider),
    ...sandboxFilters(filter.sandboxLevel),
    ...priceFilters(filter),
    ...tokenFilters(filter.minRemainingTokens),
    ...labelFilters(filter.labels),
  ];
}

/** Whether the agent meets all conditions. */
export function acceptedByAll(filters: readonly Filter[], agent: Assessment): boolean {
  for (const filter of filters) if (!filter.accepts(agent)) return false;
  return true;
}

/** Returns one exclusion for each condition that the agent does not meet. */
export function filterExclusions(filters: readonly Filter[], agent: Assessment): Exclusion[] {
  return filters.filter((filter) => !filter.accepts(agent)).map((filter) => filter.exclusion(agent));
}

function providerFilters(provider: NonNullable<AgentFilter['provider']> = {}): Filter[] {
  const parts = (['adapter', 'type', 'plan'] as const).filter((part) => provider[part] !== undefined);
  return parts.map((part) => ({
    accepts: ({ record }) => (record.provider[part] ?? 'none') === provider[part],
    exclusion: ({ record }) => {
      const text = `provider ${part} is ${record.provider[part] ?? 'none'}`;
      const eligibleWhen = `the query asks for provider ${part} ${record.provider[part] ?? 'none'}`;
      return exclusion('provider_mismatch', `its ${text}`, eligibleWhen);
    },
  }));
}

function sandboxFilters(level: AgentFilter['sandboxLevel']): Filter[] {
  if (level === undefined) return [];
  const { min = -Infinity, max = Infinity } = typeof level === 'number' ? { min: level, max: level } : level;
  return [
    {
      accepts: ({ record }) => record.sandboxLevel >= min && record.sandboxLevel <= max,
      exclusion: ({ record: { sandboxLevel: has } }) => {
        const needed = has < min ? `at least ${min}` : `at most ${max}`;
        return exclusion('sandbox_level', `its sandbox level is ${has}`, `it runs at sandbox level ${needed}`);
      },
    },
  ];
}

function priceFilters({ maxUsdPerTask, maxUsdPer1kTokens }: AgentFilter): Filter[] {
  if (maxUsdPerTask === undefined && maxUsdPer1kTokens === undefined) return [];
  const maxTaskMicros = toMicros(maxUsdPerTask ?? Infinity);
  const maxMicrosPer1m = perMillion(maxUsdPer1kTokens ?? Infinity);
  return [
    {
      accepts: ({ price }) =>
        price !== undefined && price.taskMicros <= maxTaskMicros && price.microsPer1mTokens <= maxMicrosPer1m,
      exclusion: ({ price }) =>
        price === undefined
          ? exclusion('price_unknown', 'it names no price', 'it registers with a cost model')
          : exclusion('price_too_high', `it costs ${priceText(price)}`, 'the query allows that price'),
    },
  ];
}

function tokenFilters(least: number | undefined): Filter[] {
  if (least === undefined) return [];
  return [
    {
      accepts: ({ record: { budget } }) => budget.remaining === null || budget.remaining >= least,
      exclusion: ({ record: { budget } }) => {
        const text = `it has ${budget.remaining} tokens left`;
        return exclusion('tokens_too_few', text, `its remaining budget is at least ${least} tokens`);
      },
    },
  ];
}

function labelFilters(labels: Readonly<Record<string, string>> = {}): Filter[] {
  return Object.entries(labels).map(([label, needed]) => ({
    accepts: (agent) => labelOf(agent, label) === needed,
    exclusion: (agent) => {
      const has = labelOf(agent, label);
      const text = has === undefined ? `it has no label ${label}` : `its label ${label} is ${has}`;
      return exclusion('label_mismatch', text, `it carries the label ${label}=${needed}`);
    },
  }));
}

/** Ignores inherited properties such as `constructor`. */
function labelOf({ record: { labels } }: Assessment, label: string): string | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined;
}

function exclusion(code: ExclusionCode, text: string, eligibleWhen: string): Exclusion {
  return { code, text, eligibleWhen: { text: eligibleWhen } };
}
