import { LRUCache } from 'lru-cache';

const QUESTIONS_REMEMBERED = 10_000;

/**
 * Who was first in the last answer to each question, on this replica. The next in the order of agentIds is first in the next
 * one. Nothing is counted and nothing numbered, so agents that come or go neither skip nor repeat anybody else's turn.
 */
export class Turns {
  private readonly lastFirst = new LRUCache<string, string>({ max: QUESTIONS_REMEMBERED });

  after(question: string): string | undefined {
    return this.lastFirst.get(question);
  }

  note(question: string, agentId: string): void {
    this.lastFirst.set(question, agentId);
  }
}
