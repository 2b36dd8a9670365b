import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import type { NamespaceEntity } from './namespace.entity.js';
import type { NamespaceLimits } from './namespace.js';

export type NamespaceRow = Omit<NamespaceEntity, 'deletedAt'>;
export interface NamespaceFields {
  description: string | null;
  limits: Partial<NamespaceLimits>;
}

const COLUMNS = `name, description, limits, created_at AS "createdAt", created_by AS "createdBy"`;

@Injectable()
export class NamespaceStore {
  constructor(private readonly db: Database) {}

  /** Returns undefined if the name is or was in use. */
  async insert(name: string, { description, limits }: NamespaceFields, by: string): Promise<NamespaceRow | undefined> {
    const rows = await this.db.query<NamespaceRow>(
      `INSERT INTO namespace (name, description, limits, created_by) VALUES ($1, $2, $3, $4)
       ON CONFLICT (name) DO NOTHING RETURNING ${COLUMNS}`,
      [name, description, limits, by],
    );
    return rows[0];
  }

  async find(name: string): Promise<NamespaceRow | undefined> {
    const rows = await this.db.query<NamespaceRow>(
      `SELECT ${COLUMNS} FROM namespace WHERE name = $1 AND deleted_at IS NULL`,
      [name],
    );
    return rows[0];
  }

  async findAll(): Promise<NamespaceRow[]> {
    return await this.db.query<NamespaceRow>(`SELECT ${COLUMNS} FROM namespace WHERE deleted_at IS NULL`);
  }

  async page(limit: number, after: string | undefined): Promise<NamespaceRow[]> {
    return await this.db.query<NamespaceRow>(
      `SELECT ${COLUMNS} FROM namespace WHERE deleted_at IS NULL AND ($2::text IS NULL OR name > $2) ORDER BY name LIMIT $1`,
      [limit, after ?? null],
    );
  }

  /** Absent fields are not changed; a given limit replaces the limit of the same kind. */
  async update(name: string, { description, limits }: Partial<NamespaceFields>): Promise<NamespaceRow | undefined> {
    const rows = await this.db.query<NamespaceRow>(
      `UPDATE namespace SET description = CASE WHEN $2 THEN $3 ELSE description END, limits = limits || $4::jsonb
       WHERE name = $1 AND deleted_at IS NULL RETURNING ${COLUMNS}`,
      [name, description !== undefined, description ?? null, limits ?? {}],
    );
    return rows[0];
  }

  /** Waits for the transactions that called `hold` for the namespace. A later `hold` waits until this transaction ends. */
  async lock(name: string): Promise<boolean> {
    const rows = await this.db.query('SELECT 1 FROM namespace WHERE name = $1 AND deleted_at IS NULL FOR UPDATE', [
      name,
    ]);
    return rows.length > 0;
  }

  /** Returns the namespaces with these names that exist. They cannot be deleted until the transaction ends. */
  async hold(names: readonly string[]): Promise<NamespaceRow[]> {
    return await this.db.query<NamespaceRow>(
      `SELECT ${COLUMNS} FROM namespace WHERE name = ANY ($1) AND deleted_at IS NULL ORDER BY name FOR KEY SHARE`,
      [names],
    );
  }

  async markDeleted(name: string): Promise<void> {
    await this.db.query('UPDATE namespace SET deleted_at = clock_timestamp() WHERE name = $1', [name]);
  }
}
