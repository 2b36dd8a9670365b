import { AsyncLocalStorage } from 'node:async_hooks';
import { Client, Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
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
import { isDirect, isRead, type NamedStatement, type Statement, toQuery } from './statement.js';

/** `reserved` holds a few connections for heartbeats, sweeps and readiness. Its statements are short. */
export type PoolName = 'ordinary' | 'reserved';

interface Scope {
  client: PoolClient;
  operation: Operation;
  begun: Promise<void>;
  hasBegun: boolean;
  /** Whether a write waits for BEGIN; what is sent after it waits too, to keep the order. */
  waitsForBegin: boolean;
  withCommit: Statement[];
  afterCommit: (() => void)[];
}

/**
 * All access to Postgres goes through this class, which owns the connection pools.
 *
 * An operation fails when the server has not answered for `operationTimeoutMs`, even when the server is frozen; its connection
 * is then closed and never reused. Code that runs inside `transaction` joins it, so that an edge can make the writes of several
 * services one unit. Effects registered with `afterCommit` run only if the unit was committed. No connection is opened before
 * the first operation.
 *
 * Connections are pipelined: statements that are sent without waiting for one another, as in `Promise.all`, run in the order
 * they were sent and share one round trip.
 */
export class Database {
  private readonly scopes = new AsyncLocalStorage<Scope>();
  private readonly pools: Record<PoolName, ConnectionPool>;
  /** Unknown until the first connection is made. */
  private mayPrepare?: boolean;

  constructor(private readonly options: DatabaseOptions) {
    const ordinary = new ConnectionPool(new Pool(ordinaryPoolOptions(options)));
    const reserved = new ConnectionPool(new Pool(reservedPoolOptions(options)));
    this.pools = { ordinary, reserved };
  }

  /** On the connection of the open transaction, else on one of the pool. */
  async query<Row extends QueryResultRow>(
    sql: string | NamedStatement,
    parameters: readonly unknown[] = [],
    pool: PoolName = 'ordinary',
  ): Promise<Row[]> {
    const scope = this.scopes.getStore();
    if (scope) return await this.rowsInside<Row>(scope, { sql, parameters });
    const operation = new Operation(this.pools[pool], { statementMs: this.options.operationTimeoutMs });
    return await this.run(operation, (client) => this.rows<Row>(client, { sql, parameters }));
  }

  /** Runs `work` in a transaction, or inside the one that is already open. */
  async transaction<T>(work: () => Promise<T>, pool: PoolName = 'ordinary'): Promise<T> {
    if (this.scopes.getStore()) return await work();
    const afterCommit: Scope['afterCommit'] = [];
    const limits = { statementMs: this.options.operationTimeoutMs, totalMs: transactionTimeoutOf(this.options) };
    const operation = new Operation(this.pools[pool], limits);
    const result = await this.run(operation, (client) => this.runInside(begin(client, operation, afterCommit), work));
    for (const effect of afterCommit) effect();
    return result;
  }

  /** Whether what is written here and now is part of a transaction. */
  get inTransaction(): boolean {
    return this.scopes.getStore() !== undefined;
  }

  /** Sends a statement together with the COMMIT of the open transaction, so that it costs no round trip of its own. */
  withCommit(statement: Statement): void {
    const scope = this.scopes.getStore();
    if (!scope) throw new Error('withCommit needs an open transaction');
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

  private async run<T>(operation: Operation, work: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await operation.run(async (client) => {
        this.mayPrepare ??= await isDirect(client);
        return await work(client);
      });
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  /**
   * The first statement shares a round trip with BEGIN if it only reads. A write waits for BEGIN: if that failed, the write would
   * be committed by itself.
   */
  private async rowsInside<Row extends QueryResultRow>(scope: Scope, statement: Statement): Promise<Row[]> {
    scope.waitsForBegin ||= !isRead(statement.sql);
    if (!scope.hasBegun && scope.waitsForBegin) await scope.begun;
    try {
      const rows = await this.rows<Row>(scope.client, statement);
      await scope.begun;
      return rows;
    } finally {
      scope.operation.progress();
    }
  }

  private async rows<Row extends QueryResultRow>(client: PoolClient, statement: Statement): Promise<Row[]> {
    try {
      return (await client.query<Row>(toQuery(statement, this.mayPrepare ?? false))).rows;
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  private async runInside<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
    try {
      const result = await this.scopes.run(scope, work);
      await scope.begun;
      await this.commit(scope);
      return result;
    } catch (error) {
      if (!isConnectionError(error)) await scope.client.query('ROLLBACK');
      throw error;
    }
  }

  /** One round trip. When a statement fails, Postgres answers the COMMIT that follows it with a rollback. */
  private async commit({ client, withCommit }: Scope): Promise<void> {
    const sent: Promise<QueryResult>[] = withCommit.map((one) => client.query(toQuery(one, this.mayPrepare ?? false)));
    sent.push(client.query('COMMIT'));
    const failed = (await Promise.allSettled(sent)).find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

function begin(client: PoolClient, operation: Operation, afterCommit: Scope['afterCommit']): Scope {
  const send = async (): Promise<void> => {
    await client.query('BEGIN');
    scope.hasBegun = true;
    operation.progress();
  };
  const scope: Scope = {
    client,
    operation,
    begun: Promise.resolve(),
    hasBegun: false,
    waitsForBegin: false,
    withCommit: [],
    afterCommit,
  };
  scope.begun = send();
  scope.begun.catch(() => undefined); // reported by the statement that waits for it
  return scope;
}
