import { LRUCache } from 'lru-cache';
import type { OrderedList } from './ordered.list.js';

const BYTES = 32 * 1_024 * 1_024;

interface Answer {
  body: Buffer;
  orders: readonly OrderedList[];
  versions: readonly number[];
}

/** Answers as they went out, each for as long as every order it was read from is unchanged where it was read. */
export class AnswerCache {
  private readonly answers = new LRUCache<string, Answer>({
    maxSize: BYTES,
    sizeCalculation: ({ body }, question) => body.length + question.length * 2,
  });

  find(question: string): Buffer | undefined {
    const answer = this.answers.get(question);
    return answer && isCurrent(answer) ? answer.body : undefined;
  }

  keep(question: string, body: Buffer, orders: readonly OrderedList[]): void {
    this.answers.set(question, { body, orders, versions: orders.map(({ version }) => version) });
  }
}

function isCurrent({ orders, versions }: Answer): boolean {
  for (let at = 0; at < orders.length; at += 1) {
    orders[at].settle();
    if (orders[at].version !== versions[at]) return false;
  }
  return true;
}
