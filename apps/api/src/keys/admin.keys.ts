import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { AuditService } from '../audit/audit.service.js';
import type { KeyEntity, KeySource } from './key.entity.js';
import { hashOf, newSecret } from './key.secret.js';
import { KeyStore, type NewKey } from './key.store.js';

/** The variable holds a key that is known for something else; the message is for the person who starts. */
export class AdminKeyError extends Error {
  override readonly name = 'AdminKeyError';
}

/** The keys a start brings about, so that someone can get in. Any number of replicas may start at once. */
@Injectable()
export class AdminKeys {
  constructor(
    private readonly db: Database,
    private readonly store: KeyStore,
    private readonly audit: AuditService,
  ) {}

  /** The key of the deployment follows its variable: a changed one replaces, and revokes, the one before. */
  async adopt(key: string): Promise<void> {
    const hash = hashOf(key);
    await this.exclusively(async () => {
      const known = await this.store.findByHash(hash);
      if (known && known.source !== 'environment') return refuseUnlessLastingAdmin(known);
      const id = known?.id ?? `env-${hash.toString('hex').slice(0, 10)}`;
      if (!known) await this.store.insert(adminKey(id, hash, 'environment'));
      else if (known.revokedAt) await this.store.reinstate(id);
      if (!known || known.revokedAt) await this.audit.recordStart('key.adopted', id);
      await this.retire(id);
    });
  }

  /** The variable is gone, and so is its key, unless no one else could get in. */
  async retireAdopted(): Promise<void> {
    await this.exclusively(async () => {
      if (await this.store.hasOtherLastingAdmin('', 'environment')) await this.retire(null);
    });
  }

  /** The key a new installation is entered with; undefined when there are keys already. If `keep` throws, none is made. */
  async createFirst(keep: (key: string) => void): Promise<string | undefined> {
    return await this.exclusively(async () => {
      if (!(await this.store.isEmpty())) return undefined;
      const { id, key, hash } = newSecret();
      await this.store.insert(adminKey(id, hash, 'first-start'));
      await this.audit.recordStart('key.issued', id);
      keep(key);
      return key;
    });
  }

  async isValid(key: string): Promise<boolean> {
    return (await this.store.findValidByHash(hashOf(key))) !== undefined;
  }

  private async retire(except: string | null): Promise<void> {
    for (const id of await this.store.revokeFromEnvironment(except)) await this.audit.recordStart('key.revoked', id);
  }

  private async exclusively<T>(work: () => Promise<T>): Promise<T> {
    return await this.db.transaction(async () => {
      await this.store.lockWriters();
      return await work();
    });
  }
}

function refuseUnlessLastingAdmin({ id, roles, revokedAt, expiresAt }: KeyEntity): void {
  if (roles.includes('admin') && revokedAt === null && expiresAt === null) return;
  throw new AdminKeyError(
    `ROLLCALL_ADMIN_KEY holds the secret of the API key "${id}", which is no lasting admin key. Set it to a value of its own, ` +
      'for example: openssl rand -hex 32',
  );
}

function adminKey(id: string, hash: Buffer, source: KeySource): NewKey {
  return { id, hash, name: 'admin', roles: ['admin'], source, createdBy: source, expiresAt: null };
}
