import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { AgentRecord } from '../../agents/agent.record.js';
import { Directory } from '../directory/directory.js';
import { type AgentQuery, DEFAULT_STRATEGY } from './agent.query.js';
import { explain, retryAfterMs, unclaimed, withDeparted } from './explanation.js';
import { planQuery, type QueryPlan } from './query.plan.js';
import { type ExcludedAgent, type QueryResult, type Ranking, rankingJson, toRanking } from './ranking.js';
import { type Match, Search } from './search.js';
import { Strategies } from './strategies.js';

const MAX_QUERIES = 10_000;

/**
 * The state of round-robin on this replica: the agent that was first in the last result of each query. The next result starts
 * with the next agentId. There are no counters, so agents that join or leave do not change the order of the others.
 */
class Rotation {
  private readonly lastFirst = new LRUCache<string, string>({ max: MAX_QUERIES });

  lastFirstOf(queryKey: string): string | undefined {
    return this.lastFirst.get(queryKey);
  }

  record(queryKey: string, agentId: string): void {
    this.lastFirst.set(queryKey, agentId);
  }
}

/**
 * Answers queries from a directory: ranked candidates with reasons and, on request, the excluded agents. `rank` returns objects,
 * `rankJson` returns the same result as JSON. A plan depends only on the query and the configuration, so callers may cache it.
 */
@Injectable()
export class Ranker {
  /** Queries of this replica since its start. */
  readonly counts = { queries: 0, empty: 0, milliseconds: 0 };
  private readonly rotation = new Rotation();

  constructor(
    private readonly directory: Directory,
    readonly strategies: Strategies = new Strategies(),
  ) {}

  plan(query: AgentQuery): QueryPlan {
    return planQuery(query, this.directory.aliases, this.strategies);
  }

  rank(query: AgentQuery, now: number): Ranking {
    return toRanking(this.resultOf(this.plan(query), now));
  }

  /** Like `rank`, but with all agents that match. */
  rankAll(query: AgentQuery, now: number): Ranking {
    return toRanking(this.resultOf({ ...this.plan(query), limit: Infinity }, now));
  }

  /** The records of all agents that match, in the order of the strategy. The limit of the query does not apply. */
  matchAll(query: AgentQuery, now: number): AgentRecord[] {
    const plan = { ...this.plan(query), limit: Infinity };
    this.directory.advance(now);
    const matches = new Search(plan, this.directory.indexOf(plan.namespace)).run(undefined);
    return matches.map(({ listing }) => listing.assessment.record);
  }

  /** `departed` are agents that left recently; an explanation lists them after the live ones. */
  rankJson(plan: QueryPlan, now: number, departed: readonly ExcludedAgent[] = []): string {
    const { facts, ...result } = this.resultOf(plan, now);
    return rankingJson({ ...result, facts: withDeparted(facts, departed) });
  }

  private resultOf(plan: QueryPlan, now: number): QueryResult {
    const started = performance.now();
    const result = this.search(plan, now);
    this.counts.queries += 1;
    this.counts.empty += result.matches.length === 0 ? 1 : 0;
    this.counts.milliseconds += performance.now() - started;
    return result;
  }

  /** If the strategy of a plugin fails, the default strategy answers, and the result names the failed one. */
  private search(plan: QueryPlan, now: number): QueryResult {
    const { strategy } = plan;
    if (!strategy.hasFailed) return this.searchWith(plan, now);
    if (!strategy.hasFailed(now)) {
      const result = this.searchWith(plan, now);
      if (!strategy.hasFailed(now)) return result;
    }
    const result = this.searchWith({ ...plan, strategy: this.strategies.get(DEFAULT_STRATEGY) }, now);
    return { ...result, facts: { ...result.facts, failedStrategy: strategy.name } };
  }

  private searchWith(plan: QueryPlan, now: number): QueryResult {
    const at = this.directory.advance(now);
    const search = new Search(plan, this.directory.indexOf(plan.namespace));
    const matches = this.match(plan, search);
    return { strategy: plan.strategy, matches, facts: this.factsOf(plan, search, matches, at) };
  }

  private match({ strategy, queryKey }: QueryPlan, search: Search): Match[] {
    if (!strategy.rotates) return search.run(undefined);
    const matches = search.run(this.rotation.lastFirstOf(queryKey));
    if (matches.length > 0) this.rotation.record(queryKey, matches[0].listing.agentId);
    return matches;
  }

  private factsOf(plan: QueryPlan, search: Search, matches: readonly Match[], now: number): QueryResult['facts'] {
    const { name: prefer, scoreMeaning } = plan.strategy;
    const facts = { prefer, scoreMeaning, retryAfterMs: matches.length === 0 ? retryAfterMs(plan, search, now) : null };
    if (!plan.explain) return facts;
    const index = this.directory.indexOf(plan.namespace);
    return { ...facts, ...explain(plan, search, matches, now), unclaimed: unclaimed(search, index) };
  }
}
