import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import {
  type AgentQuery,
  DirectoryFollower,
  type QueryPlan,
  Ranker,
  RegistryClock,
  StrongReader,
} from '#rollcall/registry';
import type { Principal } from '../../auth/principal.js';
import { validationFailed } from '../../http/validation/validation.errors.js';
import { validationPipe } from '../../http/validation/validation.pipe.js';
import { ContractQueries } from './contract.queries.js';
import { QueryBody, toAgentQuery } from './query.dto.js';

export interface QueryAnswer {
  /** A `RankingView`. */
  readonly json: string;
  /** The age of the directory in seconds, if it cannot catch up with the event log. */
  readonly age?: number;
}

/** Answers queries for agents, for all protocols. */
@Injectable()
export class AgentQueries {
  private readonly plans: QueryPlans;

  constructor(
    private readonly ranker: Ranker,
    private readonly strong: StrongReader,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly contracts: ContractQueries,
  ) {
    this.plans = new QueryPlans(ranker);
  }

  /** `body` is not validated yet. `signal` ends the wait for bids. */
  async answer(body: unknown, caller: Principal, signal: () => AbortSignal): Promise<QueryAnswer> {
    if (this.contracts.accepts(body))
      return { json: JSON.stringify(await this.contracts.rank(body, caller, signal())) };
    const { namespace } = caller;
    const planned = this.plans.find(namespace, body) ?? (await this.plans.read(namespace, body));
    const { query, plan, strong } = planned;
    let age: number | undefined;
    if (strong) await this.strong.prepare(query);
    else if (!this.follower.isFresh) age = await this.refresh();
    const departed = plan.explain ? await this.strong.departed(plan) : [];
    return { json: this.ranker.rankJson(plan, this.clock.now(), departed), age };
  }

  private async refresh(): Promise<number | undefined> {
    await this.follower.refresh();
    return this.follower.isFresh ? undefined : Math.round(this.follower.ageMs() / 1_000);
  }
}

interface PlannedQuery {
  query: AgentQuery;
  plan: QueryPlan;
  strong: boolean;
}

const MAX_PLANS = 5_000;
const MAX_CACHED_LENGTH = 2_000;

/**
 * Validates and plans the body of a query. Validation takes longer than the query itself and clients repeat their queries, so
 * plans are cached by namespace and text of the body. A plan does not depend on the registered agents, so it never becomes stale.
 * Invalid bodies are not cached.
 */
class QueryPlans {
  private readonly pipe = validationPipe();
  private readonly plans = new LRUCache<string, PlannedQuery>({ max: MAX_PLANS });

  constructor(private readonly ranker: Ranker) {}

  /** Returns the cached plan of a body with the same text. */
  find(namespace: string, body: unknown = {}): PlannedQuery | undefined {
    if (typeof body !== 'object' || body === null) return undefined;
    return this.plans.get(cacheKeyOf(namespace, body));
  }

  async read(namespace: string, body: unknown = {}): Promise<PlannedQuery> {
    const valid = (await this.pipe.transform(body, { type: 'body', metatype: QueryBody })) as QueryBody;
    checkNoAuction(valid);
    if (typeof valid.about === 'string' && valid.explain !== true)
      throw validationFailed([{ field: 'about', message: 'about needs explain: true' }]);
    const query = { ...toAgentQuery(valid), namespace };
    const planned = { query, plan: this.ranker.plan(query), strong: valid.consistency === 'strong' };
    const key = cacheKeyOf(namespace, body);
    if (key.length <= MAX_CACHED_LENGTH) this.plans.set(key, planned);
    return planned;
  }
}

/** Rejects the fields of an auction, which have no effect on other queries. */
function checkNoAuction({ waitMs, task }: QueryBody): void {
  const given = Object.entries({ waitMs, task }).filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) return;
  throw validationFailed(given.map(([field]) => ({ field, message: `${field} needs prefer: contract-net` })));
}

/** The name of a namespace contains no brace, so the keys of two namespaces differ. */
function cacheKeyOf(namespace: string, body: unknown): string {
  return namespace + JSON.stringify(body);
}
