import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { PrincipalFacts } from '../auth/principal.js';

@Injectable()
export class TicketStore {
  constructor(private readonly db: Database) {}

  /** Also deletes some expired tickets each time, so that no sweeper is needed. */
  async insert(hash: Buffer, principal: PrincipalFacts, lifeMs: number): Promise<Date> {
    const rows = await this.db.query<{ expiresAt: Date }>(
      `WITH stale AS (
         DELETE FROM event_ticket WHERE hash IN (
           SELECT hash FROM event_ticket WHERE expires_at <= clock_timestamp() LIMIT 10 FOR UPDATE SKIP LOCKED))
       INSERT INTO event_ticket (hash, principal, expires_at)
       VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond') RETURNING expires_at AS "expiresAt"`,
      [hash, JSON.stringify(principal), lifeMs],
    );
    return rows[0]?.expiresAt ?? new Date();
  }

  /** Deletes the ticket. If several requests use a ticket concurrently, on any replicas, only one of them gets the principal. */
  async consume(hash: Buffer): Promise<PrincipalFacts | undefined> {
    const rows = await this.db.query<{ principal: PrincipalFacts; valid: boolean }>(
      'DELETE FROM event_ticket WHERE hash = $1 RETURNING principal, expires_at > clock_timestamp() AS valid',
      [hash],
    );
    return rows[0]?.valid ? rows[0].principal : undefined;
  }
}
