import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { AgentQuery } from '#rollcall/registry';
import { validationPipe } from '../http/validation.pipe.js';
import { QueryBody, toQuery } from './query.dto.js';

export interface Question {
  query: AgentQuery;
  /** The query as text, by which answers to it are remembered. */
  text: string;
  strong: boolean;
}

const REMEMBERED = 5_000;
const LONGEST_REMEMBERED = 2_000;

/**
 * Reads what callers ask. Most of them ask the same again and again, and checking a body takes longer than answering it, so
 * what was found right is remembered by its text. What was found wrong is not: it is refused each time anew.
 */
@Injectable()
export class QuestionReader {
  private readonly pipe = validationPipe();
  private readonly known = new LRUCache<string, Question>({ max: REMEMBERED });

  /** The validated question, if the same text was validated before. */
  find(body: unknown = {}): Question | undefined {
    if (typeof body !== 'object' || body === null) return undefined;
    return this.known.get(JSON.stringify(body));
  }

  async read(body: unknown = {}): Promise<Question> {
    const asked = (await this.pipe.transform(body, { type: 'body', metatype: QueryBody })) as QueryBody;
    const query = toQuery(asked);
    const question = { query, text: JSON.stringify(query), strong: asked.consistency === 'strong' };
    const text = JSON.stringify(body);
    if (text.length <= LONGEST_REMEMBERED) this.known.set(text, question);
    return question;
  }
}
