import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';

export interface KeySlot {
  callerId: string;
  keyHash: Buffer;
}

export interface StoredResponse {
  fingerprint: Buffer;
  answer: Buffer;
}

@Injectable()
export class IdempotencyStore {
  constructor(private readonly db: Database) {}

  /**
   * Claims the key for this transaction; returns false if it was already used. A second request with the same key waits here until the
   * first one ends. Then it finds the response or, if the first one failed, a free key.
   */
  async claim({ callerId, keyHash }: KeySlot, fingerprint: Buffer, keepMs: number): Promise<boolean> {
    const rows = await this.db.query(
      `INSERT INTO idempotency_key AS slot (caller_id, key_hash, fingerprint, expires_at)
       VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond')
       ON CONFLICT (caller_id, key_hash) DO UPDATE
         SET fingerprint = excluded.fingerprint, expires_at = excluded.expires_at, answer = NULL
         WHERE slot.expires_at <= clock_timestamp()
       RETURNING 1`,
      [callerId, keyHash, fingerprint, keepMs],
    );
    return rows.length > 0;
  }

  /** Stores the response together with the COMMIT of the open transaction. */
  save({ callerId, keyHash }: KeySlot, answer: Buffer): void {
    this.db.sendWithCommit({
      sql: 'UPDATE idempotency_key SET answer = $3 WHERE caller_id = $1 AND key_hash = $2',
      parameters: [callerId, keyHash, answer],
    });
  }

  /** The response to an earlier request, if it is still valid. */
  async find({ callerId, keyHash }: KeySlot): Promise<StoredResponse | undefined> {
    const rows = await this.db.query<StoredResponse>(
      `SELECT fingerprint, answer FROM idempotency_key
       WHERE caller_id = $1 AND key_hash = $2 AND answer IS NOT NULL AND expires_at > clock_timestamp()`,
      [callerId, keyHash],
    );
    return rows[0];
  }

  /** Returns the number of deleted rows, so that a large backlog is pruned in several short steps. */
  async prune(limit: number): Promise<number> {
    const rows = await this.db.query(
      `DELETE FROM idempotency_key WHERE (caller_id, key_hash) IN (
         SELECT caller_id, key_hash FROM idempotency_key WHERE expires_at <= clock_timestamp()
         LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1`,
      [limit],
    );
    return rows.length;
  }
}
