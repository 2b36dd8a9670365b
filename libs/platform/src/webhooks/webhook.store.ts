import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import type { VisibleNamespaces } from '../namespaces/namespace.js';
import type { WebhookEntity } from './webhook.entity.js';

export type WebhookRow = Omit<WebhookEntity, 'secret' | 'oldSecret'>;
/** A webhook with its secrets, to sign deliveries. */
export type SigningRow = Pick<WebhookEntity, 'secret' | 'oldSecret' | 'oldSecretUntil'> & WebhookRow;
export type WebhookFields = Pick<WebhookEntity, 'description' | 'url' | 'types' | 'agentIds' | 'capabilities'>;

/** What is stored with a new webhook besides its settings. */
type WebhookOrigin = Pick<WebhookEntity, 'id' | 'namespace' | 'secret' | 'createdBy'>;

const COLUMNS = `seq, id, namespace, description, url, types, agent_ids AS "agentIds", capabilities,
  old_secret_until AS "oldSecretUntil", created_at AS "createdAt", created_by AS "createdBy"`;

@Injectable()
export class WebhookStore {
  constructor(private readonly db: Database) {}

  async insert({ id, namespace, secret, createdBy }: WebhookOrigin, fields: WebhookFields): Promise<void> {
    const { description, url, types, agentIds, capabilities } = fields;
    await this.db.query(
      `INSERT INTO webhook (id, description, url, types, agent_ids, capabilities, secret, created_by, namespace)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [id, description, url, types, agentIds, capabilities, secret, createdBy, namespace],
    );
  }

  async countIn(namespace: string): Promise<number> {
    const sql = 'SELECT count(*) FROM webhook WHERE namespace = $1';
    const rows = await this.db.query<{ count: string }>(sql, [namespace]);
    return Number(rows[0]?.count);
  }

  async countOf(createdBy: string): Promise<number> {
    const rows = await this.db.query<{ count: string }>('SELECT count(*) FROM webhook WHERE created_by = $1', [
      createdBy,
    ]);
    return Number(rows[0]?.count);
  }

  /** Holds a lock until the transaction ends. */
  async lockCreator(createdBy: string): Promise<void> {
    await this.db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`rollcall.webhooks:${createdBy}`]);
  }

  async find(id: string): Promise<WebhookRow | undefined> {
    const rows = await this.db.query<WebhookRow>(`SELECT ${COLUMNS} FROM webhook WHERE id = $1`, [id]);
    return rows[0];
  }

  async findForSigning(id: string): Promise<SigningRow | undefined> {
    const rows = await this.db.query<SigningRow>(
      `SELECT ${COLUMNS}, secret, old_secret AS "oldSecret" FROM webhook WHERE id = $1`,
      [id],
    );
    return rows[0];
  }

  /** Returns one page of webhooks, newest first. `before` is the seq of the last webhook of the previous page. */
  async page(limit: number, before: string | undefined, visible: VisibleNamespaces): Promise<WebhookRow[]> {
    return await this.db.query<WebhookRow>(
      `SELECT ${COLUMNS} FROM webhook WHERE ($2::bigint IS NULL OR seq < $2) AND ($3::text[] IS NULL OR namespace = ANY ($3))
       ORDER BY seq DESC LIMIT $1`,
      [limit, before ?? null, visible],
    );
  }

  /** Changes the given fields. Null removes a value. */
  async update(id: string, changes: Partial<WebhookFields>): Promise<boolean> {
    const rows = await this.db.query(
      `UPDATE webhook SET description = CASE WHEN $2::jsonb ? 'description' THEN $2->>'description' ELSE description END,
         url = coalesce($2->>'url', url), types = ${listOr('types', 'types')},
         agent_ids = ${listOr('agentIds', 'agent_ids')}, capabilities = ${listOr('capabilities', 'capabilities')}
       WHERE id = $1 RETURNING 1`,
      [id, JSON.stringify(changes)],
    );
    return rows.length > 0;
  }

  /** Replaces the secret. Deliveries are signed with both secrets until the overlap ends. */
  async rotate(id: string, secret: Buffer, overlapMs: number): Promise<boolean> {
    const rows = await this.db.query(
      `UPDATE webhook SET old_secret = secret, secret = $2,
         old_secret_until = clock_timestamp() + $3 * interval '1 millisecond' WHERE id = $1 RETURNING 1`,
      [id, secret, overlapMs],
    );
    return rows.length > 0;
  }

  async delete(id: string): Promise<boolean> {
    return (await this.db.query('DELETE FROM webhook WHERE id = $1 RETURNING 1', [id])).length > 0;
  }
}

function listOr(field: string, column: string): string {
  const given = `CASE WHEN jsonb_typeof($2->'${field}') = 'array' THEN
    ARRAY(SELECT jsonb_array_elements_text($2->'${field}')) END`;
  return `CASE WHEN $2 ? '${field}' THEN ${given} ELSE ${column} END`;
}
