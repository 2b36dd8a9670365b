import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { TOO_MANY_CONNECTIONS, sqlState } from './database.errors.js';

/** How long the pool then makes do with the connections it has. */
const SHRUNK_MS = 1_000;
const RETRY_MS = 50;

/**
 * A pool that waits for its own connections when the server takes no more. The driver's pool fails the caller instead, even
 * while other connections of the same pool are about to be free.
 */
export class ConnectionPool {
  private readonly size: number;

  constructor(private readonly pool: Pool) {
    this.size = pool.options.max;
    pool.on('connect', ignoreErrors); // at once: the server may cut a connection in the moment it is made
    pool.on('error', leaveItToTheQuery);
  }

  /** Fails with what the server said when the caller has given up by then. */
  async connect(hasGivenUp: () => boolean): Promise<PoolClient> {
    for (;;) {
      try {
        const client = await this.pool.connect();
        ignoreErrors(client);
        return client;
      } catch (error) {
        if (sqlState(error) !== TOO_MANY_CONNECTIONS || hasGivenUp()) throw error;
        await this.makeDo();
      }
    }
  }

  async end(): Promise<void> {
    if (!this.pool.ending) await this.pool.end();
  }

  /** As long as the pool is full, callers wait for a connection in use; without any, for a better moment. */
  private async makeDo(): Promise<void> {
    const { options, totalCount } = this.pool;
    options.max = Math.max(1, totalCount);
    setTimeout(() => (options.max = this.size), SHRUNK_MS).unref();
    if (totalCount === 0) await delay(RETRY_MS, undefined, { ref: false });
  }
}

/** A connection may break while no query is under way on it; the next query says so. Unheard, the event would end the process. */
function ignoreErrors(client: PoolClient): void {
  if (!client.listeners('error').includes(leaveItToTheQuery)) client.on('error', leaveItToTheQuery);
}

function leaveItToTheQuery(): void {}
