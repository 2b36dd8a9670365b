import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database, type PoolName } from '../postgres/database.js';
import { ADMIN_ROLE } from './key.entity.js';
import {
  KeyFromEnvironmentError,
  KeyNotActiveError,
  KeyNotFoundError,
  KeyRevokedError,
  LastAdminKeyError,
} from './key.errors.js';
import { newSecret } from './key.secret.js';
import { type KeyRow, KeyStore } from './key.store.js';

export interface IssuedKey {
  row: KeyRow;
  /** The secret. It is not stored, so it is returned only once. */
  key: string;
}

const RECORD_USE_EVERY_MS = 60_000;

/** Issues, rotates and revokes API keys, and finds the key of a secret. */
@Injectable()
export class KeysService {
  private readonly log = new Logger('keys');
  private readonly recentlyRecorded = new LRUCache<string, true>({ max: 10_000, ttl: RECORD_USE_EVERY_MS });
  private readonly listeners: (() => void)[] = [];

  constructor(
    private readonly db: Database,
    private readonly store: KeyStore,
  ) {}

  /** Calls the listener after this replica has rotated or revoked a key. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Returns the valid key with this hash, and records that the key is in use. */
  async findValid(hash: Buffer, pool?: PoolName): Promise<KeyRow | undefined> {
    const row = await this.store.findValidByHash(hash, pool);
    if (row) this.recordUse(row.id);
    return row;
  }

  /** Returns those of the ids whose key is neither revoked nor expired. */
  async findValidIds(ids: readonly string[]): Promise<string[]> {
    return await this.store.findValidIds(ids);
  }

  async issue(name: string, roles: readonly string[], expiresAt: Date | null, createdBy: string): Promise<IssuedKey> {
    const { id, key, hash } = newSecret();
    const row = await this.store.insert({ id, hash, name, roles, source: 'issued', createdBy, expiresAt });
    return { row, key };
  }

  async list(limit: number, before: string | undefined): Promise<KeyRow[]> {
    return await this.store.page(limit, before);
  }

  async get(id: string): Promise<KeyRow> {
    const row = await this.store.find(id);
    if (!row) throw new KeyNotFoundError(id);
    return row;
  }

  /** Issues a new secret with the same name, roles and lifetime. The old secret stays valid for the overlap. */
  async rotate(id: string, overlapMs: number, by: string): Promise<IssuedKey> {
    return await this.db.transaction(async () => {
      await this.store.lockWriters();
      const old = await this.getChangeable(id);
      requireActive(old);
      const { id: newId, key, hash } = newSecret();
      const row = await this.store.insertSuccessor(old, { id: newId, hash, createdBy: by });
      await this.store.replace(id, newId, overlapMs);
      this.notifyListeners();
      return { row, key };
    });
  }

  async revoke(id: string): Promise<KeyRow> {
    return await this.db.transaction(async () => {
      await this.store.lockWriters();
      const row = await this.getChangeable(id);
      if (row.isActive && row.roles.includes(ADMIN_ROLE) && !(await this.store.hasOtherPermanentAdmin(id)))
        throw new LastAdminKeyError();
      const revoked = await this.store.revoke(id);
      this.notifyListeners();
      return revoked ?? row;
    });
  }

  private async getChangeable(id: string): Promise<KeyRow> {
    const row = await this.get(id);
    if (row.revokedAt) throw new KeyRevokedError(id, row.revokedAt);
    if (row.source === 'environment') throw new KeyFromEnvironmentError();
    return row;
  }

  private notifyListeners(): void {
    this.db.afterCommit(() => this.listeners.forEach((listener) => listener()));
  }

  /** Updates `last_used_at` at most once a minute per key. A failure does not affect the request. */
  private recordUse(id: string): void {
    if (this.recentlyRecorded.has(id)) return;
    this.recentlyRecorded.set(id, true);
    this.store.touch(id).catch((error: unknown) => this.log.warn({ event: 'keys.use_not_recorded', id, err: error }));
  }
}

function requireActive({ id, replacedBy, isActive }: KeyRow): void {
  if (replacedBy) throw new KeyNotActiveError(id, `was replaced by "${replacedBy}"`);
  if (!isActive) throw new KeyNotActiveError(id, 'has expired');
}
