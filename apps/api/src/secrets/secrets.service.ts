import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { WebhookSecrets } from '#rollcall/platform';
import type { Secret } from '#rollcall/providers';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/problems/api.error.js';
import { SecretBox } from './secret.box.js';

const FILE = 'sealing.key';
const MIN_KEY_LENGTH = 32;

/** Seals secrets with the key of the deployment. With the embedded Postgres, a key file in the data folder is created on first use. */
@Injectable()
export class SecretsService implements WebhookSecrets {
  private box?: SecretBox;

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  seal(secret: Pick<Secret, 'reveal'>, owner: string): Buffer {
    return this.usable().seal(secret, owner);
  }

  open(sealed: Buffer, owner: string): Secret {
    return this.usable().open(sealed, owner);
  }

  /** Whether there is a sealing key. */
  get isUsable(): boolean {
    return this.opened().isUsable;
  }

  private opened(): SecretBox {
    return (this.box ??= new SecretBox(this.keys()));
  }

  private usable(): SecretBox {
    const box = this.opened();
    if (box.isUsable) return box;
    throw new ApiError(
      'SEALING_KEY_MISSING',
      'Set ROLLCALL_SEALING_KEY to the same value on every replica (openssl rand -hex 32), and start again.',
    );
  }

  private keys(): string[] {
    const { auth, database, data } = this.config;
    if (auth.sealingKey.length > 0 || database.url) return auth.sealingKey;
    return [keyInFolder(data.dir)];
  }
}

/** The file is created atomically: a truncated key would work, but would be weak. */
function keyInFolder(folder: string): string {
  const file = join(folder, FILE);
  mkdirSync(folder, { recursive: true });
  if (!existsSync(file)) createKey(file);
  const key = readFileSync(file, 'utf8').trim();
  if (key.length >= MIN_KEY_LENGTH) return key;
  throw new Error(`${file} contains no key. Restore it from a backup, or delete it together with all webhooks.`);
}

function createKey(file: string): void {
  const fresh = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(fresh, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(fresh, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another process created the file at the same time
  } finally {
    rmSync(fresh);
  }
}
