import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { WebhookSecrets } from '#rollcall/platform';
import type { Secret } from '#rollcall/providers';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/api.error.js';
import { SecretBox } from './secret.box.js';

const FILE = 'sealing.key';
const SHORTEST_KEY = 32;

/** Seals with the key of the deployment; with the embedded Postgres, one beside its data, made when it is first needed. */
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

  private usable(): SecretBox {
    this.box ??= new SecretBox(this.keys());
    if (this.box.isUsable) return this.box;
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

/** Whole or not there at all, whatever happens while it is made: half a key would seal as well as a whole one. */
function keyInFolder(folder: string): string {
  const file = join(folder, FILE);
  mkdirSync(folder, { recursive: true });
  if (!existsSync(file)) makeKey(file);
  const key = readFileSync(file, 'utf8').trim();
  if (key.length >= SHORTEST_KEY) return key;
  throw new Error(`${file} holds no key. Put it back from a backup, or remove it together with all webhooks.`);
}

function makeKey(file: string): void {
  const fresh = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(fresh, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(fresh, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // else: someone else made it in this moment
  } finally {
    rmSync(fresh);
  }
}
