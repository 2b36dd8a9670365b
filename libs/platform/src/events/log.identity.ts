import { Injectable } from '@nestjs/common';
import { PlatformError } from '../errors.js';
import { Database } from '../postgres/database.js';
import { PgListener } from '../postgres/pg.listener.js';

/** The object ids of the database and of the table. Both change when a dump is restored. */
const OBJECTS = `(SELECT oid FROM pg_database WHERE datname = current_database()), 'event_counter'::regclass::oid`;
/** The cluster and its timeline. The timeline changes with point-in-time recovery and with a failover. */
const CLUSTER = `(SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8)`;
const NEW_EPOCH = `left(gen_random_uuid()::text, 8)`;

/**
 * Assigns a new epoch to the log when its rows are no longer in the database in which they were written, so that cursors
 * of the original database are rejected. The check runs once, and again after every reconnect.
 */
@Injectable()
export class LogIdentity {
  private confirmed?: Promise<void>;

  constructor(
    private readonly db: Database,
    listener: PgListener,
  ) {
    listener.onConnected(() => this.invalidate());
  }

  /** Resolves when the epoch in the database is correct. Only the first call after a connect runs a query. */
  async confirm(): Promise<void> {
    this.confirmed ??= this.check();
    try {
      await this.confirmed;
    } catch (error) {
      this.confirmed = undefined;
      throw error;
    }
  }

  /** A reconnect may lead to a different server. */
  private invalidate(): void {
    this.confirmed = undefined;
  }

  /**
   * Assigns a new epoch because the log has lost events. If several replicas notice this, only one of them changes the
   * epoch.
   */
  async renew(epoch: string): Promise<void> {
    await this.db.query(`UPDATE event_counter SET epoch = ${NEW_EPOCH} WHERE id = 1 AND epoch = $1`, [epoch]);
  }

  /** Runs outside any open transaction, because a query that the server rejects would abort that transaction. */
  private async check(): Promise<void> {
    await this.db.detached(async () => {
      try {
        await this.compare(`${OBJECTS}, ${CLUSTER}`);
      } catch (error) {
        if (error instanceof PlatformError) throw error;
        await this.compare(OBJECTS); // a managed Postgres may not allow access to the cluster functions
      }
    });
  }

  private async compare(parts: string): Promise<void> {
    await this.db.query(
      `UPDATE event_counter AS c SET origin = actual.origin,
         epoch = CASE WHEN c.origin IS NULL THEN c.epoch ELSE ${NEW_EPOCH} END
       FROM (SELECT concat_ws('/', ${parts}) AS origin) AS actual
       WHERE c.id = 1 AND c.origin IS DISTINCT FROM actual.origin`,
    );
  }
}
