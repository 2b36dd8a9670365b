import type { AgentQuery, CapabilitySets } from '../discovery/agent.query.js';
import { assess, type Assessment } from '../discovery/assessment.js';
import type { CapabilityAliases } from '../discovery/capability.aliases.js';
import { matchesCapability, withAncestors } from '../discovery/capability.js';
import type { DirectoryEntry } from '../discovery/directory.entry.js';
import { filtersOf } from '../discovery/filters.js';
import { DEFAULT_LOW_BUDGET } from '../discovery/routability.js';
import type { SelectionStrategy } from '../discovery/strategies/selection.strategy.js';
import { mostSimilar } from '../discovery/trigram.js';

interface Contestant {
  agent: Assessment;
  claims: string[];
  fuzzy: boolean;
}

/**
 * The ranking as anyone would write it first: look at everyone, keep who fits, sort, cut. Far too slow to serve, and so
 * plain that it is the measure for the one that serves.
 */
export class NaiveRanking {
  private readonly everyone: Contestant[];

  constructor(
    entries: Iterable<DirectoryEntry>,
    private readonly aliases: CapabilityAliases,
    now: number,
  ) {
    this.everyone = [...entries].map((entry) => ({
      agent: assess(entry, now, DEFAULT_LOW_BUDGET),
      claims: aliases.resolveAll(entry.record.capabilities),
      fuzzy: false,
    }));
  }

  /** The agentIds, best first. With a pivot, equals after it go before the others. */
  rank(query: AgentQuery, strategy: SelectionStrategy, pivot?: string): string[] {
    const filters = filtersOf(query.filter);
    const fitting = this.everyone
      .filter(({ agent }) => agent.routable && filters.every((filter) => filter.accepts(agent)))
      .map((contestant) => this.match(contestant, query))
      .filter((contestant) => contestant !== undefined);
    const waits = ({ agentId }: Assessment): number => (pivot !== undefined && agentId <= pivot ? 1 : 0);
    const order = (a: Contestant, b: Contestant): number =>
      Number(a.fuzzy) - Number(b.fuzzy) ||
      a.agent.standing - b.agent.standing ||
      strategy.compare(a.agent, b.agent) ||
      waits(a.agent) - waits(b.agent) ||
      (a.agent.agentId < b.agent.agentId ? -1 : 1);
    return fitting
      .toSorted(order)
      .slice(0, query.limit)
      .map(({ agent }) => agent.agentId);
  }

  private match(contestant: Contestant, query: AgentQuery): Contestant | undefined {
    const { capabilities = [] } = query;
    const sets = (Array.isArray(capabilities) ? { all: capabilities } : capabilities) as CapabilitySets;
    const [all, any, none] = [sets.all, sets.any, sets.none].map((words) => this.aliases.resolveAll(words ?? []));
    const claimsOne = (words: string[]): boolean =>
      words.some((asked) => contestant.claims.some((claim) => matchesCapability(claim, asked)));
    const terms = all.map((asked) => this.meaning(asked, query));
    const anyTerms = any.map((asked) => this.meaning(asked, query));
    if (claimsOne(none) || !terms.every(({ words }) => claimsOne(words))) return undefined;
    if (anyTerms.length > 0 && !anyTerms.some(({ words }) => claimsOne(words))) return undefined;
    const exactAny = anyTerms.length === 0 || anyTerms.some(({ exact, words }) => exact && claimsOne(words));
    return { ...contestant, fuzzy: !exactAny || terms.some(({ exact }) => !exact) };
  }

  private meaning(asked: string, { fuzzy = false }: AgentQuery): { words: string[]; exact: boolean } {
    const vocabulary = new Set(this.everyone.flatMap(({ claims }) => claims.flatMap(withAncestors)));
    if (vocabulary.has(asked)) return { words: [asked], exact: true };
    return { words: fuzzy ? mostSimilar(asked, vocabulary) : [], exact: false };
  }
}
