import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { Run } from '../../runs/run.js';
import { RuntimeError } from '../../errors.js';
import type { WorkspaceKey } from './workspaces.js';

const OF_RUN = `SELECT c.workspace_id AS id FROM run AS r JOIN conversation AS c
  ON c.namespace = r.namespace AND c.created_by = r.created_by AND c.id = r.conversation_id WHERE r.id = $1`;

const KEPT = `SELECT id FROM unnest($1::text[]) AS given (id)
  WHERE EXISTS (SELECT FROM run WHERE run.id = given.id AND redacted_at IS NULL)
    OR EXISTS (SELECT FROM conversation AS c JOIN run AS r ON r.namespace = c.namespace AND r.created_by = c.created_by
      AND r.conversation_id = c.id WHERE c.workspace_id = given.id AND r.redacted_at IS NULL)`;

/**
 * The replica that had the workspace last claims the run first, and any other one after the time of a lease. A replica that had it last
 * and does not have it any more has lost it.
 */
const HAND_OVER = `
  WITH awaited AS (UPDATE workspace SET awaited_by = $2,
      awaited_since = CASE WHEN awaited_by = $2 THEN awaited_since ELSE clock_timestamp() END
    WHERE id = $1 RETURNING replica_id,
      replica_id = $4::uuid OR awaited_since < clock_timestamp() - $5 * interval '1 millisecond' AS is_missing),
  handed_over AS (UPDATE run SET lease_owner = NULL, lease_token = NULL, lease_until = NULL, host = awaited.replica_id,
      queued_at = clock_timestamp()
    FROM awaited WHERE run.id = $2 AND lease_token = $3 AND NOT is_missing)
  SELECT is_missing AS "isMissing" FROM awaited`;

/** A workspace that was used before is not on this replica. */
export class WorkspaceMissingError extends RuntimeError {
  readonly code = 'WORKSPACE_MISSING';

  constructor() {
    super(
      'The workspace is not on this replica, because ROLLCALL_WORKSPACES is not on a volume that all replicas share, or because the folder was lost. Share the volume, or start the replica that has it, then try again.',
    );
  }
}

/** The run that is handed over, and the replica that does not have its workspace. */
interface HandOver {
  readonly rootId: string;
  readonly token: string;
  readonly replicaId: string;
  readonly maxWaitMs: number;
}

/** Which workspace a run has: that of the conversation of its root, or else one of its own tree. And which workspaces are in use, on which replica. */
@Injectable()
export class WorkspaceStore {
  constructor(private readonly db: Database) {}

  /** A run without a conversation needs no read. */
  async of({ namespace, id, rootId, conversationId }: Run): Promise<WorkspaceKey> {
    if (rootId === id && conversationId === id) return { namespace, workspaceId: id };
    const [row] = await this.db.query<{ id: string }>({ name: 'workspaces-of-run', text: OF_RUN }, [rootId]);
    return { namespace, workspaceId: row?.id ?? rootId };
  }

  /** A replica has the folder of the workspace. */
  async record(id: string, replicaId: string): Promise<void> {
    await this.db.query(
      `INSERT INTO workspace AS w (id, replica_id) VALUES ($1, $2)
       ON CONFLICT (id) DO UPDATE SET replica_id = excluded.replica_id, awaited_by = NULL, awaited_since = NULL
         WHERE w.replica_id <> excluded.replica_id OR w.awaited_by IS NOT NULL`,
      [id, replicaId],
    );
  }

  /** Whether a replica has, or had, the folder of the workspace. */
  async isUsed(id: string): Promise<boolean> {
    return (await this.db.query('SELECT 1 FROM workspace WHERE id = $1', [id])).length > 0;
  }

  /**
   * Ends the lease of a run whose workspace is not on this replica, so that another replica continues the run. `unused`: no replica has
   * created the workspace. `missing`: the run has waited long enough, or this replica has lost the folder; the lease is kept.
   */
  async handOver(id: string, run: HandOver): Promise<'unused' | 'missing' | 'handed-over'> {
    const { rootId, token, replicaId, maxWaitMs } = run;
    const values = [id, rootId, token, replicaId, maxWaitMs];
    const [row] = await this.db.query<{ isMissing: boolean }>(HAND_OVER, values);
    if (!row) return 'unused';
    return row.isMissing ? 'missing' : 'handed-over';
  }

  /** Called before the folders are deleted: a crash in between leaves folders, which are deleted later. */
  async forget(ids: readonly string[]): Promise<void> {
    await this.db.query('DELETE FROM workspace WHERE id = ANY ($1)', [ids]);
  }

  /** Those of these workspaces that belong to a run with contents, or to a conversation that has one. */
  async kept(ids: readonly string[]): Promise<Set<string>> {
    return new Set((await this.db.query<{ id: string }>(KEPT, [ids])).map(({ id }) => id));
  }
}
