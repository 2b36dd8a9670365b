import { AsyncLocalStorage } from 'node:async_hooks';
import { Client, Pool, type PoolClient, type QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { ConnectionPool } from './connection.pool.js';
import { isConnectionError, translateDatabaseError } from './database.errors.js';
import {
  clientOptions,
  dataSourceOptions,
  reservedPoolOptions,
  transactionTimeoutOf,
  type DatabaseOptions,
  type Schema,
} from './database.options.js';
import { Operation } from './operation.js';
import { type CommitStatement, type Prepared, PreparedStatements } from './prepared.statements.js';

/** `reserved` is a few connections for what keeps agents alive: beats, sweeps and readiness. Its statements are short. */
export type PoolName = 'ordinary' | 'reserved';

interface Scope {
  client: PoolClient;
  operation: Operation;
  withCommit: CommitStatement[];
  afterCommit: (() => void)[];
}

/**
 * The one door to Postgres.
 *
 * Promises: an operation ends when the server has not answered for `operationTimeoutMs`, even when it is frozen, and then its
 * connection is thrown away, never reused. `transaction` is joined by everything called inside it, so an edge can make several
 * services' writes one unit. What was registered with `afterCommit` runs only if the unit was committed.
 */
export class Database {
  private readonly scopes = new AsyncLocalStorage<Scope>();
  private readonly prepared = new PreparedStatements();

  private constructor(
    readonly dataSource: DataSource,
    private readonly pools: Record<PoolName, ConnectionPool>,
    private readonly options: DatabaseOptions,
  ) {}

  static async connect(options: DatabaseOptions, schema: Schema): Promise<Database> {
    const dataSource = new DataSource(dataSourceOptions(options, schema));
    await dataSource.initialize();
    const ordinary = new ConnectionPool(poolOf(dataSource));
    const reserved = new ConnectionPool(new Pool(reservedPoolOptions(options)));
    return new Database(dataSource, { ordinary, reserved }, options);
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

  /** A connection beside the pool, not yet made, for who needs one all to itself. It is the caller's to end. */
  dedicatedClient(applicationName: string): Client {
    return new Client(clientOptions(this.options, applicationName));
  }

  async close(): Promise<void> {
    await this.pools.reserved.end();
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
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

/** TypeORM keeps the pg pool on its driver and does not type it. */
function poolOf(dataSource: DataSource): Pool {
  return (dataSource.driver as unknown as { master: Pool }).master;
}

async function translated<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    throw translateDatabaseError(error);
  }
}
