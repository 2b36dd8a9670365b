import { Injectable } from '@nestjs/common';
import type { RegistryEvent } from '../events/event.js';
import { Database } from '../postgres/database.js';
import type { DeliveryState } from './sink.entities.js';

/** NOTIFY channel for sinks that were added, changed or deleted. */
export const SINK_CHANNEL = 'rollcall_sink';

/** The right of a replica to deliver to a sink. */
interface SinkLease {
  id: string;
  token: string;
}

export interface ClaimedSink extends SinkLease {
  kind: string;
  cursor: number;
  attempts: number;
  /** The time until the next attempt. */
  dueInMs: number;
}

export interface Progress {
  cursor: number;
  attempts: number;
  dueInMs: number;
  error: string | null;
}

export interface DeliveryOutcome {
  event: RegistryEvent;
  state: DeliveryState;
  status: number | null;
  error: string | null;
  tookMs: number;
}

const FREE = `lease_owner = NULL, lease_token = NULL, lease_until = NULL`;
const NOTIFY = `SELECT pg_notify('${SINK_CHANNEL}', id) FROM changed`;

/**
 * The lease and the progress of each sink. Every write of a relay is fenced by the token of its lease: the write has no
 * effect if the lease was lost.
 */
@Injectable()
export class SinkStore {
  constructor(private readonly db: Database) {}

  async insert(id: string, kind: string, cursor: number, paused: boolean): Promise<void> {
    await this.db.query(
      `WITH changed AS (INSERT INTO event_sink (id, kind, cursor, paused) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO NOTHING RETURNING id) ${NOTIFY}`,
      [id, kind, cursor, paused],
    );
  }

  async delete(id: string): Promise<void> {
    await this.db.query(`WITH changed AS (DELETE FROM event_sink WHERE id = $1 RETURNING id) ${NOTIFY}`, [id]);
  }

  /** Changes a sink and ends its lease, so that the next relay starts with the new values and tries again immediately. */
  async change(id: string, { cursor, paused }: { cursor?: number; paused?: boolean }): Promise<boolean> {
    const rows = await this.db.query(
      `WITH changed AS (UPDATE event_sink SET ${FREE}, cursor = coalesce($2, cursor), paused = coalesce($3, paused),
         attempts = 0, due_at = clock_timestamp(),
         stopped_because = CASE WHEN $2::bigint IS NULL THEN stopped_because END
         WHERE id = $1 RETURNING id) ${NOTIFY}`,
      [id, cursor ?? null, paused ?? null],
    );
    return rows.length > 0;
  }

  /**
   * Claims sinks without a valid lease. A replica need not wait for the end of its own lease to claim the sink
   * again.
   */
  async claim(
    owner: string,
    kinds: readonly string[],
    except: readonly string[],
    leaseMs: number,
  ): Promise<ClaimedSink[]> {
    const rows = await this.db.query<Omit<ClaimedSink, 'cursor'> & { cursor: string }>(
      `UPDATE event_sink SET lease_owner = $1, lease_token = gen_random_uuid(),
         lease_until = clock_timestamp() + $4 * interval '1 millisecond'
       WHERE id IN (SELECT id FROM event_sink WHERE kind = ANY ($2) AND id <> ALL ($3) AND NOT paused
         AND stopped_because IS NULL AND (lease_until IS NULL OR lease_until < clock_timestamp() OR lease_owner = $1)
         FOR UPDATE SKIP LOCKED)
       RETURNING id, kind, cursor, attempts, lease_token AS token,
         greatest(0, extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS "dueInMs"`,
      [owner, kinds, except, leaseMs],
    );
    return rows.map(({ cursor, ...row }) => Object.assign(row, { cursor: Number(cursor) }));
  }

  /** Renews the leases, saves the cursors, and returns the ids of the leases that are still valid. */
  async renew(held: readonly (SinkLease & { cursor: number })[], leaseMs: number): Promise<Set<string>> {
    const rows = await this.db.query<{ id: string }>(
      `UPDATE event_sink s SET lease_until = clock_timestamp() + $4 * interval '1 millisecond',
         cursor = greatest(s.cursor, h.cursor)
       FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS h (id, token, cursor)
       WHERE s.id = h.id AND s.lease_token = h.token RETURNING s.id`,
      [held.map(({ id }) => id), held.map(({ token }) => token), held.map(({ cursor }) => cursor), leaseMs],
    );
    return new Set(rows.map(({ id }) => id));
  }

  async release(held: readonly (SinkLease & { cursor: number })[]): Promise<void> {
    await this.db.query(
      `WITH changed AS (UPDATE event_sink s SET ${FREE}, cursor = greatest(s.cursor, h.cursor)
         FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS h (id, token, cursor)
         WHERE s.id = h.id AND s.lease_token = h.token RETURNING s.id) ${NOTIFY}`,
      [held.map(({ id }) => id), held.map(({ token }) => token), held.map(({ cursor }) => cursor)],
    );
  }

  /** Saves the progress of a sink and the outcome of a delivery atomically. Returns false if the lease was lost. */
  async save({ id, token }: SinkLease, progress: Progress, outcome?: DeliveryOutcome): Promise<boolean> {
    const { cursor, attempts, dueInMs, error } = progress;
    const rows = await this.db.query(
      `WITH held AS (UPDATE event_sink SET cursor = $3, attempts = $4, last_error = $6,
           due_at = clock_timestamp() + $5 * interval '1 millisecond',
           delivered_at = CASE WHEN $6::text IS NULL THEN clock_timestamp() ELSE delivered_at END
         WHERE id = $1 AND lease_token = $2 RETURNING id)
       ${outcome ? RECORD : 'SELECT 1 FROM held'}`,
      [id, token, cursor, attempts, dueInMs, error, ...(outcome ? recordValues(outcome) : [])],
    );
    return rows.length > 0;
  }

  /** Deletes a sink whose last event was delivered or parked. */
  async finish({ id, token }: SinkLease): Promise<void> {
    await this.db.query('DELETE FROM event_sink WHERE id = $1 AND lease_token = $2', [id, token]);
  }

  /** Stops a sink because events after its cursor were deleted. It continues when an operator sets a new cursor. */
  async stop({ id, token }: SinkLease, reason: string): Promise<void> {
    await this.db.query(`UPDATE event_sink SET ${FREE}, stopped_because = $3 WHERE id = $1 AND lease_token = $2`, [
      id,
      token,
      reason,
    ]);
  }
}

/** Records an attempt; a repeated attempt updates the row. The event itself is stored until it is delivered. */
const RECORD = `
  INSERT INTO event_delivery AS d (sink_id, seq, state, attempts, event, event_id, type, subject, status, error, took_ms)
  SELECT held.id, $7, $8, 1, $9, $10, $11, $12, $13, $14, $15 FROM held
  ON CONFLICT (sink_id, seq) DO UPDATE SET state = excluded.state, attempts = d.attempts + 1, event = excluded.event,
    status = excluded.status, error = excluded.error, took_ms = excluded.took_ms, last_at = clock_timestamp()
  RETURNING 1`;

function recordValues({ event, state, status, error, tookMs }: DeliveryOutcome): unknown[] {
  const { seq, id, type, subject } = event;
  return [seq, state, state === 'delivered' ? null : JSON.stringify(event), id, type, subject, status, error, tookMs];
}
