import { AsyncLocalStorage } from 'node:async_hooks';
import { Client, Pool, type PoolClient, type QueryResultRow } from 'pg';
import { StopsIn } from '../lifecycle/shutdown.order.js';
import { ConnectionPool } from './connection.pool.js';
import { isConnectionError, translateDatabaseError } from './database.errors.js';
import {
  clientOptions,
  ordinaryPoolOptions,
  reservedPoolOptions,
  transactionTimeoutOf,
  type DatabaseOptions,
} from './database.options.js';
import { Operation } from './operation.js';
import { type CommitStatement, type Prepared, PreparedStatements } from './prepared.statements.js';

/** `reserved` holds a few connections for heartbeats, sweeps and readiness. Its statements are short. */
export type PoolName = 'ordinary' | 'reserved';

interface Scope {
  client: PoolClient;
  operation: Operation;
  withCommit: CommitStatement[];
  afterCommit: (() => void)[];
}

/**
 * All access to Postgres goes through this class, which owns the connection pools.
 *
 * An operation fails when the server has not answered for `operationTimeoutMs`, even when the server is frozen; its connection
 * is then closed and never reused. Code that runs inside `transaction` joins it, so that an edge can make the writes of several
 * services one unit. Effects registered with `afterCommit` run only if the unit was committed. No connection is opened before
 * the first operation.
 */
export class Database {
  private readonly scopes = new AsyncLocalStorage<Scope>();
  private readonly prepared = new PreparedStatements();
  private readonly pools: Record<PoolName, ConnectionPool>;

  constructor(private readonly options: DatabaseOptions) {
    const ordinary = new ConnectionPool(new Pool(ordinaryPoolOptions(options)));
    const reserved = new ConnectionPool(new Pool(reservedPoolOptions(options)));
    this.pools = { ordinary, reserved };
  }

  /** On the connection of the open transaction, else on one of the pool. */
  async query<Row extends QueryResultRow>(
    sql: string | Prepared,
    parameters: readonly unknown[] = [],
    pool: PoolName = 'ordinary',
  ): Promise<Row[]> {
    const scope = this.scopes.getStore();
    if (scope) return await this.rows<Row>(scope.client, sql, parameters).finally(() => scope.operation.progress());
    const operation = new Operation(this.pools[pool], { statementMs: this.options.operationTimeoutMs });
    return await translated(operation.run((client) => this.rows<Row>(client, sql, parameters)));
  }

  /** Runs `work` in a transaction, or inside the one that is already open. */
  async transaction<T>(work: () => Promise<T>, pool: PoolName = 'ordinary'): Promise<T> {
    if (this.scopes.getStore()) return await work();
    const afterCommit: Scope['afterCommit'] = [];
    const limits = { statementMs: this.options.operationTimeoutMs, totalMs: transactionTimeoutOf(this.options) };
    const operation = new Operation(this.pools[pool], limits);
    const scope = { operation, withCommit: [], afterCommit };
    const result = await translated(operation.run((client) => this.commit({ ...scope, client }, work)));
    for (const effect of afterCommit) effect();
    return result;
  }

  /** Whether what is written here and now is part of a transaction. */
  get inTransaction(): boolean {
    return this.scopes.getStore() !== undefined;
  }

  /**
   * Runs a statement as the last of the open transaction, together with its COMMIT, so that it costs no round trip of
   * its own.
   */
  withCommit(statement: CommitStatement): void {
    const scope = this.scopes.getStore();
    if (!scope) throw new Error('there is no transaction to end with this statement');
    scope.withCommit.push(statement);
  }

  /** Runs `effect` once what is being written is durable: now, when no transaction is open. */
  afterCommit(effect: () => void): void {
    const scope = this.scopes.getStore();
    if (scope) scope.afterCommit.push(effect);
    else effect();
  }

  /** Runs `work` outside any transaction that happens to be open where it is called. */
  detached<T>(work: () => T): T {
    return this.scopes.exit(work);
  }

  /** A client outside the pools, not yet connected. The caller connects and ends it. */
  dedicatedClient(applicationName: string): Client {
    return new Client(clientOptions(this.options, applicationName));
  }

  @StopsIn('database')
  async close(): Promise<void> {
    await Promise.all([this.pools.reserved.end(), this.pools.ordinary.end()]);
  }

  private async rows<Row extends QueryResultRow>(
    client: PoolClient,
    sql: string | Prepared,
    parameters: readonly unknown[],
  ): Promise<Row[]> {
    try {
      const query = typeof sql === 'string' ? { text: sql } : await this.prepared.query(sql, client);
      const result = await client.query<Row>({ ...query, values: [...parameters] });
      return result.rows;
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  private async commit<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
    await scope.client.query('BEGIN');
    scope.operation.progress();
    try {
      const result = await this.scopes.run(scope, work);
      await this.prepared.commit(scope.client, scope.withCommit);
      return result;
    } catch (error) {
      if (!isConnectionError(error)) await scope.client.query('ROLLBACK');
      throw error;
    }
  }
}

async function translated<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    throw translateDatabaseError(error);
  }
}
