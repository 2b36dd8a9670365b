import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type AgentQuery, type QueryPlan, Ranker } from '#rollcall/registry';
import { validationPipe } from '../http/validation.pipe.js';
import { QueryBody, toQuery } from './query.dto.js';

export interface Question {
  query: AgentQuery;
  plan: QueryPlan;
  strong: boolean;
}

const MOST_PLANS = 5_000;
const LONGEST_CACHED_BODY = 2_000;

/**
 * Validates and plans the body of a query. Validation takes longer than the answer and clients repeat their queries, so
 * plans are cached by the text of the body. A plan does not depend on the agents listed and never goes stale. Invalid
 * bodies are not cached.
 */
@Injectable()
export class QuestionReader {
  private readonly pipe = validationPipe();
  private readonly plans = new LRUCache<string, Question>({ max: MOST_PLANS });

  constructor(private readonly ranker: Ranker) {}

  /** The question, if a body with the same text was read before. */
  find(body: unknown = {}): Question | undefined {
    if (typeof body !== 'object' || body === null) return undefined;
    return this.plans.get(JSON.stringify(body));
  }

  async read(body: unknown = {}): Promise<Question> {
    const valid = (await this.pipe.transform(body, { type: 'body', metatype: QueryBody })) as QueryBody;
    const query = toQuery(valid);
    const question = { query, plan: this.ranker.plan(query), strong: valid.consistency === 'strong' };
    const text = JSON.stringify(body);
    if (text.length <= LONGEST_CACHED_BODY) this.plans.set(text, question);
    return question;
  }
}
