import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { NamespaceAdmission } from '../namespaces/namespace.admission.js';
import { NamespaceContents } from '../namespaces/namespace.contents.js';
import { ALL_NAMESPACES, isVisible, type VisibleNamespaces } from '../namespaces/namespace.js';
import { Database, type PoolName } from '../postgres/database.js';
import {
  ADMIN_ROLE,
  KeyFromEnvironmentError,
  KeyNotActiveError,
  KeyNotFoundError,
  KeyRevokedError,
  LastAdminKeyError,
  newSecret,
} from './key.js';
import { type KeyRow, KeyStore, type NewKey } from './key.store.js';

export type WantedKey = Pick<NewKey, 'name' | 'namespace' | 'roles' | 'expiresAt'>;

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
    private readonly admission: NamespaceAdmission,
    contents: NamespaceContents,
  ) {
    contents.add({ kind: 'keys', count: async (namespace) => await store.countActive(namespace) });
  }

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

  /** Returns the ids whose key is neither revoked nor expired. */
  async findValidIds(ids: readonly string[]): Promise<string[]> {
    return await this.store.findValidIds(ids);
  }

  async issue(wanted: WantedKey, createdBy: string): Promise<IssuedKey> {
    const { id, key, hash } = newSecret();
    const { namespace } = wanted;
    const row = await this.db.transaction(async () => {
      await this.admission.admit(namespace, 'keys', async () => await this.store.countUnreplaced(namespace));
      return await this.store.insert({ ...wanted, id, hash, source: 'issued', createdBy });
    });
    return { row, key };
  }

  async list(limit: number, before: string | undefined, visible: VisibleNamespaces): Promise<KeyRow[]> {
    return await this.store.page(limit, before, visible);
  }

  async get(id: string, visible: VisibleNamespaces): Promise<KeyRow> {
    const row = await this.store.find(id);
    if (!row || !isVisible(row.namespace, visible)) throw new KeyNotFoundError(id);
    return row;
  }

  /** Issues a new key with the same name, namespace, roles and lifetime. The old key stays valid for the overlap. */
  async rotate(id: string, overlapMs: number, by: string, visible: VisibleNamespaces): Promise<IssuedKey> {
    return await this.db.transaction(async () => {
      await this.store.lockWriters();
      const old = await this.getChangeable(id, visible);
      requireActive(old);
      const { id: newId, key, hash } = newSecret();
      const row = await this.store.insertSuccessor(old, { id: newId, hash, createdBy: by });
      await this.store.replace(id, newId, overlapMs);
      this.notifyListeners();
      return { row, key };
    });
  }

  async revoke(id: string, visible: VisibleNamespaces): Promise<KeyRow> {
    return await this.db.transaction(async () => {
      await this.store.lockWriters();
      const row = await this.getChangeable(id, visible);
      const isAdminOfAll = row.roles.includes(ADMIN_ROLE) && row.namespace === ALL_NAMESPACES;
      if (row.isActive && isAdminOfAll && !(await this.store.hasOtherPermanentAdmin(id))) throw new LastAdminKeyError();
      const revoked = await this.store.revoke(id);
      this.notifyListeners();
      return revoked ?? row;
    });
  }

  private async getChangeable(id: string, visible: VisibleNamespaces): Promise<KeyRow> {
    const row = await this.get(id, visible);
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
