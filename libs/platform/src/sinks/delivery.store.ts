import { Injectable } from '@nestjs/common';
import { EXPIRED_EVENT, type RegistryEvent } from '../events/event.js';
import { DEFAULT_NAMESPACE } from '../namespaces/namespace.js';
import { Database } from '../postgres/database.js';
import type { DeliveryEntity, DeliveryState } from './sink.entities.js';

/** An event in a delivery. Events that were stored before namespaces existed have no namespace. */
type StoredEvent = Omit<RegistryEvent, 'namespace'> & { namespace?: string };
export type DeliveryRow = Omit<DeliveryEntity, 'event'>;

const COLUMNS = `sink_id AS "sinkId", seq, state, attempts, event_id AS "eventId", type, subject, status, error,
  took_ms AS "tookMs", first_at AS "firstAt", last_at AS "lastAt"`;

/** The records of deliveries, which operators can list and send again. */
@Injectable()
export class DeliveryStore {
  constructor(private readonly db: Database) {}

  /** Returns one page of deliveries, newest first. `before` is the seq of the last delivery of the previous page. */
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

  /**
   * Marks one delivery for one more attempt, or all parked deliveries if `seq` is null, and returns how many it marked. The event of
   * a delivery that succeeded is read from the log again.
   */
  async markPending(sinkId: string, seq: number | null): Promise<number> {
    const rows = await this.db.query(
      `UPDATE event_delivery d SET state = 'pending', event = coalesce(d.event,
         (SELECT to_jsonb(l) FROM event_log l WHERE l.seq = d.seq))
       WHERE sink_id = $1 AND CASE WHEN $2::bigint IS NULL THEN state = 'parked'
         ELSE seq = $2 AND state IN ('parked', 'delivered') END
         AND (d.event IS NOT NULL OR EXISTS (SELECT FROM event_log l WHERE l.seq = d.seq AND l.type <> '${EXPIRED_EVENT}')) RETURNING 1`,
      [sinkId, seq],
    );
    return rows.length;
  }

  /** Returns pending deliveries after a seq, in order. */
  async pending(sinkId: string, after: number, limit: number): Promise<RegistryEvent[]> {
    const rows = await this.db.query<{ seq: string; event: StoredEvent }>(
      `SELECT seq, event FROM event_delivery WHERE sink_id = $1 AND state <> 'delivered' AND state = 'pending' AND seq > $2 ORDER BY seq LIMIT $3`,
      [sinkId, after, limit],
    );
    return rows.map(({ seq, event }) => toEvent(Number(seq), event));
  }

  /**
   * Deletes records of deleted sinks and old records, and returns how many it deleted. Records of deliveries that did not succeed
   * are kept for `keepParkedMs`.
   */
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

function toEvent(seq: number, { namespace = DEFAULT_NAMESPACE, ...event }: StoredEvent): RegistryEvent {
  return { ...event, namespace, seq, at: new Date(event.at) } as RegistryEvent;
}
