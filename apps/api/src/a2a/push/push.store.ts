import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { PushEntity } from './push.entity.js';

export type PushRow = Omit<PushEntity, 'createdAt'>;

const COLUMNS =
  'id, namespace, run_id AS "runId", config_id AS "configId", url, scheme, secrets, version, created_by AS "createdBy"';

@Injectable()
export class PushStore {
  constructor(private readonly db: Database) {}

  /** Makes other changes of the configurations of this task wait until the transaction ends. */
  async lock(runId: string): Promise<void> {
    await this.db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`rollcall.push:${runId}`]);
  }

  /** Counts the configurations of a principal, up to a limit. Until the transaction ends, no other one of the principal is counted or added. */
  async countOf(createdBy: string, upTo: number): Promise<number> {
    const [, [row]] = await Promise.all([
      this.db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`rollcall.push-owner:${createdBy}`]),
      this.db.query<{ count: number }>(
        'SELECT count(*)::integer AS count FROM (SELECT FROM push_config WHERE created_by = $1 LIMIT $2) AS own',
        [createdBy, upTo],
      ),
    ]);
    return row?.count ?? 0;
  }

  async save({ id, namespace, runId, configId, url, scheme, secrets, version, createdBy }: PushRow): Promise<void> {
    await this.db.query(
      `INSERT INTO push_config (id, namespace, run_id, config_id, url, scheme, secrets, version, created_by)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (id) DO UPDATE SET url = excluded.url, scheme = excluded.scheme, secrets = excluded.secrets,
         version = excluded.version`,
      [id, namespace, runId, configId, url, scheme, secrets, version, createdBy],
    );
  }

  async find(id: string): Promise<PushRow | undefined> {
    const [row] = await this.db.query<PushRow>(`SELECT ${COLUMNS} FROM push_config WHERE id = $1`, [id]);
    return row;
  }

  /** In the order of creation. */
  async list(runId: string): Promise<PushRow[]> {
    const sql = `SELECT ${COLUMNS} FROM push_config WHERE run_id = $1 ORDER BY created_at, config_id`;
    return await this.db.query<PushRow>(sql, [runId]);
  }

  async delete(id: string): Promise<void> {
    await this.db.query('DELETE FROM push_config WHERE id = $1', [id]);
  }

  /**
   * Deletes the configurations of tasks that no longer exist, or that finished more than `keepMs` ago and have nothing left to send.
   * Returns how many it deleted.
   */
  async prune(keepMs: number, limit: number): Promise<number> {
    const rows = await this.db.query(
      `WITH old AS (SELECT p.id FROM push_config p LEFT JOIN run r ON r.id = p.run_id LEFT JOIN event_sink s ON s.id = p.id
         WHERE r.id IS NULL OR (r.finished_at < clock_timestamp() - $1 * interval '1 millisecond'
           AND (s.id IS NULL OR s.stopped_because IS NOT NULL))
         LIMIT $2 FOR UPDATE OF p SKIP LOCKED),
       sinks AS (DELETE FROM event_sink WHERE id IN (SELECT id FROM old))
       DELETE FROM push_config WHERE id IN (SELECT id FROM old) RETURNING 1`,
      [keepMs, limit],
    );
    return rows.length;
  }
}
