import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { KEY_COLUMNS, type KeyRow, VALID_KEY } from './key.store.js';

/** What a session or a ticket permits. */
export interface SessionGrant {
  keyId: string;
  roles: readonly string[];
}

/** A valid session with its key. */
export interface SessionRow {
  key: KeyRow;
  roles: string[];
  /** When the session or its key expires, whichever is first. */
  expiresAt: Date;
}

/** If a key has this many sessions, another one ends the oldest. */
const MAX_SESSIONS_OF_KEY = 100;

@Injectable()
export class SessionStore {
  constructor(private readonly db: Database) {}

  /** Also deletes some expired sessions each time, so that no sweeper is needed. Returns undefined if the key is not valid. */
  async insert(hash: Buffer, { keyId, roles }: SessionGrant, lifeMs: number): Promise<Date | undefined> {
    const rows = await this.db.query<{ expiresAt: Date }>(
      `WITH expired AS (
         DELETE FROM session WHERE hash IN (
           SELECT hash FROM session WHERE expires_at <= clock_timestamp() LIMIT 10 FOR UPDATE SKIP LOCKED)),
       surplus AS (
         DELETE FROM session WHERE hash IN (
           SELECT hash FROM session WHERE key_id = $2 ORDER BY created_at DESC OFFSET ${MAX_SESSIONS_OF_KEY - 1}
           FOR UPDATE SKIP LOCKED))
       INSERT INTO session (hash, key_id, roles, expires_at)
       SELECT $1, id, $3, least(expires_at, clock_timestamp() + $4 * interval '1 millisecond')
       FROM api_key WHERE id = $2 AND ${VALID_KEY} RETURNING expires_at AS "expiresAt"`,
      [hash, keyId, roles, lifeMs],
    );
    return rows[0]?.expiresAt;
  }

  async findValid(hash: Buffer): Promise<SessionRow | undefined> {
    const rows = await this.db.query<KeyRow & { sessionRoles: string[]; sessionExpiresAt: Date }>(
      `SELECT k.*, s.roles AS "sessionRoles", least(s.expires_at, k."expiresAt") AS "sessionExpiresAt"
       FROM session s JOIN (SELECT ${KEY_COLUMNS} FROM api_key) AS k ON k.id = s.key_id
       WHERE s.hash = $1 AND s.expires_at > clock_timestamp() AND k."isActive"`,
      [hash],
    );
    const [row] = rows;
    if (!row) return undefined;
    const { sessionRoles: roles, sessionExpiresAt: expiresAt, ...key } = row;
    return { key, roles, expiresAt };
  }

  /** Which of these sessions are valid, as hexadecimal hashes. */
  async findValidHashes(hashes: readonly string[]): Promise<string[]> {
    const rows = await this.db.query<{ hash: string }>(
      `SELECT encode(s.hash, 'hex') AS hash FROM session s JOIN api_key k ON k.id = s.key_id
       WHERE s.hash = ANY (SELECT decode(unnest($1::text[]), 'hex')) AND s.expires_at > clock_timestamp()
         AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())`,
      [hashes],
    );
    return rows.map(({ hash }) => hash);
  }

  async delete(hash: string): Promise<void> {
    await this.db.query(`DELETE FROM session WHERE hash = decode($1, 'hex')`, [hash]);
  }

  /** Also deletes some expired tickets each time. */
  async insertTicket(hash: Buffer, { keyId, roles }: SessionGrant, lifeMs: number): Promise<Date> {
    const [row] = await this.db.query<{ expiresAt: Date }>(
      `WITH expired AS (
         DELETE FROM session_ticket WHERE hash IN (
           SELECT hash FROM session_ticket WHERE expires_at <= clock_timestamp() LIMIT 10 FOR UPDATE SKIP LOCKED))
       INSERT INTO session_ticket (hash, key_id, roles, expires_at)
       VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond') RETURNING expires_at AS "expiresAt"`,
      [hash, keyId, roles, lifeMs],
    );
    if (!row) throw new Error('a statement that must return a row returned none');
    return row.expiresAt;
  }

  /** Deletes the ticket. If several requests use a ticket concurrently, on any replicas, only one of them gets its grant. */
  async consumeTicket(hash: Buffer): Promise<SessionGrant | undefined> {
    const rows = await this.db.query<SessionGrant & { valid: boolean }>(
      `DELETE FROM session_ticket WHERE hash = $1
       RETURNING key_id AS "keyId", roles, expires_at > clock_timestamp() AS valid`,
      [hash],
    );
    const [row] = rows;
    return row?.valid ? { keyId: row.keyId, roles: row.roles } : undefined;
  }
}
