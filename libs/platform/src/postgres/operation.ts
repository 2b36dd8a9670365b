import type { PoolClient } from 'pg';
import type { ConnectionPool } from './connection.pool.js';
import { DatabaseUnavailableError, isConnectionError } from './database.errors.js';

interface Limits {
  statementMs: number;
  /** Of all statements together; undefined when there is one. */
  totalMs?: number;
}

/**
 * One use of a connection, within limits. It fails when the server has not answered for the time of a statement, waiting
 * for the connection included, or when all of it takes too long. The connection goes back exactly once: to the pool when it
 * is sound, and is closed when it is not.
 */
export class Operation {
  private client?: PoolClient;
  private failure?: Error;
  private readonly over = Promise.withResolvers<never>();
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
      return await Promise.race([this.use(work), this.over.promise]);
    } finally {
      clearTimeout(this.statementTimer);
      clearTimeout(this.totalTimer);
    }
  }

  /** The server has answered: the next statement has all of its time. */
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
    this.failure = new DatabaseUnavailableError(`no answer within ${ms} ms`);
    this.release(this.failure);
    this.over.reject(this.failure);
  }

  private release(broken?: Error): void {
    this.client?.release(broken);
    this.client = undefined;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
