import { CAPABILITIES, TIERS, ZONES } from './query.fleet.js';
import { randomFrom } from './random.js';

/** The body of a query, as far as the benchmark uses it. */
export interface BenchQuery {
  capabilities?: string[];
  any?: string[];
  none?: string[];
  filter?: { labels?: Record<string, string>; sandboxLevel?: { min: number } };
  prefer: string;
  limit: number;
}

const STRATEGIES = ['cheapest', 'fastest', 'least-loaded', 'round-robin'] as const;
const LIMITS = [5, 10, 20] as const;

/** Different queries: one or two capabilities, all or any or none of them, labels, sandbox levels, every strategy. */
export function differentQueries(count: number): BenchQuery[] {
  const random = randomFrom(count);
  const queries = new Map<string, BenchQuery>();
  while (queries.size < count) {
    const query = anyQuery(random);
    queries.set(JSON.stringify(query), query);
  }
  return [...queries.values()];
}

function anyQuery(random: () => number): BenchQuery {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)];
  const prefer = pick(STRATEGIES);
  return { ...anyCapabilities(random), ...anyFilter(random, pick), prefer, limit: pick(LIMITS) };
}

function anyCapabilities(random: () => number): Pick<BenchQuery, 'capabilities' | 'any' | 'none'> {
  const skill = (): string => `area.skill-${Math.floor(random() * CAPABILITIES)}`;
  const kind = random();
  if (kind < 0.5) return { capabilities: [skill()] };
  if (kind < 0.65) return { capabilities: [skill(), skill()] };
  if (kind < 0.85) return { any: [skill(), skill()] };
  return { capabilities: [skill()], none: [skill()] };
}

function anyFilter(
  random: () => number,
  pick: (items: readonly string[]) => string,
): Pick<BenchQuery, 'filter'> | undefined {
  const kind = random();
  if (kind < 0.4) return undefined;
  if (kind < 0.6) return { filter: { labels: { zone: pick(ZONES) } } };
  if (kind < 0.8) return { filter: { labels: { zone: pick(ZONES), tier: pick(TIERS) } } };
  return { filter: { sandboxLevel: { min: 1 + Math.floor(random() * 3) } } };
}
