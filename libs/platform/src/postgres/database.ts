import { AsyncLocalStorage } from 'node:async_hooks';
import { type Client, Pool, type PoolClient, type QueryConfig, type QueryResult, type QueryResultRow } from 'pg';
import { StopsIn } from '../lifecycle/shutdown.js';
import { ConnectionPool, Operation, type PoolUse } from './connection.pool.js';
import { isConnectionError, translateDatabaseError } from './database.errors.js';
import {
  clientOptions,
  type DatabaseOptions,
  ordinaryPoolOptions,
  reservedPoolOptions,
  transactionTimeoutOf,
} from './database.options.js';
import { clientOf, PostgresServers } from './servers.js';
import { isDirect, isRead, type NamedStatement, type Statement, toQuery } from './statement.js';

/** `reserved` has a few connections for short statements that must not wait (see `DatabaseOptions.reservedPoolSize`). */
export type PoolName = 'ordinary' | 'reserved';

interface Scope {
  client: PoolClient;
  operation: Operation;
  begun: Promise<void>;
  hasBegun: boolean;
  /** Whether a write waits for BEGIN. Later statements then wait too, to keep the order. */
  waitsForBegin: boolean;
  withCommit: Statement[];
  effects: Effects;
}

/** What happens in memory when a transaction has ended. */
interface Effects {
  readonly afterCommit: (() => void)[];
  readonly afterRollback: (() => void)[];
}

/** Counters of this replica since its start, by name. They are cheap enough for hot paths; metrics read them. */
export class Counts {
  private readonly values = new Map<string, number>();

  add(name: string, by = 1): void {
    this.values.set(name, (this.values.get(name) ?? 0) + by);
  }

  get(name: string): number {
    return this.values.get(name) ?? 0;
  }

  /** The counters whose name begins with the prefix, without the prefix. */
  withPrefix(prefix: string): [name: string, count: number][] {
    const found = [...this.values].filter(([name]) => name.startsWith(prefix));
    return found.map(([name, count]) => [name.slice(prefix.length), count]);
  }
}

/**
 * All access to Postgres goes through this class, which owns the connection pools.
 *
 * An operation fails when the server has not responded for `operationTimeoutMs`, even if the server is frozen; the
 * connection is then closed and never reused. Code that runs inside `transaction` joins that transaction, so a caller
 * can combine the writes of several services. Effects that are registered with `afterCommit` run only after the commit, those
 * of `afterRollback` only if the transaction fails.
 * No connection is opened before the first operation.
 *
 * Connections are pipelined: statements that are sent without waiting for one another, as in `Promise.all`, run in the
 * order they were sent and share one round trip.
 */
export class Database {
  /** The counters of this replica. They are here because every service that counts something already has the database. */
  readonly counts = new Counts();
  private readonly scopes = new AsyncLocalStorage<Scope>();
  private readonly pools: Record<PoolName, ConnectionPool>;
  /** The servers of connections that need a session of their own. */
  private readonly direct: PostgresServers;
  /** Whether prepared statements can be used. Unknown before the first connection. */
  private mayPrepare?: boolean;

  constructor(private readonly options: DatabaseOptions) {
    const { url, directUrl } = options;
    const servers = new PostgresServers(url);
    this.direct = directUrl === undefined ? servers : new PostgresServers(directUrl);
    const ordinary = new ConnectionPool(new Pool(ordinaryPoolOptions(options, servers)), servers.count);
    const reserved = new ConnectionPool(new Pool(reservedPoolOptions(options, servers)), servers.count);
    this.pools = { ordinary, reserved };
  }

  /** Runs a statement on the connection of the open transaction, or on a connection of the pool if there is none. */
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

  /** Runs `work` in the open transaction, or in a new transaction if none is open. */
  async transaction<T>(work: () => Promise<T>, pool: PoolName = 'ordinary'): Promise<T> {
    if (this.scopes.getStore()) return await work();
    const effects: Effects = { afterCommit: [], afterRollback: [] };
    const limits = { statementMs: this.options.operationTimeoutMs, totalMs: transactionTimeoutOf(this.options) };
    const operation = new Operation(this.pools[pool], limits);
    const ended = this.run(operation, (client) => this.runInside(begin(client, operation, effects), work));
    const result = await ended.catch((error: unknown) => {
      for (const effect of effects.afterRollback) effect();
      throw error;
    });
    for (const effect of effects.afterCommit) effect();
    return result;
  }

  /** Whether the calling code runs in a transaction. */
  get inTransaction(): boolean {
    return this.scopes.getStore() !== undefined;
  }

  /** Sends a statement together with the COMMIT of the open transaction, so that it costs no round trip of its own. */
  sendWithCommit(statement: Statement): void {
    const scope = this.scopes.getStore();
    if (!scope) throw new Error('sendWithCommit needs an open transaction');
    scope.withCommit.push(statement);
  }

  /** Runs `effect` after the open transaction is committed, or immediately if there is none. */
  afterCommit(effect: () => void): void {
    const scope = this.scopes.getStore();
    if (scope) scope.effects.afterCommit.push(effect);
    else effect();
  }

  /**
   * Runs `effect` if the open transaction fails. If the connection is lost during the COMMIT, the transaction may be committed
   * nevertheless.
   */
  afterRollback(effect: () => void): void {
    const scope = this.scopes.getStore();
    if (!scope) throw new Error('afterRollback needs an open transaction');
    scope.effects.afterRollback.push(effect);
  }

  /** Runs `work` outside the open transaction, if there is one. */
  detached<T>(work: () => T): T {
    return this.scopes.exit(work);
  }

  /** A client outside the pools, not yet connected. The caller connects and ends it. */
  dedicatedClient(applicationName: string): Client {
    return new (clientOf(this.direct))(clientOptions(this.options, applicationName));
  }

  /** The connections of each pool, and the operations that wait for one. */
  poolUse(): Record<PoolName, PoolUse> {
    return { ordinary: this.pools.ordinary.use(), reserved: this.pools.reserved.use() };
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
   * The first statement shares a round trip with BEGIN if it only reads. A write waits for BEGIN, because the write would be
   * committed on its own if BEGIN failed.
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
      return (await send<Row>(client, toQuery(statement, this.mayPrepare ?? false))).rows;
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
      if (!isConnectionError(error)) await send(scope.client, 'ROLLBACK');
      throw error;
    }
  }

  /** Needs one round trip. If a statement fails, Postgres executes the COMMIT after it as a rollback. */
  private async commit({ client, withCommit }: Scope): Promise<void> {
    const sent: Promise<QueryResult>[] = withCommit.map((one) => send(client, toQuery(one, this.mayPrepare ?? false)));
    sent.push(send(client, 'COMMIT'));
    const failed = (await Promise.allSettled(sent)).find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

function begin(client: PoolClient, operation: Operation, effects: Effects): Scope {
  const sendBegin = async (): Promise<void> => {
    await send(client, 'BEGIN');
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
    effects,
  };
  scope.begun = sendBegin();
  scope.begun.catch(() => undefined); // the statement that waits for BEGIN reports the error
  return scope;
}

/**
 * Sends a statement. The statements of one tick share one system call, so that Postgres receives them together: the driver writes each
 * statement on its own, and this was two fifths of the CPU time of a short run.
 */
async function send<Row extends QueryResultRow>(
  client: PoolClient,
  query: string | QueryConfig,
): Promise<QueryResult<Row>> {
  const { stream } = client.connection;
  if (stream.writableCorked === 0) {
    stream.cork();
    process.nextTick(() => stream.uncork());
  }
  return await client.query<Row>(query);
}
