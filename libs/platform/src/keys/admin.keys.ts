import { Injectable } from '@nestjs/common';
import { ALL_NAMESPACES } from '../namespaces/namespace.js';
import { Database } from '../postgres/database.js';
import type { KeyEntity } from './key.entity.js';
import { ADMIN_ROLE, hashOf, type KeySource, newSecret } from './key.js';
import { KeyStore, type NewKey } from './key.store.js';

/** Records changes of keys that happen at startup, without a request. The application provides the implementation. */
export abstract class KeyChanges {
  /** Must be called in the transaction of the change. */
  abstract recordAtStartup(action: 'key.adopted' | 'key.issued' | 'key.revoked', keyId: string): Promise<void>;
}

/** The admin key cannot be set up at startup. The message is for the person who starts the process. */
export class AdminKeyError extends Error {
  override readonly name = 'AdminKeyError';
}

/** Creates and revokes admin keys at startup. Any number of replicas may start at the same time. */
@Injectable()
export class AdminKeys {
  constructor(
    private readonly db: Database,
    private readonly store: KeyStore,
    private readonly changes: KeyChanges,
  ) {}

  /** Stores the key of `ROLLCALL_ADMIN_KEY`. If the value has changed, the key with the previous value is revoked. */
  async adopt(key: string): Promise<void> {
    const hash = hashOf(key);
    await this.withLock(async () => {
      const known = await this.store.findByHash(hash);
      if (known && known.source !== 'environment') return requirePermanentAdmin(known);
      const id = known?.id ?? `env-${hash.toString('hex').slice(0, 10)}`;
      if (!known) await this.store.insert(adminKey(id, hash, 'environment'));
      else if (known.revokedAt) await this.store.reinstate(id);
      if (!known || known.revokedAt) await this.changes.recordAtStartup('key.adopted', id);
      await this.retire(id);
    });
  }

  /**
   * Revokes the key of `ROLLCALL_ADMIN_KEY` when the variable is no longer set, unless it is the last permanent admin
   * key.
   */
  async retireAdopted(): Promise<void> {
    await this.withLock(async () => {
      if (await this.store.hasOtherPermanentAdmin('', 'environment')) await this.retire(null);
    });
  }

  /**
   * Creates the first key of a new installation and returns it, or returns undefined if keys exist. If `keep` throws, no
   * key is created.
   */
  async createFirst(keep: (key: string) => void): Promise<string | undefined> {
    return await this.withLock(async () => {
      if (!(await this.store.isEmpty())) return undefined;
      const { id, key, hash } = newSecret();
      await this.store.insert(adminKey(id, hash, 'first-start'));
      await this.changes.recordAtStartup('key.issued', id);
      keep(key);
      return key;
    });
  }

  async isValid(key: string): Promise<boolean> {
    return (await this.store.findValidByHash(hashOf(key))) !== undefined;
  }

  private async retire(except: string | null): Promise<void> {
    for (const id of await this.store.revokeFromEnvironment(except))
      await this.changes.recordAtStartup('key.revoked', id);
  }

  private async withLock<T>(work: () => Promise<T>): Promise<T> {
    return await this.db.transaction(async () => {
      await this.store.lockWriters();
      return await work();
    });
  }
}

function requirePermanentAdmin({ id, namespace, roles, revokedAt, expiresAt }: KeyEntity): void {
  const isAdminOfAll = roles.includes(ADMIN_ROLE) && namespace === ALL_NAMESPACES;
  if (isAdminOfAll && revokedAt === null && expiresAt === null) return;
  throw new AdminKeyError(
    `ROLLCALL_ADMIN_KEY holds the secret of the API key "${id}", which is not a permanent admin key for all namespaces. ` +
      'Set the variable to a new random value, for example: openssl rand -hex 32',
  );
}

function adminKey(id: string, hash: Buffer, source: KeySource): NewKey {
  return {
    id,
    hash,
    name: 'admin',
    namespace: ALL_NAMESPACES,
    roles: [ADMIN_ROLE],
    source,
    createdBy: source,
    expiresAt: null,
  };
}
