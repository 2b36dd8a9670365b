import { Injectable } from '@nestjs/common';
import { Database, type Statement, type VisibleNamespaces } from '#rollcall/platform';
import type { AuditEntity } from './audit.entity.js';

export type NewAuditEntry = Omit<AuditEntity, 'seq' | 'at'>;

export interface AuditFilter {
  visible: VisibleNamespaces;
  action?: string;
  actorId?: string;
  target?: string;
}

const APPEND = `INSERT INTO audit_entry (namespace, action, target, actor_id, actor_name, fingerprint, request_id, ip, details)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

@Injectable()
export class AuditStore {
  constructor(private readonly db: Database) {}

  /** In a transaction, the statement is sent together with the COMMIT, so that it needs no additional round trip. */
  async append(entry: NewAuditEntry): Promise<void> {
    const statement = this.statement(entry);
    if (this.db.inTransaction) this.db.sendWithCommit(statement);
    else await this.db.query(statement.sql, statement.parameters);
  }

  statement(entry: NewAuditEntry): Statement {
    const { namespace, action, target, actorId, actorName, fingerprint, requestId, ip, details } = entry;
    const parameters = [namespace, action, target, actorId, actorName, fingerprint, requestId, ip, details];
    return { sql: { name: 'audit-append', text: APPEND }, parameters };
  }

  /** Returns the newest entries first. */
  async page(
    limit: number,
    before: string | undefined,
    { visible, action, actorId, target }: AuditFilter,
  ): Promise<AuditEntity[]> {
    return await this.db.query<AuditEntity>(
      `SELECT seq, at, namespace, action, target, actor_id AS "actorId", actor_name AS "actorName", fingerprint,
              request_id AS "requestId", ip, details
       FROM audit_entry
       WHERE ($2::bigint IS NULL OR seq < $2) AND ($3::text IS NULL OR action = $3)
         AND ($4::text IS NULL OR actor_id = $4) AND ($5::text IS NULL OR target = $5)
         AND ($6::text[] IS NULL OR namespace = ANY ($6))
       ORDER BY seq DESC LIMIT $1`,
      [limit, before ?? null, action ?? null, actorId ?? null, target ?? null, visible],
    );
  }
}
