import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { DatabaseUnavailableError, isConnectionError, sqlState, TOO_MANY_CONNECTIONS } from './database.errors.js';

/** How long the pool opens no new connections after the server has rejected one. */
const SHRUNK_MS = 1_000;
const RETRY_MS = 50;

export interface PoolUse {
  /** The maximum number of connections. */
  size: number;
  used: number;
  idle: number;
  /** Operations that wait for a connection. */
  waiting: number;
}

/**
 * A pool for a server that may accept no more connections: callers then wait until a connection of the pool becomes free. The pool
 * of the driver alone would reject such a caller, even if one of its connections became free soon.
 */
export class ConnectionPool {
  private readonly size: number;

  /** `servers`: how many servers the pool can use, one at a time. */
  constructor(
    private readonly pool: Pool,
    private readonly servers: number,
  ) {
    this.size = pool.options.max;
    pool.on('connect', ignoreErrorsOf); // here and not in connect(): the server may close a connection as soon as it is open
    pool.on('error', ignoreError);
  }

  /**
   * Retries while the server has too many connections, or while none of several servers accepts writes, until `isExpired` returns true;
   * then it throws the error of the server.
   */
  async connect(isExpired: () => boolean): Promise<PoolClient> {
    for (;;) {
      try {
        const client = await this.pool.connect();
        ignoreErrorsOf(client);
        return client;
      } catch (error) {
        if (isExpired()) throw error;
        if (sqlState(error) === TOO_MANY_CONNECTIONS) await this.shrink();
        else if (this.servers > 1 && isConnectionError(error)) await delay(RETRY_MS, undefined, { ref: false });
        else throw error;
      }
    }
  }

  use(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { size: this.size, used: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  async end(): Promise<void> {
    if (!this.pool.ending) await this.pool.end();
  }

  /**
   * Limits the pool to its open connections, so that callers wait for one of them. If none is open, waits before the
   * next attempt.
   */
  private async shrink(): Promise<void> {
    const { options, totalCount } = this.pool;
    options.max = Math.max(1, totalCount);
    setTimeout(() => (options.max = this.size), SHRUNK_MS).unref();
    if (totalCount === 0) await delay(RETRY_MS, undefined, { ref: false });
  }
}

/**
 * A connection may break while it is idle; its next query then fails. Without a listener, the event would end the
 * process.
 */
function ignoreErrorsOf(client: PoolClient): void {
  if (!client.listeners('error').includes(ignoreError)) client.on('error', ignoreError);
}

function ignoreError(): void {}

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
