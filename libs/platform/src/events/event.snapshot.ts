import { type Client, escapeLiteral, type QueryResultRow } from 'pg';
import { translateDatabaseError } from '../postgres/database.errors.js';
import type { Database } from '../postgres/database.js';
import type { LogPosition } from './event.cursor.js';

/**
 * The database as it was when the log ended with `seq`, on a connection of its own, for as long as it is open. Close it
 * soon: what is replaced meanwhile cannot be cleared away.
 */
export class EventSnapshot {
  private at: LogPosition = { seq: 0, epoch: '' };

  private constructor(private readonly client: Client) {}

  /** Connects, so that `begin` takes no time. */
  static async prepare(db: Database): Promise<EventSnapshot> {
    const client = db.dedicatedClient('rollcall-snapshot');
    client.on('error', () => undefined); // the next query says so
    try {
      await client.connect();
      return new EventSnapshot(client);
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  /** The last event whose change is in it. */
  get seq(): number {
    return this.at.seq;
  }

  /** The same, as a position of its log. */
  get position(): LogPosition {
    return this.at;
  }

  /** While the transaction that exported it is open. */
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
