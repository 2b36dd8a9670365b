import { type Client, escapeLiteral, type QueryResultRow } from 'pg';
import { translateDatabaseError } from '../postgres/database.errors.js';
import type { Database } from '../postgres/database.js';
import type { LogPosition } from './event.cursor.js';

/**
 * The state of the database when `seq` was the newest event. It uses a connection of its own. Close it soon: while it
 * is open, Postgres cannot vacuum rows that are replaced.
 */
export class EventSnapshot {
  private at: LogPosition = { seq: 0, epoch: '' };

  private constructor(private readonly client: Client) {}

  /** Connects in advance, so that `begin` is fast. */
  static async prepare(db: Database): Promise<EventSnapshot> {
    const client = db.dedicatedClient('rollcall-snapshot');
    client.on('error', () => undefined); // the next query fails with this error
    try {
      await client.connect();
      return new EventSnapshot(client);
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  /** The seq of the last event whose change is in the snapshot. */
  get seq(): number {
    return this.at.seq;
  }

  /** The position in the log of the last event whose change is in the snapshot. */
  get position(): LogPosition {
    return this.at;
  }

  /** Must be called while the transaction that exported the snapshot is open. */
  async begin(position: LogPosition, exported: string): Promise<void> {
    this.at = position;
    await this.client.query(
      `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT ${escapeLiteral(exported)}`,
    );
  }

  async query<Row extends QueryResultRow>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    try {
      return (await this.client.query<Row>(sql, [...parameters])).rows;
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  async close(): Promise<void> {
    await this.client.end();
  }
}
