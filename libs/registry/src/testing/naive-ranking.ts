import { DEFAULT_LOW_BUDGET } from '../budgets/budget.js';
import type { CapabilityAliases } from '../discovery/capabilities/capability.aliases.js';
import { matchesCapability, withAncestors } from '../discovery/capabilities/capability.js';
import { mostSimilar } from '../discovery/capabilities/trigram.index.js';
import type { DirectoryEntry } from '../discovery/directory/directory.entry.js';
import type { AgentQuery, CapabilitySets } from '../discovery/ranking/agent.query.js';
import { assess, type Assessment } from '../discovery/ranking/assessment.js';
import { filtersOf } from '../discovery/ranking/filters.js';
import type { SelectionStrategy } from '../discovery/ranking/strategies.js';

interface Candidate {
  agent: Assessment;
  capabilities: string[];
  fuzzy: boolean;
}

/**
 * A reference implementation of the ranking: it filters all agents, sorts them and cuts the list. It is too slow for production,
 * but simple enough to be obviously correct, so tests compare the real ranking with it.
 */
export class NaiveRanking {
  private readonly agents: Candidate[];

  constructor(
    entries: Iterable<DirectoryEntry>,
    private readonly aliases: CapabilityAliases,
    now: number,
  ) {
    this.agents = [...entries].map((entry) => ({
      agent: assess(entry, now, DEFAULT_LOW_BUDGET),
      capabilities: aliases.resolveAll(entry.record.capabilities),
      fuzzy: false,
    }));
  }

  /** Returns the agentIds, best first. With a pivot, agents of equal rank after the pivot come before the others. */
  rank(query: AgentQuery, strategy: SelectionStrategy, pivot?: string): string[] {
    const filters = filtersOf(query.filter);
    const matching = this.agents
      .filter(({ agent }) => agent.routable && filters.every((filter) => filter.accepts(agent)))
      .map((candidate) => this.match(candidate, query))
      .filter((candidate) => candidate !== undefined);
    const isUpToPivot = ({ agentId }: Assessment): number => (pivot !== undefined && agentId <= pivot ? 1 : 0);
    const order = (a: Candidate, b: Candidate): number =>
      Number(a.fuzzy) - Number(b.fuzzy) ||
      a.agent.standing - b.agent.standing ||
      strategy.compare(a.agent, b.agent) ||
      isUpToPivot(a.agent) - isUpToPivot(b.agent) ||
      (a.agent.agentId < b.agent.agentId ? -1 : 1);
    return matching
      .toSorted(order)
      .slice(0, query.limit)
      .map(({ agent }) => agent.agentId);
  }

  private match(candidate: Candidate, query: AgentQuery): Candidate | undefined {
    const { capabilities = [] } = query;
    const sets = (Array.isArray(capabilities) ? { all: capabilities } : capabilities) as CapabilitySets;
    const [all, any, none] = [sets.all, sets.any, sets.none].map((names) => this.aliases.resolveAll(names ?? []));
    const declaresOne = (requested: string[]): boolean =>
      requested.some((one) => candidate.capabilities.some((declared) => matchesCapability(declared, one)));
    const terms = all.map((requested) => this.expand(requested, query));
    const anyTerms = any.map((requested) => this.expand(requested, query));
    if (declaresOne(none) || !terms.every(({ names }) => declaresOne(names))) return undefined;
    if (anyTerms.length > 0 && !anyTerms.some(({ names }) => declaresOne(names))) return undefined;
    const exactAny = anyTerms.length === 0 || anyTerms.some(({ exact, names }) => exact && declaresOne(names));
    return { ...candidate, fuzzy: !exactAny || terms.some(({ exact }) => !exact) };
  }

  /** Returns the capability itself if an agent declares it; otherwise, with `fuzzy`, similarly spelled ones. */
  private expand(requested: string, { fuzzy = false }: AgentQuery): { names: string[]; exact: boolean } {
    const vocabulary = new Set(this.agents.flatMap(({ capabilities }) => capabilities.flatMap(withAncestors)));
    if (vocabulary.has(requested)) return { names: [requested], exact: true };
    return { names: fuzzy ? mostSimilar(requested, vocabulary) : [], exact: false };
  }
}
