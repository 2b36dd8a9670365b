import { LRUCache } from 'lru-cache';

const MAX_QUERIES = 10_000;

/**
 * The state of round-robin on this replica: the agent that was first in the last result of each query. The next result starts
 * with the next agentId. There are no counters, so agents that join or leave do not change the order of the others.
 */
export class Rotation {
  private readonly lastFirst = new LRUCache<string, string>({ max: MAX_QUERIES });

  lastFirstOf(queryKey: string): string | undefined {
    return this.lastFirst.get(queryKey);
  }

  record(queryKey: string, agentId: string): void {
    this.lastFirst.set(queryKey, agentId);
  }
}
