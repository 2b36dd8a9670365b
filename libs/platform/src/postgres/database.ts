import { AsyncLocalStorage } from 'node:async_hooks';
import { Client, type Pool, type PoolClient, type QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { type CommitStatement, type Prepared, PreparedStatements } from './prepared.statements.js';
import { clientOptions, dataSourceOptions, type DatabaseOptions, type Schema } from './database.options.js';
import { DatabaseUnavailableError, isConnectionError, translateDatabaseError } from './database.errors.js';

interface Scope {
  client: PoolClient;
  withCommit: CommitStatement[];
  afterCommit: (() => void)[];
}

/**
 * The one door to Postgres.
 *
 * Promises: an operation ends within `operationTimeoutMs`, even when the server is frozen, and then its connection is
 * thrown away, never reused. `transaction` is joined by everything called inside it, so an edge can make several
 * services' writes one unit. What was registered with `afterCommit` runs only if the unit was committed.
 */
export class Database {
  private readonly scopes = new AsyncLocalStorage<Scope>();
  private readonly prepared = new PreparedStatements();

  private constructor(
    readonly dataSource: DataSource,
    private readonly pool: Pool,
    private readonly options: DatabaseOptions,
  ) {}

  static async connect(options: DatabaseOptions, schema: Schema): Promise<Database> {
    const dataSource = new DataSource(dataSourceOptions(options, schema));
    await dataSource.initialize();
    poolOf(dataSource).on('connect', hearErrors); // at once: the server may cut a connection in the moment it is made
    return new Database(dataSource, poolOf(dataSource), options);
  }

  async query<Row extends QueryResultRow>(sql: string | Prepared, parameters: readonly unknown[] = []): Promise<Row[]> {
    const scope = this.scopes.getStore();
    if (scope) return await this.rows<Row>(scope.client, sql, parameters);
    return await this.withClient((client) => this.rows<Row>(client, sql, parameters));
  }

  /** Runs `work` in a transaction, or inside the one that is already open. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    if (this.scopes.getStore()) return await work();
    const afterCommit: Scope['afterCommit'] = [];
    const result = await this.withClient((client) => this.commit({ client, withCommit: [], afterCommit }, work));
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
    try {
      const result = await this.scopes.run(scope, work);
      await this.prepared.commit(scope.client, scope.withCommit);
      return result;
    } catch (error) {
      if (!isConnectionError(error)) await scope.client.query('ROLLBACK');
      throw error;
    }
  }

  private async withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const lease = new ClientLease(this.pool);
    const deadline = Promise.withResolvers<never>();
    const { operationTimeoutMs } = this.options;
    const timer = setTimeout(() => {
      const late = new DatabaseUnavailableError(`no answer within ${operationTimeoutMs} ms`);
      lease.discard(late);
      deadline.reject(late);
    }, operationTimeoutMs);
    try {
      return await Promise.race([lease.use(work), deadline.promise]);
    } catch (error) {
      throw translateDatabaseError(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** One borrowed connection, given back exactly once: to the pool when it is sound, to the bin when it is not. */
class ClientLease {
  private client?: PoolClient;
  private discarded?: Error;

  constructor(private readonly pool: Pool) {}

  async use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    hearErrors(client);
    if (this.discarded) {
      client.release();
      throw this.discarded;
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

  discard(reason: Error): void {
    this.discarded = reason;
    this.release(reason);
  }

  private release(broken?: Error): void {
    this.client?.release(broken);
    this.client = undefined;
  }
}

/** A connection may break while no query is under way on it; the next query says so. Unheard, the event would end the process. */
function hearErrors(client: PoolClient): void {
  if (!client.listeners('error').includes(leaveItToTheQuery)) client.on('error', leaveItToTheQuery);
}

function leaveItToTheQuery(): void {}

/** TypeORM keeps the pg pool on its driver and does not type it. */
function poolOf(dataSource: DataSource): Pool {
  return (dataSource.driver as unknown as { master: Pool }).master;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
