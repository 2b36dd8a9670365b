import type { CapabilityIndex } from '../capabilities/capability.index.js';
import { matchesCapability } from '../capabilities/capability.js';
import type { Listing } from '../directory/listing.js';
import { acceptedByAll, filterExclusions } from './filters.js';
import type { QueryPlan } from './query.plan.js';
import { type AboutAgent, type ExcludedAgent, rate, type Ranking } from './ranking.js';
import { type Exclusion, routability } from './routability.js';
import type { Match, Search } from './search.js';
import type { SelectionStrategy } from './strategies.js';

const MAX_SHOWN = 50;
/** An explanation checks every agent that has a requested capability. Checking more than this many would delay other requests. */
const MAX_CHECKED = 10_000;

/** Returns the agents that are not in the result, with the reasons and what would make each of them eligible. */
export function explain(
  plan: QueryPlan,
  search: Search,
  matches: readonly Match[],
  now: number,
): Pick<Ranking, 'excluded' | 'excludedTotal'> {
  const chosen = new Set(matches.map(({ listing }) => listing));
  const excluded: ExcludedAgent[] = [];
  let checked = 0;
  for (const listing of search.nearby()) {
    if ((checked += 1) > MAX_CHECKED) break;
    if (chosen.has(listing)) continue;
    const exclusions = exclusionsOf(listing, plan, search, now);
    const { agentId, name } = listing.assessment.record;
    if (exclusions.length > 0) excluded.push({ agentId, name, exclusions });
  }
  excluded.sort((a, b) => a.exclusions.length - b.exclusions.length || (a.agentId < b.agentId ? -1 : 1));
  return { excluded: excluded.slice(0, MAX_SHOWN), excludedTotal: excluded.length };
}

/** Says where an agent is in the ranking, or why it is excluded. `all` returns the matches beyond the limit of the query, too. */
export function aboutAgent(
  agentId: string,
  listing: Listing | undefined,
  {
    plan,
    search,
    now,
    strategy,
    all,
  }: {
    plan: QueryPlan;
    search: Search;
    now: number;
    strategy: SelectionStrategy;
    all: (limit: number) => readonly Match[];
  },
): AboutAgent {
  const excludedBy = (exclusions: Exclusion[]): AboutAgent => ({
    agentId,
    rank: null,
    score: null,
    reasons: [],
    exclusions,
  });
  if (!listing) return excludedBy([NOT_REGISTERED]);
  const exclusions = exclusionsOf(listing, plan, search, now);
  if (exclusions.length > 0) return excludedBy(exclusions);
  const matches = all(MAX_CHECKED);
  const at = matches.findIndex((match) => match.listing === listing);
  const match = matches[at] ?? { listing, fuzzy: false };
  const { rank, score, reasons } = rate(match, strategy, at + 1);
  return { agentId, rank: at < 0 ? null : rank, score, reasons, exclusions };
}

const NOT_REGISTERED: Exclusion = {
  code: 'left',
  text: 'no agent with this agentId is registered in the namespace',
  eligibleWhen: { text: 'it registers' },
};

/** Adds agents that left to the excluded agents. */
export function withDeparted<Facts extends Pick<Ranking, 'excluded' | 'excludedTotal' | 'about'>>(
  facts: Facts,
  departed: readonly ExcludedAgent[],
): Facts {
  if (departed.length === 0) return facts;
  const { excluded = [], excludedTotal = 0, about } = facts;
  const left = about?.exclusions.includes(NOT_REGISTERED) && departed.find(({ agentId }) => agentId === about.agentId);
  return {
    ...facts,
    excluded: [...excluded, ...departed],
    excludedTotal: excludedTotal + departed.length,
    ...(about && left && { about: { ...about, exclusions: left.exclusions } }),
  };
}

/** Returns the time until the first capable agent becomes routable by waiting alone; null if none does. */
export function retryAfterMs(plan: QueryPlan, search: Search, now: number): number | null {
  let soonest = Infinity;
  for (const { entry, assessment } of search.capable()) {
    if (assessment.routable || !acceptedByAll(plan.filters, assessment)) continue;
    const waits = routability(entry, now).map(({ eligibleWhen }) => eligibleWhen.inMs ?? Infinity);
    soonest = Math.min(soonest, Math.max(...waits));
  }
  return soonest === Infinity ? null : soonest;
}

/** Returns the requested capabilities that no agent declares, each with similarly spelled ones that are declared. */
export function unclaimed(search: Search, index: CapabilityIndex): NonNullable<Ranking['unclaimed']> {
  return search.unclaimed.map((capability) => ({
    capability,
    similar: index.similarTo(capability, 5),
  }));
}

function exclusionsOf(listing: Listing, plan: QueryPlan, search: Search, now: number): Exclusion[] {
  const rulesOut = (capability: string): boolean =>
    listing.capabilities.some((declared) => matchesCapability(declared, capability));
  return [
    ...routability(listing.entry, now),
    ...search.missing(listing).map((requested) => missingCapability(requested)),
    ...plan.none.filter(rulesOut).map((unwanted) => unwantedCapability(unwanted)),
    ...filterExclusions(plan.filters, listing.assessment),
  ];
}

function missingCapability(requested: string): Exclusion {
  const eligibleWhen = { text: `it registers with the capability ${requested}` };
  return { code: 'capability_missing', text: `it does not claim ${requested}`, eligibleWhen };
}

function unwantedCapability(unwanted: string): Exclusion {
  const eligibleWhen = { text: `the query no longer rules out ${unwanted}` };
  return { code: 'capability_unwanted', text: `it claims ${unwanted}, which the query rules out`, eligibleWhen };
}
