import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import type { RegistryEvent } from '../events/event.types.js';
import type { DeliveryEntity, DeliveryState } from './delivery.entity.js';

export type DeliveryRow = Omit<DeliveryEntity, 'event'>;

const COLUMNS = `sink_id AS "sinkId", seq, state, attempts, event_id AS "eventId", type, subject, status, error,
  took_ms AS "tookMs", first_at AS "firstAt", last_at AS "lastAt"`;

/** What became of events at sinks, for people to look at and to have sent again. */
@Injectable()
export class DeliveryStore {
  constructor(private readonly db: Database) {}

  /** Newest first. */
  async page(sinkId: string, limit: number, before?: string, state?: DeliveryState): Promise<DeliveryRow[]> {
    return await this.db.query<DeliveryRow>(
      `SELECT ${COLUMNS} FROM event_delivery WHERE sink_id = $1 AND ($3::bigint IS NULL OR seq < $3)
         AND ($4::text IS NULL OR state = $4) ORDER BY seq DESC LIMIT $2`,
      [sinkId, limit, before ?? null, state ?? null],
    );
  }

  async find(sinkId: string, seq: number): Promise<DeliveryRow | undefined> {
    const rows = await this.db.query<DeliveryRow>(
      `SELECT ${COLUMNS} FROM event_delivery WHERE sink_id = $1 AND seq = $2`,
      [sinkId, seq],
    );
    return rows[0];
  }

  /** To be tried once more: this one, or all that are parked. Answers how many; one that arrived is read from the log. */
  async ask(sinkId: string, seq: number | null): Promise<number> {
    const rows = await this.db.query(
      `UPDATE event_delivery d SET state = 'pending', event = coalesce(d.event,
         (SELECT to_jsonb(l) FROM event_log l WHERE l.seq = d.seq))
       WHERE sink_id = $1 AND CASE WHEN $2::bigint IS NULL THEN state = 'parked'
         ELSE seq = $2 AND state IN ('parked', 'delivered') END
         AND (d.event IS NOT NULL OR EXISTS (SELECT FROM event_log l WHERE l.seq = d.seq)) RETURNING 1`,
      [sinkId, seq],
    );
    return rows.length;
  }

  /** Those someone asked for, in order, after `seq`. */
  async pending(sinkId: string, after: number, limit: number): Promise<RegistryEvent[]> {
    const rows = await this.db.query<{ seq: string; event: RegistryEvent }>(
      `SELECT seq, event FROM event_delivery WHERE sink_id = $1 AND state <> 'delivered' AND state = 'pending' AND seq > $2 ORDER BY seq LIMIT $3`,
      [sinkId, after, limit],
    );
    return rows.map(({ seq, event }) => Object.assign(event, { seq: Number(seq), at: new Date(event.at) }));
  }

  /** What is old enough, and what belongs to sinks that are gone. Parked ones stay, until they are as old as `keepParkedMs`. */
  async prune(keepMs: number, keepParkedMs: number, limit: number): Promise<number> {
    const rows = await this.db.query(
      `DELETE FROM event_delivery WHERE (sink_id, seq) IN (SELECT sink_id, seq FROM event_delivery d
         WHERE last_at < clock_timestamp() - CASE WHEN state = 'delivered' THEN $1::float8 ELSE $2::float8 END * interval '1 millisecond'
           OR NOT EXISTS (SELECT FROM event_sink s WHERE s.id = d.sink_id)
         LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING 1`,
      [keepMs, keepParkedMs, limit],
    );
    return rows.length;
  }
}
