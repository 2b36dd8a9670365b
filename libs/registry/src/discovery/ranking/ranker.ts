import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { AgentRecord } from '../../agents/agent.record.js';
import { Directory } from '../directory/directory.js';
import { qualifiedId } from '#rollcall/platform';
import { DEFAULT_LOW_BUDGET } from '../../budgets/budget.js';
import { CLOSED_CIRCUIT } from '../../circuit/circuit.breaker.js';
import { compareIds, compareRank } from '../capabilities/ordered.list.js';
import type { DirectoryEntry } from '../directory/directory.entry.js';
import { type AgentQuery, DEFAULT_STRATEGY } from './agent.query.js';
import { assess, type Assessment } from './assessment.js';
import { aboutAgent, explain, retryAfterMs, unclaimed, withDeparted } from './explanation.js';
import { planQuery, type QueryPlan } from './query.plan.js';
import {
  type AboutAgent,
  type ExcludedAgent,
  type QueryResult,
  type Ranking,
  rankingJson,
  toRanking,
} from './ranking.js';
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

  /**
   * The records of the best matches, and the other agents, in the order of the strategy. The others need not be registered: they are ranked as
   * if they were, with what their records say, and before registered agents of equal rank.
   */
  orderWith(query: AgentQuery, now: number, others: readonly AgentRecord[]): AgentRecord[] {
    const plan = this.plan(query);
    this.directory.advance(now);
    const { strategy, queryKey } = plan;
    const key = `with others ${queryKey}`;
    const registered = this.match(plan, new Search(plan, this.directory.indexOf(plan.namespace)));
    const added = others.map((record) => assess(unregistered(record), now, DEFAULT_LOW_BUDGET));
    const known = new Set(added.map(({ agentId }) => agentId));
    const rest = registered.map(({ listing }) => listing.assessment).filter(({ agentId }) => !known.has(agentId));
    const last = strategy.rotates ? this.rotation.lastFirstOf(key) : undefined;
    const isUpToLast = ({ agentId }: Assessment): number => (last !== undefined && agentId <= last ? 1 : 0);
    const byId = (one: Assessment, other: Assessment): number =>
      strategy.rotates ? isUpToLast(one) - isUpToLast(other) || compareIds(one.agentId, other.agentId) : 0;
    const order = [...added, ...rest].toSorted((one, other) => compareRank(strategy, one, other) || byId(one, other));
    if (strategy.rotates && order[0]) this.rotation.record(key, order[0].agentId);
    return order.map(({ record }) => record);
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

  /** A query that only asks for an explanation does not advance the rotation: nobody is called. */
  private match({ strategy, queryKey, explain: isExplanation }: QueryPlan, search: Search): Match[] {
    if (!strategy.rotates) return search.run(undefined);
    const matches = search.run(this.rotation.lastFirstOf(queryKey));
    if (matches.length > 0 && !isExplanation) this.rotation.record(queryKey, matches[0].listing.agentId);
    return matches;
  }

  /** Where the agent of `about` is in the result. */
  private aboutOf(plan: QueryPlan, search: Search, agentId: string, now: number): AboutAgent {
    const { namespace, strategy, queryKey } = plan;
    const pivot = strategy.rotates ? this.rotation.lastFirstOf(queryKey) : undefined;
    const index = this.directory.indexOf(namespace);
    const all = (limit: number): Match[] => new Search({ ...plan, limit }, index).run(pivot);
    const listing = this.directory.listingOf(qualifiedId(namespace, agentId));
    return aboutAgent(agentId, listing, { plan, search, now, strategy, all });
  }

  private factsOf(plan: QueryPlan, search: Search, matches: readonly Match[], now: number): QueryResult['facts'] {
    const { name: prefer, scoreMeaning } = plan.strategy;
    const facts = { prefer, scoreMeaning, retryAfterMs: matches.length === 0 ? retryAfterMs(plan, search, now) : null };
    if (!plan.explain) return facts;
    const index = this.directory.indexOf(plan.namespace);
    const about = plan.about === undefined ? undefined : this.aboutOf(plan, search, plan.about, now);
    const explanation = explain(plan, search, matches, now);
    return { ...facts, ...explanation, ...(about && { about }), unclaimed: unclaimed(search, index) };
  }
}

function unregistered(record: AgentRecord): DirectoryEntry {
  const agentId = qualifiedId(record.namespace, record.agentId);
  return { agentId, record, revision: 0, circuit: CLOSED_CIRCUIT, circuitVersion: 0, dampedUntil: null };
}
