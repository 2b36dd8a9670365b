import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AdminKeyError, type AdminKeys } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { isForPeople } from '../telemetry/logger.js';

export interface AdminKey {
  /** Set only when this start made the key: the one time it is shown. */
  created?: string;
  /** How a shell gets at the key, for the example that is printed. */
  shell: string;
  /** The file it is kept in, where there is one. */
  file?: string;
}

/** Makes sure that someone can get in: with the key of the deployment, or with one made on the very first start. */
export async function ensureAdminKey(keys: AdminKeys, config: Config, embedded: boolean): Promise<AdminKey> {
  const { auth, data, log } = config;
  const file = join(resolve(data.dir), 'admin.key');
  if (auth.adminKey) {
    await keys.adopt(auth.adminKey);
    return embedded && keep(file, auth.adminKey) ? { shell: readBy(file), file } : { shell: '$ROLLCALL_ADMIN_KEY' };
  }
  await keys.retireAdopted();
  let kept = false;
  const created = await keys.createFirst((key) => {
    kept = keep(file, key);
    if (!kept && !isForPeople(log.format)) throw nowhereToKeep(file);
  });
  if (created) return kept ? { created, shell: readBy(file), file } : { created, shell: created };
  const usable = existsSync(file) && (await keys.isValid(readFileSync(file, 'utf8').trim()));
  return usable ? { shell: readBy(file), file } : { shell: '<your API key>' };
}

/** A key in the logs would be read by everyone who reads logs, and a key that nobody sees lets nobody in. */
function nowhereToKeep(file: string): AdminKeyError {
  return new AdminKeyError(
    `The first admin key cannot be kept in ${file}, and it is not written to JSON logs. Set ROLLCALL_ADMIN_KEY ` +
      '(openssl rand -hex 32), make ROLLCALL_DATA_DIR a folder that can be written, or start once with LOG_FORMAT=pretty.',
  );
}

/** For a shell, whatever characters the path has. */
function readBy(file: string): string {
  return `$(cat '${file.replaceAll("'", String.raw`'\''`)}')`;
}

function keep(file: string, key: string): boolean {
  try {
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['EACCES', 'EROFS', 'EPERM', 'ENOTDIR'].includes(code)) return false; // a read-only container
    throw error;
  }
}
