import { LRUCache } from 'lru-cache';
import type { AgentQuery } from './agent.query.js';
import { AnswerCache } from './answer.cache.js';
import { candidateJson, toCandidate, type Found } from './candidate.js';
import type { Directory } from './directory.js';
import { explain, retryAfterMs, unclaimed } from './explanation.js';
import { planQuery, type QueryPlan } from './query.plan.js';
import type { Ranking } from './ranking.js';
import { Search } from './search.js';
import { Strategies } from './strategies/strategies.js';
import { Turns } from './turns.js';

const PLANS_REMEMBERED = 5_000;

/**
 * Answers "who can do this now?" from a directory: ranked candidates with reasons, and on request who was left out. The
 * serialised form says the same in bytes that are ready to send, and is what the hot path uses.
 */
export class Ranker {
  private readonly turns = new Turns();
  private readonly answers = new AnswerCache();
  /** A plan knows nothing of who is listed, so it stays right. */
  private readonly plans = new LRUCache<string, QueryPlan>({ max: PLANS_REMEMBERED });

  constructor(
    private readonly directory: Directory,
    readonly strategies: Strategies = new Strategies(),
  ) {}

  rank(query: AgentQuery, now: number): Ranking {
    const at = this.directory.advance(now);
    const plan = this.plan(query);
    const search = new Search(plan, this.directory.index);
    const found = this.find(plan, search);
    return this.rankingOf(plan, search, found, at);
  }

  /** `question` is the query as text, for callers who have it already. */
  rankSerialised(query: AgentQuery, now: number, question = JSON.stringify(query)): Buffer {
    if (query.explain) return Buffer.from(JSON.stringify(this.rank(query, now)));
    const at = this.directory.advance(now);
    return this.answers.find(question) ?? this.answer(question, query, at);
  }

  private answer(question: string, query: AgentQuery, now: number): Buffer {
    const known = this.plans.get(question);
    const plan = known ?? this.plan(query);
    if (!known) this.plans.set(question, plan);
    const search = new Search(plan, this.directory.index);
    const found = this.find(plan, search);
    if (found.length === 0) return Buffer.from(JSON.stringify(this.rankingOf(plan, search, found, now)));
    const body = Buffer.from(rankingJson(plan, found));
    // Capabilities nobody claims have no order whose change could tell that someone does now; and what is asked for the
    // first time may never be asked again, so it would only push out what will.
    const worthKeeping = known && !plan.strategy.takesTurns && search.unclaimed.length === 0;
    if (worthKeeping) this.answers.keep(question, body, search.orders);
    return body;
  }

  private plan(query: AgentQuery): QueryPlan {
    return planQuery(query, this.directory.aliases, this.strategies);
  }

  private find({ strategy, question }: QueryPlan, search: Search): Found[] {
    const pivot = strategy.takesTurns ? this.turns.after(question) : undefined;
    const found = search.run(pivot);
    if (strategy.takesTurns && found.length > 0) this.turns.note(question, found[0].listing.agentId);
    return found;
  }

  private rankingOf(plan: QueryPlan, search: Search, found: readonly Found[], now: number): Ranking {
    const { strategy } = plan;
    return {
      prefer: strategy.name,
      scoreMeaning: strategy.scoreMeaning,
      candidates: found.map((one, place) => toCandidate(one, strategy, place + 1)),
      retryAfterMs: found.length === 0 ? retryAfterMs(plan, search, now) : null,
      ...(plan.explain && {
        ...explain(plan, search, found, now),
        unclaimed: unclaimed(search, this.directory.index),
      }),
    };
  }
}

/** The same text as JSON.stringify of the ranking. */
function rankingJson({ strategy }: QueryPlan, found: readonly Found[]): string {
  const head = `{"prefer":${JSON.stringify(strategy.name)},"scoreMeaning":${JSON.stringify(strategy.scoreMeaning)}`;
  const candidates = found.map((one, place) => candidateJson(one, strategy, place + 1)).join(',');
  return `${head},"candidates":[${candidates}],"retryAfterMs":null}`;
}
