import type { AgentFilter } from './agent.query.js';
import type { Assessment } from './assessment.js';
import { perMillion, priceText, toMicros } from './price.js';
import type { Exclusion, ExclusionCode } from './routability.js';

/** One wish of a query: undefined when the agent meets it, or why it does not. */
export type Filter = (agent: Assessment) => Exclusion | undefined;

/** The wishes of a query, made once, so that a walk over many candidates only calls what was asked for. */
export function filtersOf(wishes: AgentFilter = {}): Filter[] {
  return [
    ...providerFilters(wishes.provider),
    ...sandboxFilters(wishes.sandboxLevel),
    ...priceFilters(wishes),
    ...tokenFilters(wishes.minRemainingTokens),
    ...labelFilters(wishes.labels),
  ];
}

function providerFilters({ adapter, type, plan }: NonNullable<AgentFilter['provider']> = {}): Filter[] {
  const filters: Filter[] = [];
  const differs = (what: string, has: string, asked: string): Exclusion | undefined =>
    has === asked
      ? undefined
      : exclusion('provider_mismatch', `its provider ${what} is ${has}`, `the query asks for provider ${what} ${has}`);
  if (adapter !== undefined) filters.push(({ record }) => differs('adapter', record.provider.adapter, adapter));
  if (type !== undefined) filters.push(({ record }) => differs('type', record.provider.type, type));
  if (plan !== undefined) filters.push(({ record }) => differs('plan', record.provider.plan ?? 'none', plan));
  return filters;
}

function sandboxFilters(level: AgentFilter['sandboxLevel']): Filter[] {
  if (level === undefined) return [];
  const { min = -Infinity, max = Infinity } = typeof level === 'number' ? { min: level, max: level } : level;
  return [
    ({ record: { sandboxLevel: has } }) => {
      if (has >= min && has <= max) return undefined;
      const wish = has < min ? `at least ${min}` : `at most ${max}`;
      return exclusion('sandbox_level', `its sandbox level is ${has}`, `it runs at sandbox level ${wish}`);
    },
  ];
}

function priceFilters({ maxUsdPerTask, maxUsdPer1kTokens }: AgentFilter): Filter[] {
  if (maxUsdPerTask === undefined && maxUsdPer1kTokens === undefined) return [];
  const mostTask = toMicros(maxUsdPerTask ?? Infinity);
  const most1m = perMillion(maxUsdPer1kTokens ?? Infinity);
  return [
    ({ price }) => {
      if (price === undefined) {
        return exclusion('price_unknown', 'it names no price', 'it registers with a cost model');
      }
      if (price.taskMicros <= mostTask && price.microsPer1mTokens <= most1m) return undefined;
      return exclusion('price_too_high', `it costs ${priceText(price)}`, 'the query allows that price');
    },
  ];
}

function tokenFilters(least: number | undefined): Filter[] {
  if (least === undefined) return [];
  return [
    ({ record: { budget } }) => {
      if (budget.remaining === null || budget.remaining >= least) return undefined;
      const text = `it has ${budget.remaining} tokens left`;
      return exclusion('tokens_too_few', text, `its remaining budget is at least ${least} tokens`);
    },
  ];
}

function labelFilters(labels: Readonly<Record<string, string>> = {}): Filter[] {
  return Object.entries(labels).map(([label, asked]) => ({ record }) => {
    const has = Object.hasOwn(record.labels, label) ? record.labels[label] : undefined;
    if (has === asked) return undefined;
    const text = has === undefined ? `it has no label ${label}` : `its label ${label} is ${has}`;
    return exclusion('label_mismatch', text, `it carries the label ${label}=${asked}`);
  });
}

function exclusion(code: ExclusionCode, text: string, eligibleWhen: string): Exclusion {
  return { code, text, eligibleWhen: { text: eligibleWhen } };
}
