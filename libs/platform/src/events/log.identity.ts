import { Injectable } from '@nestjs/common';
import { PlatformError } from '../errors.js';
import { Database } from '../postgres/database.js';
import { PgListener } from '../postgres/pg.listener.js';

/** The database by name, and the table by the object that it is: both change when a dump is restored. */
const OBJECTS = `(SELECT oid FROM pg_database WHERE datname = current_database()), 'event_counter'::regclass::oid`;
/** Which cluster, and on which timeline: the timeline changes with point-in-time recovery and with a failover. */
const CLUSTER = `(SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8)`;
const NEW_EPOCH = `left(gen_random_uuid()::text, 8)`;

/**
 * Gives the log another epoch when its rows are found in a database that they were not written in, so that cursors of
 * the database they come from are recognised. Asked once, and again after every new connection to the server.
 */
@Injectable()
export class LogIdentity {
  private confirmed?: Promise<void>;

  constructor(
    private readonly db: Database,
    listener: PgListener,
  ) {
    listener.onConnected(() => this.doubt());
  }

  /** Resolves when the epoch in the database is the right one. Costs nothing after the first time. */
  async confirm(): Promise<void> {
    this.confirmed ??= this.check();
    try {
      await this.confirmed;
    } catch (error) {
      this.confirmed = undefined;
      throw error;
    }
  }

  /** After a reconnect the server may be another one. */
  private doubt(): void {
    this.confirmed = undefined;
  }

  /** The log lost events that it had. Of any number of replicas that notice, one changes the epoch. */
  async renew(epoch: string): Promise<void> {
    await this.db.query(`UPDATE event_counter SET epoch = ${NEW_EPOCH} WHERE id = 1 AND epoch = $1`, [epoch]);
  }

  /** Outside any open transaction, which a question that the server refuses would abort. */
  private async check(): Promise<void> {
    await this.db.detached(async () => {
      try {
        await this.compare(`${OBJECTS}, ${CLUSTER}`);
      } catch (error) {
        if (error instanceof PlatformError) throw error;
        await this.compare(OBJECTS); // a managed Postgres may not show the cluster
      }
    });
  }

  private async compare(parts: string): Promise<void> {
    await this.db.query(
      `UPDATE event_counter AS c SET origin = found.origin,
         epoch = CASE WHEN c.origin IS NULL THEN c.epoch ELSE ${NEW_EPOCH} END
       FROM (SELECT concat_ws('/', ${parts}) AS origin) AS found
       WHERE c.id = 1 AND c.origin IS DISTINCT FROM found.origin`,
    );
  }
}
