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
  /** For bodies that are themselves remembered: the very same object means the same. */
  private readonly byBody = new WeakMap<object, Question>();

  /** At once, if it was asked before. */
  find(body: unknown = {}): Question | undefined {
    if (typeof body !== 'object' || body === null) return undefined;
    const same = this.byBody.get(body);
    if (same) return same;
    const known = this.known.get(JSON.stringify(body));
    if (known) this.byBody.set(body, known);
    return known;
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
