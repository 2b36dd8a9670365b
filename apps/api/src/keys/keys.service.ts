import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database } from '#rollcall/platform';
import { permissionsOf, type Role } from '../auth/permissions.js';
import type { Principal } from '../auth/principal.js';
import { ApiError } from '../http/api.error.js';
import { validationFailed } from '../http/validation.error.js';
import type { KeyEntity } from './key.entity.js';
import { newSecret } from './key.secret.js';
import { KeyStore } from './key.store.js';

export interface IssuedKey {
  row: KeyEntity;
  /** The only time the secret is seen. */
  key: string;
}

const PRINCIPAL = 'key:';
const NOTE_USE_EVERY_MS = 60_000;
const SHORTEST_OWN_OVERLAP_MS = 30_000;

/** Issues, rotates and revokes API keys, and tells whose a key is. */
@Injectable()
export class KeysService {
  private readonly log = new Logger('keys');
  private readonly notedUse = new LRUCache<string, true>({ max: 10_000, ttl: NOTE_USE_EVERY_MS });
  private readonly listeners: (() => void)[] = [];

  constructor(
    private readonly db: Database,
    private readonly store: KeyStore,
  ) {}

  /** Called after keys of this replica's making changed. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  async findPrincipal(hash: Buffer): Promise<Principal | undefined> {
    const row = await this.store.findValidByHash(hash);
    if (!row) return undefined;
    this.noteUse(row.id);
    return {
      id: PRINCIPAL + row.id,
      kind: 'key',
      name: row.name,
      roles: row.roles,
      permissions: permissionsOf(row.roles),
      fingerprint: hash.toString('hex').slice(0, 16),
      expiresAt: row.expiresAt,
    };
  }

  /** Of these principals' ids, those whose key is neither revoked nor expired. */
  async validIds(ids: readonly string[]): Promise<Set<string>> {
    const valid = await this.store.findValidIds(ids.map((id) => id.slice(PRINCIPAL.length)));
    return new Set(valid.map((id) => PRINCIPAL + id));
  }

  async issue(name: string, roles: readonly Role[], expiresAt: Date | null, createdBy: string): Promise<IssuedKey> {
    const { id, key, hash } = newSecret();
    const row = await this.store.insert({ id, hash, name, roles, source: 'issued', createdBy, expiresAt });
    return { row, key };
  }

  async list(limit: number, before: string | undefined): Promise<KeyEntity[]> {
    return await this.store.page(limit, before);
  }

  async get(id: string): Promise<KeyEntity> {
    const row = await this.store.find(id);
    if (!row) throw new ApiError('KEY_NOT_FOUND', `No API key has the id "${id}". GET /v1/keys lists them.`);
    return row;
  }

  /** A new secret for the same name and roles; the old one goes on working for the overlap. */
  async rotate(id: string, overlapMs: number, by: Principal): Promise<IssuedKey> {
    if (by.id === `key:${id}` && overlapMs < SHORTEST_OWN_OVERLAP_MS) throw ownOverlapTooShort();
    return await this.db.transaction(async () => {
      await this.store.lockWriters();
      const old = await this.changeable(id);
      refuseUnlessActive(old);
      const lifetime = old.expiresAt && old.expiresAt.getTime() - old.createdAt.getTime();
      const expiresAt = lifetime === null ? null : new Date(Date.now() + lifetime);
      const issued = await this.issue(old.name, old.roles, expiresAt, by.id);
      await this.store.replace(id, issued.row.id, overlapMs);
      this.announceChange();
      return issued;
    });
  }

  async revoke(id: string): Promise<KeyEntity> {
    return await this.db.transaction(async () => {
      await this.store.lockWriters();
      const row = await this.changeable(id);
      if (isActive(row) && row.roles.includes('admin') && !(await this.store.hasOtherLastingAdmin(id))) {
        throw new ApiError('LAST_ADMIN_KEY', 'No lasting admin key would be left. Issue one without expiry first.');
      }
      const revoked = await this.store.revoke(id);
      this.announceChange();
      return revoked ?? row;
    });
  }

  private async changeable(id: string): Promise<KeyEntity> {
    const row = await this.get(id);
    if (row.revokedAt)
      throw new ApiError('KEY_REVOKED', `The API key "${id}" was revoked at ${row.revokedAt.toISOString()}.`);
    if (row.source === 'environment') {
      throw new ApiError('KEY_FROM_ENVIRONMENT', 'This key comes from ROLLCALL_ADMIN_KEY. Change that and restart.');
    }
    return row;
  }

  private announceChange(): void {
    this.db.afterCommit(() => this.listeners.forEach((listener) => listener()));
  }

  /** Now and then is enough to see which keys are still in use, and failing to note it must not fail the request. */
  private noteUse(id: string): void {
    if (this.notedUse.has(id)) return;
    this.notedUse.set(id, true);
    this.store.touch(id).catch((error: unknown) => this.log.warn({ event: 'keys.use_not_noted', id, err: error }));
  }
}

function isActive({ revokedAt, expiresAt }: KeyEntity): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > Date.now());
}

function refuseUnlessActive(row: KeyEntity): void {
  const why = row.replacedBy ? `was replaced by "${row.replacedBy}"` : isActive(row) ? undefined : 'has expired';
  if (why)
    throw new ApiError('KEY_NOT_ACTIVE', `The API key "${row.id}" ${why}. Issue a new one, or rotate the one in use.`);
}

/** Without an overlap, a caller that loses the response could not repeat the request: its old secret is already invalid. */
function ownOverlapTooShort(): ApiError {
  const shortest = SHORTEST_OWN_OVERLAP_MS / 1_000;
  const message = `overlapSeconds must be at least ${shortest} for the key that sends this request: you could not repeat it if the response is lost`;
  return validationFailed([{ field: 'overlapSeconds', message }]);
}
