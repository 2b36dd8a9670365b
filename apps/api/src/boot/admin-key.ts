import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AdminKeyError, type AdminKeys } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { isPretty } from '../telemetry/logger.js';

export interface AdminKey {
  /** The new key. Set only when this start created it, and shown only once. */
  created?: string;
  /** A shell expression that yields the key, for the printed example. */
  shell: string;
  /** The file that contains the key, if there is one. */
  file?: string;
}

/** Ensures that there is an admin key: the key from the configuration, or a new key on the first start. */
export async function ensureAdminKey(keys: AdminKeys, config: Config, embedded: boolean): Promise<AdminKey> {
  const { auth, data, log } = config;
  const file = join(resolve(data.dir), 'admin.key');
  if (auth.adminKey) {
    await keys.adopt(auth.adminKey);
    return embedded && save(file, auth.adminKey) ? { shell: catFile(file), file } : { shell: '$ROLLCALL_ADMIN_KEY' };
  }
  await keys.retireAdopted();
  let saved = false;
  const created = await keys.createFirst((key) => {
    saved = save(file, key);
    if (!saved && !isPretty(log.format)) throw keyNotSaved(file);
  });
  if (created) return saved ? { created, shell: catFile(file), file } : { created, shell: created };
  const usable = existsSync(file) && (await keys.isValid(readFileSync(file, 'utf8').trim()));
  return usable ? { shell: catFile(file), file } : { shell: '<your API key>' };
}

/** JSON logs must not contain the key, and without a file nobody could read it. So the start fails. */
function keyNotSaved(file: string): AdminKeyError {
  return new AdminKeyError(
    `The first admin key cannot be saved to ${file}, and Rollcall does not write keys to JSON logs. Set ROLLCALL_ADMIN_KEY ` +
      '(openssl rand -hex 32), set ROLLCALL_DATA_DIR to a writable folder, or start once with LOG_FORMAT=pretty.',
  );
}

/** Quotes the path, which may contain any character. */
function catFile(file: string): string {
  return `$(cat '${file.replaceAll("'", String.raw`'\''`)}')`;
}

/** Returns false when the folder is not writable. */
function save(file: string, key: string): boolean {
  try {
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['EACCES', 'EROFS', 'EPERM', 'ENOTDIR'].includes(code)) return false; // such as a read-only container
    throw error;
  }
}
