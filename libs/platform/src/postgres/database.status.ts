import { Injectable } from '@nestjs/common';
import { Database } from './database.js';
import { LISTENER_NAME } from './pg.listener.js';

interface DeadRows {
  table: string;
  rows: number;
}

/** Facts about Postgres that an operator watches. */
@Injectable()
export class DatabaseStatus {
  constructor(private readonly db: Database) {}

  /**
   * The age of the oldest open or prepared transaction of any program in this database. While that transaction is open, Postgres
   * cannot reuse the space of updated rows. Transactions of other roles are visible only with the role `pg_read_all_stats`.
   */
  async oldestTransactionMs(): Promise<number> {
    const [row] = await this.db.query<{ ms: number | null }>(
      `SELECT (extract(epoch FROM clock_timestamp() - min(begun)) * 1000)::float8 AS ms FROM (
         SELECT xact_start AS begun FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
         UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) AS open`,
      [],
      'reserved',
    );
    return Math.max(0, row?.ms ?? 0);
  }

  /** How many replicas are connected to this database. Each has one connection of its own for notifications. */
  async countReplicas(): Promise<number> {
    const [row] = await this.db.query<{ replicas: number }>(
      `SELECT count(*)::integer AS replicas FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = '${LISTENER_NAME}'`,
    );
    return row?.replicas ?? 0;
  }

  /** The number of rows in each table that are dead and that VACUUM has not removed yet. Postgres estimates these numbers. */
  async deadRows(tables: readonly string[]): Promise<DeadRows[]> {
    return await this.db.query<DeadRows>(
      `SELECT relname AS table, n_dead_tup::float8 AS rows FROM pg_stat_user_tables
       WHERE schemaname = current_schema() AND relname = ANY($1)`,
      [tables],
      'reserved',
    );
  }
}
