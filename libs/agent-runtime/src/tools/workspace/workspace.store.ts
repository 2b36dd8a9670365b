import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { Run } from '../../runs/run.js';
import type { WorkspaceKey } from './workspaces.js';

const OF_RUN = `SELECT c.workspace_id AS id FROM run AS r JOIN conversation AS c
  ON c.namespace = r.namespace AND c.created_by = r.created_by AND c.id = r.conversation_id WHERE r.id = $1`;

const KEPT = `SELECT id FROM unnest($1::text[]) AS given (id)
  WHERE EXISTS (SELECT FROM run WHERE run.id = given.id AND redacted_at IS NULL)
    OR EXISTS (SELECT FROM conversation AS c JOIN run AS r ON r.namespace = c.namespace AND r.created_by = c.created_by
      AND r.conversation_id = c.id WHERE c.workspace_id = given.id AND r.redacted_at IS NULL)`;

/** Which workspace a run has: that of the conversation of its root, or else one of its own tree. */
@Injectable()
export class WorkspaceStore {
  constructor(private readonly db: Database) {}

  /** A run without a conversation needs no read. */
  async of({ namespace, id, rootId, conversationId }: Run): Promise<WorkspaceKey> {
    if (rootId === id && conversationId === id) return { namespace, workspaceId: id };
    const [row] = await this.db.query<{ id: string }>({ name: 'workspaces-of-run', text: OF_RUN }, [rootId]);
    return { namespace, workspaceId: row?.id ?? rootId };
  }

  /** Those of these workspaces that belong to a run with contents, or to a conversation that has one. */
  async kept(ids: readonly string[]): Promise<Set<string>> {
    return new Set((await this.db.query<{ id: string }>(KEPT, [ids])).map(({ id }) => id));
  }
}
