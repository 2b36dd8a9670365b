import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

const FIRST_FILE = 'admin.key';
const KEY_FILE = /^admin(-\d+)?\.key$/;

/** Ensures that there is an admin key: the key from the configuration, or a new key on the first start. */
export async function ensureAdminKey(keys: AdminKeys, config: Config, embedded: boolean): Promise<AdminKey> {
  const { auth, data, log } = config;
  const folder = resolve(data.dir);
  if (auth.adminKey) {
    await keys.adopt(auth.adminKey);
    const file = embedded ? save(folder, auth.adminKey) : undefined;
    return file === undefined ? { shell: '$ROLLCALL_ADMIN_KEY' } : { shell: catFile(file), file };
  }
  await keys.retireAdopted();
  let file: string | undefined;
  const created = await keys.createFirst((key) => {
    file = save(folder, key);
    if (file === undefined && !isPretty(log.format)) throw keyNotSaved(folder);
  });
  if (created) return file === undefined ? { created, shell: created } : { created, shell: catFile(file), file };
  for (const [saved, key] of savedKeys(folder))
    if (await keys.isValid(key)) return { shell: catFile(saved), file: saved };
  return { shell: '<your API key>' };
}

/** JSON logs must not contain the key, and without a file nobody could read it. So the start fails. */
function keyNotSaved(folder: string): AdminKeyError {
  return new AdminKeyError(
    `The first admin key cannot be saved to ${join(folder, FIRST_FILE)}, and Rollcall does not write keys to JSON logs. Set ROLLCALL_ADMIN_KEY ` +
      '(openssl rand -hex 32), set ROLLCALL_DATA_DIR to a writable folder, or start once with LOG_FORMAT=pretty.',
  );
}

/** Quotes the path, which may contain any character. */
function catFile(file: string): string {
  return `$(cat '${file.replaceAll("'", String.raw`'\''`)}')`;
}

/** The key files of a folder. There are several if the folder was used with several databases. */
function savedKeys(folder: string): [file: string, key: string][] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => KEY_FILE.test(name));
  return files.map((name) => [join(folder, name), readFileSync(join(folder, name), 'utf8').trim()]);
}

/**
 * Returns the file that contains the key, or undefined when the folder is not writable. It never overwrites the key of another
 * database, because the file may be the only copy of that key.
 */
function save(folder: string, key: string): string | undefined {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const known = savedKeys(folder).find(([, saved]) => saved === key)?.[0];
    if (known !== undefined) return known;
    const file = nextFile(folder);
    writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' });
    return file;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['EACCES', 'EROFS', 'EPERM', 'ENOTDIR'].includes(code)) return undefined; // such as a read-only container
    throw error;
  }
}

function nextFile(folder: string): string {
  let file = join(folder, FIRST_FILE);
  for (let number = 2; existsSync(file); number += 1) file = join(folder, `admin-${number}.key`);
  return file;
}
