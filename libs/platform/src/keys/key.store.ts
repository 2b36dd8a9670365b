import { Injectable } from '@nestjs/common';
import type { VisibleNamespaces } from '../namespaces/namespace.js';
import { Database, type PoolName } from '../postgres/database.js';
import type { KeyEntity } from './key.entity.js';
import { ADMIN_ROLE, type KeySource } from './key.js';

export interface NewKey {
  id: string;
  hash: Buffer;
  name: string;
  namespace: string;
  roles: readonly string[];
  source: KeySource;
  createdBy: string;
  expiresAt: Date | null;
}

/** A key, and whether it is valid at the time of the query, by the clock of the database. */
export interface KeyRow extends KeyEntity {
  isActive: boolean;
}

const KEY_WRITERS = 'rollcall.api_key';
export const VALID_KEY = `revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())`;
export const KEY_COLUMNS = `seq, id, hash, name, namespace, roles, source, created_at AS "createdAt", created_by AS "createdBy",
  expires_at AS "expiresAt", revoked_at AS "revokedAt", replaced_by AS "replacedBy", origin_id AS "originId",
  last_used_at AS "lastUsedAt", ${VALID_KEY} AS "isActive"`;

@Injectable()
export class KeyStore {
  constructor(private readonly db: Database) {}

  /** Serialises writers until the transaction ends, so that concurrent writers cannot break a rule about several keys. */
  async lockWriters(): Promise<void> {
    await this.db.query('SELECT pg_advisory_xact_lock(hashtext($1))', [KEY_WRITERS]);
  }

  async insert(key: NewKey): Promise<KeyRow> {
    const rows = await this.db.query<KeyRow>(
      `INSERT INTO api_key (id, hash, name, namespace, roles, source, created_by, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       RETURNING ${KEY_COLUMNS}`,
      [key.id, key.hash, key.name, key.namespace, key.roles, key.source, key.createdBy, key.expiresAt],
    );
    return one(rows);
  }

  /** Inserts a key with the name, namespace, roles and lifetime of the old key. The lifetime starts now. */
  async insertSuccessor(
    old: KeyRow,
    { id, hash, createdBy }: Pick<NewKey, 'id' | 'hash' | 'createdBy'>,
  ): Promise<KeyRow> {
    const rows = await this.db.query<KeyRow>(
      `INSERT INTO api_key (id, hash, name, namespace, roles, source, created_by, expires_at, origin_id)
       SELECT $2, $3, name, namespace, roles, 'issued', $4, clock_timestamp() + (expires_at - created_at),
         coalesce(origin_id, id)
       FROM api_key WHERE id = $1
       RETURNING ${KEY_COLUMNS}`,
      [old.id, id, hash, createdBy],
    );
    return one(rows);
  }

  async reinstate(id: string): Promise<void> {
    await this.db.query('UPDATE api_key SET revoked_at = NULL WHERE id = $1', [id]);
  }

  async find(id: string): Promise<KeyRow | undefined> {
    const rows = await this.db.query<KeyRow>(`SELECT ${KEY_COLUMNS} FROM api_key WHERE id = $1`, [id]);
    return rows[0];
  }

  async findValidByHash(hash: Buffer, pool?: PoolName): Promise<KeyRow | undefined> {
    const sql = `SELECT ${KEY_COLUMNS} FROM api_key WHERE hash = $1 AND ${VALID_KEY}`;
    const rows = await this.db.query<KeyRow>(sql, [hash], pool);
    return rows[0];
  }

  async findValidIds(ids: readonly string[]): Promise<string[]> {
    const rows = await this.db.query<{ id: string }>(`SELECT id FROM api_key WHERE id = ANY ($1) AND ${VALID_KEY}`, [
      ids,
    ]);
    return rows.map(({ id }) => id);
  }

  /** Returns one page of keys, newest first. `before` is the seq of the last key of the previous page. */
  async page(limit: number, before: string | undefined, visible: VisibleNamespaces): Promise<KeyRow[]> {
    return await this.db.query<KeyRow>(
      `SELECT ${KEY_COLUMNS} FROM api_key WHERE ($2::bigint IS NULL OR seq < $2) AND ($3::text[] IS NULL OR namespace = ANY ($3))
       ORDER BY seq DESC LIMIT $1`,
      [limit, before ?? null, visible],
    );
  }

  /** Counts the valid keys, including rotated keys during their overlap. */
  async countActive(namespace: string): Promise<number> {
    return await this.count(namespace, VALID_KEY);
  }

  /** Counts the valid keys. A rotated key and its successor count as one. */
  async countUnreplaced(namespace: string): Promise<number> {
    return await this.count(namespace, `${VALID_KEY} AND replaced_by IS NULL`);
  }

  private async count(namespace: string, condition: string): Promise<number> {
    const sql = `SELECT count(*) FROM api_key WHERE namespace = $1 AND ${condition}`;
    const rows = await this.db.query<{ count: string }>(sql, [namespace]);
    return Number(rows[0]?.count);
  }

  /** Returns whether there is another admin key for all namespaces that neither expires nor was replaced. */
  async hasOtherPermanentAdmin(id: string, exceptSource: KeySource | null = null): Promise<boolean> {
    const rows = await this.db.query(
      `SELECT 1 FROM api_key WHERE id <> $1 AND source IS DISTINCT FROM $2 AND $3 = ANY (roles) AND namespace = '*'
         AND revoked_at IS NULL AND expires_at IS NULL LIMIT 1`,
      [id, exceptSource, ADMIN_ROLE],
    );
    return rows.length > 0;
  }

  async findByHash(hash: Buffer): Promise<KeyRow | undefined> {
    const rows = await this.db.query<KeyRow>(`SELECT ${KEY_COLUMNS} FROM api_key WHERE hash = $1`, [hash]);
    return rows[0];
  }

  async isEmpty(): Promise<boolean> {
    const rows = await this.db.query('SELECT 1 FROM api_key LIMIT 1');
    return rows.length === 0;
  }

  /** Returns the revoked key, or undefined if it was already revoked. */
  async revoke(id: string): Promise<KeyRow | undefined> {
    const rows = await this.db.query<KeyRow>(
      `UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = $1 AND revoked_at IS NULL RETURNING ${KEY_COLUMNS}`,
      [id],
    );
    return rows[0];
  }

  async revokeFromEnvironment(except: string | null): Promise<string[]> {
    const rows = await this.db.query<{ id: string }>(
      `UPDATE api_key SET revoked_at = clock_timestamp()
       WHERE source = 'environment' AND id IS DISTINCT FROM $1 AND revoked_at IS NULL RETURNING id`,
      [except],
    );
    return rows.map(({ id }) => id);
  }

  /** The replaced key stays valid for `overlapMs`, but not beyond its own expiry. */
  async replace(id: string, replacedBy: string, overlapMs: number): Promise<void> {
    await this.db.query(
      `UPDATE api_key SET replaced_by = $2,
         expires_at = least(expires_at, clock_timestamp() + $3 * interval '1 millisecond') WHERE id = $1`,
      [id, replacedBy, overlapMs],
    );
  }

  async touch(id: string): Promise<void> {
    await this.db.query('UPDATE api_key SET last_used_at = clock_timestamp() WHERE id = $1', [id]);
  }
}

function one<T>(rows: T[]): T {
  const [row] = rows;
  if (!row) throw new Error('a statement that must return a row returned none');
  return row;
}
