import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type AgentQuery, type QueryPlan, Ranker } from '#rollcall/registry';
import { validationFailed } from '../http/validation/validation.errors.js';
import { validationPipe } from '../http/validation/validation.pipe.js';
import { ContractQueries } from './contract.queries.js';
import { QueryBody, toQuery } from './query.dto.js';

export interface PlannedQuery {
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
@Injectable()
export class QueryReader {
  private readonly pipe = validationPipe();
  private readonly plans = new LRUCache<string, PlannedQuery>({ max: MAX_PLANS });

  constructor(
    private readonly ranker: Ranker,
    /** For queries that are answered by an auction. */
    readonly contracts: ContractQueries,
  ) {}

  /** Returns the cached plan of a body with the same text. */
  find(namespace: string, body: unknown = {}): PlannedQuery | undefined {
    if (typeof body !== 'object' || body === null) return undefined;
    return this.plans.get(cacheKeyOf(namespace, body));
  }

  async read(namespace: string, body: unknown = {}): Promise<PlannedQuery> {
    const valid = (await this.pipe.transform(body, { type: 'body', metatype: QueryBody })) as QueryBody;
    checkNoAuction(valid);
    const query = { ...toQuery(valid), namespace };
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
