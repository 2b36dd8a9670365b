import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { EXPIRED_EVENT } from './event.js';

const PRUNER_LOCK = 'rollcall.event_pruner';

interface Excess {
  namespace: string;
  /** How many events the namespace has above its limit. */
  excess: string;
  expiredTo: string;
}

/** Deletes events that are beyond a limit, and counts the events of each namespace. */
@Injectable()
export class EventRetentionStore {
  constructor(private readonly db: Database) {}

  /** How many events of the namespace are in the log, not counting expired events. */
  async countKept(namespace: string): Promise<number> {
    const sql = 'SELECT kept FROM event_namespace WHERE namespace = $1';
    const rows = await this.db.query<{ kept: string }>(sql, [namespace]);
    return Number(rows[0]?.kept ?? 0);
  }

  /**
   * Deletes up to `limit` of the oldest events, if they are beyond the retention limits, and returns how many it deleted. It
   * always deletes from the start of the log, so the remaining events have no gap. Returns 0 if another replica is pruning.
   */
  async prune(keepMs: number, keepCount: number, limit: number): Promise<number> {
    return await this.asOnlyPruner(async () => {
      const rows = await this.db.query<{ namespace: string; type: string }>(
        `WITH oldest AS (
           SELECT seq, at < clock_timestamp() - $1 * interval '1 millisecond'
             OR seq <= (SELECT head FROM event_counter WHERE id = 1) - $2::bigint AS due
           FROM event_log ORDER BY seq LIMIT $3),
         cut AS (SELECT coalesce(min(seq) FILTER (WHERE NOT due), max(seq) + 1) AS seq FROM oldest)
         DELETE FROM event_log WHERE seq < (SELECT seq FROM cut) RETURNING namespace, type`,
        [keepMs, keepCount, limit],
      );
      const kept = rows.filter(({ type }) => type !== EXPIRED_EVENT);
      await this.uncount(Map.groupBy(kept, ({ namespace }) => namespace));
      return rows.length;
    });
  }

  /**
   * Selects one namespace that has more events than its limit, deletes the contents of up to `limit` of its oldest events, and
   * returns how many events expired. Returns 0 if no namespace has too many events, or if another replica is pruning.
   */
  async expire(limit: number): Promise<number> {
    return await this.asOnlyPruner(async () => {
      const [first] = await this.db.query<Excess>(
        `SELECT e.namespace, e.kept - ${LIMIT} AS excess, e.expired_to AS "expiredTo"
         FROM namespace n JOIN event_namespace e ON e.namespace = n.name
         WHERE ${LIMIT} > 0 AND e.kept > ${LIMIT} ORDER BY e.namespace LIMIT 1`,
      );
      if (!first) return 0;
      const rows = await this.db.query<{ expired: string }>(EXPIRE, [
        first.namespace,
        first.expiredTo,
        Math.min(Number(first.excess), limit),
      ]);
      return Number(rows[0]?.expired ?? 0);
    });
  }

  /** Returns 0 if another replica holds the lock. */
  private async asOnlyPruner(work: () => Promise<number>): Promise<number> {
    return await this.db.transaction(async () => {
      const [lock] = await this.db.query<{ acquired: boolean }>(
        'SELECT pg_try_advisory_xact_lock(hashtext($1)) AS acquired',
        [PRUNER_LOCK],
      );
      return lock?.acquired ? await work() : 0;
    });
  }

  /** Locks the rows in the order of the names, as the sequencer does, to prevent deadlocks. */
  private async uncount(deleted: ReadonlyMap<string, readonly unknown[]>): Promise<void> {
    if (deleted.size === 0) return;
    await this.db.query(
      `WITH locked AS (
         SELECT namespace FROM event_namespace WHERE namespace = ANY ($1) ORDER BY namespace FOR UPDATE)
       UPDATE event_namespace e SET kept = greatest(0, e.kept - d.count)
       FROM unnest($1::text[], $2::bigint[]) AS d (namespace, count) JOIN locked USING (namespace)
       WHERE e.namespace = d.namespace`,
      [[...deleted.keys()], Array.from(deleted.values(), ({ length }) => length)],
    );
  }
}

/** The limit of events of a namespace; 0 means no limit. */
const LIMIT = `coalesce((n.limits->>'eventsKept')::bigint, 0)`;

/**
 * The scan starts after the events that expired before, so it reads each event of the log about once for each
 * namespace. If it finds fewer events than requested, no event is left, so the counter is set to 0.
 */
const EXPIRE = `
  WITH oldest AS (
    SELECT seq FROM event_log WHERE namespace = $1 AND seq > $2::bigint ORDER BY seq LIMIT $3),
  expired AS (
    UPDATE event_log SET type = '${EXPIRED_EVENT}', subject = namespace, capabilities = '{}', data = '{}'
    WHERE seq IN (SELECT seq FROM oldest) RETURNING seq),
  total AS (SELECT count(*) AS count, max(seq) AS last FROM expired)
  UPDATE event_namespace SET kept = CASE WHEN total.count < $3 THEN 0 ELSE kept - total.count END, expired_to = greatest(expired_to, total.last)
  FROM total WHERE namespace = $1 RETURNING total.count AS expired`;
