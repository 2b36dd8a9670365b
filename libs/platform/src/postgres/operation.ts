import type { PoolClient } from 'pg';
import type { ConnectionPool } from './connection.pool.js';
import { DatabaseUnavailableError, isConnectionError } from './database.errors.js';

interface Limits {
  statementMs: number;
  /** The limit for all statements together; undefined for a single statement. */
  totalMs?: number;
}

/**
 * One use of a connection with time limits. It fails when one statement, including the wait for the connection, takes
 * longer than `statementMs`, or when all statements together take longer than `totalMs`. The connection is released
 * exactly once: it returns to the pool if it works, and is closed if it is broken.
 */
export class Operation {
  private client?: PoolClient;
  private failure?: Error;
  private readonly expired = Promise.withResolvers<never>();
  private readonly statementTimer: NodeJS.Timeout;
  private readonly totalTimer?: NodeJS.Timeout;

  constructor(
    private readonly pool: ConnectionPool,
    { statementMs, totalMs }: Limits,
  ) {
    this.statementTimer = setTimeout(() => this.expire(statementMs), statementMs);
    if (totalMs !== undefined) this.totalTimer = setTimeout(() => this.expire(totalMs), totalMs);
  }

  async run<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await Promise.race([this.use(work), this.expired.promise]);
    } finally {
      clearTimeout(this.statementTimer);
      clearTimeout(this.totalTimer);
    }
  }

  /** The server has responded, so the time limit of the next statement starts now. */
  progress(): void {
    if (!this.failure) this.statementTimer.refresh();
  }

  private async use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect(() => this.failure !== undefined);
    if (this.failure) {
      client.release();
      throw this.failure;
    }
    this.client = client;
    try {
      const result = await work(client);
      this.release();
      return result;
    } catch (error) {
      this.release(isConnectionError(error) ? asError(error) : undefined);
      throw error;
    }
  }

  private expire(ms: number): void {
    this.failure = new DatabaseUnavailableError(`no response within ${ms} ms`);
    this.release(this.failure);
    this.expired.reject(this.failure);
  }

  private release(broken?: Error): void {
    this.client?.release(broken);
    this.client = undefined;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
